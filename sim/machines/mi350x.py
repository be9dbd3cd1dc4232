"""AMD's MI350X and MI355X, which differ in power and cooling alone."""

from sim.machines import called, server
from sim.registry import titled
from sim.topology.host import CDNA4, Place, gpu, nic
from sim.topology.servers import Server, all_to_all


@called("mi350")
@server(CDNA4, xgmi=True)
@titled("8 MI350X")
def mi350x() -> Server:
    """8 MI350X, each joined to the seven others by one xGMI link; 2 sockets, a 400 Gbit/s NIC per GPU.

    `xgmi` is one link, 76.5 GB/s nominal, 48 in RCCL `src/graph/topo.h` (GFX95X), as an MI300X's; places too.
    """
    return _eight()


@called("mi355", "BM.GPU.MI355X.8")
@server(CDNA4, xgmi=True)
@titled("8 MI355X")
def mi355x() -> Server:
    """8 MI355X, each joined to the seven others by one xGMI link; 2 sockets, a 400 Gbit/s NIC per GPU.

    Links and places of an MI350X.
    """
    return _eight()


def _eight() -> Server:
    leaves = [gpu(i, Place(domain=i // 4, bridge=i % 4)) for i in range(8)]
    return Server(leaves + [nic(k, Place(domain=k // 4, bridge=k % 4)) for k in range(8)], all_to_all(8, 1))
