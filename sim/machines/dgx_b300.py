"""DGX B300: the B200's links, twice its network."""

from sim.machines import called, server
from sim.registry import titled
from sim.topology.host import BLACKWELL, Place, gpu, nic
from sim.topology.servers import Server, all_to_all
from sim.units import GBps


@called("b300", "hgx-b300")
@server(BLACKWELL, pcie=96 * GBps, nic=100 * GBps)
@titled("DGX B300")
def dgx_b300() -> Server:
    """DGX or HGX B300: 8 B300 with 18 NVLinks of the fifth generation on NVSwitch, an 800 Gbit/s NIC per GPU.

    `nvlink` is one NVLink, 50 GB/s nominal, 40.1 in NCCL `src/graph/topo.h` (SM100); `pcie` is gen6 x16, four times
    the 24 of gen4 there. Network by NVIDIA's page of the DGX B300 (8 ConnectX-8); AWS p6-b300 has 16 of 400 Gbit/s,
    which is as much per GPU.
    """
    gpus = [gpu(i, Place(domain=i // 4, bridge=i % 4)) for i in range(8)]
    return Server(gpus + [nic(k, Place(domain=k // 4, bridge=k % 4)) for k in range(8)], all_to_all(8, 18))
