"""GPUs with fewer NVLinks than the A100 and H100, for China."""

from sim.machines import server
from sim.registry import titled
from sim.topology.host import AMPERE, HOPPER, Place, gpu, nic
from sim.topology.servers import Server, all_to_all


@server(HOPPER)
@titled("HGX H800")
def h800() -> Server:
    """HGX H800: 8 H800 with 8 NVLinks each on NVSwitch (400 GB/s both ways nominal), a 400 Gbit/s NIC per GPU.

    NVLinks as DeepSeek reports them of its H800 (DeepSeek-V3, section 3.1; DeepEP, README); `nvlink` is one of them,
    20.6 GB/s in NCCL `src/graph/topo.h` (SM90). In-switch adding is an H100's.
    """
    gpus = [gpu(i, Place(domain=i // 4, bridge=i % 4)) for i in range(8)]
    return Server(gpus + [nic(k, Place(domain=k // 4, bridge=k % 4, switch=1)) for k in range(8)], all_to_all(8, 8))


@server(AMPERE)
@titled("HGX A800")
def a800() -> Server:
    """HGX A800: 8 A800 with 8 NVLinks each on NVSwitch (400 GB/s both ways nominal); 4 NICs of 200 Gbit/s.

    NV8 by `nvidia-smi topo -m` on such hosts; `nvlink` is one of them, 20 GB/s in NCCL `src/graph/topo.h` (SM80).
    """
    leaves = [gpu(i, Place(domain=i // 4, bridge=i % 4 // 2)) for i in range(8)]
    leaves += [nic(k, Place(domain=k // 2, bridge=k % 2)) for k in range(4)]
    return Server(leaves, all_to_all(8, 8))
