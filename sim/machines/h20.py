"""H20: a Hopper GPU with all of its NVLinks and less arithmetic."""

from sim.machines import called, server
from sim.registry import titled
from sim.topology.host import HOPPER, Place, gpu, nic
from sim.topology.servers import Server, all_to_all


@called("hgx-h20")
@server(HOPPER)
@titled("HGX H20")
def h20() -> Server:
    """HGX H20: 8 H20 with 18 NVLinks each on NVSwitch (900 GB/s both ways nominal), a 400 Gbit/s NIC per GPU.

    Links of an H100 by NVIDIA's HGX data sheet; `nvlink` is one of them, 20.6 GB/s in NCCL `src/graph/topo.h` (SM90).
    """
    gpus = [gpu(i, Place(domain=i // 4, bridge=i % 4)) for i in range(8)]
    return Server(gpus + [nic(k, Place(domain=k // 4, bridge=k % 4, switch=1)) for k in range(8)], all_to_all(8, 18))
