"""AMD's servers. xGMI links are kept as NVLinks, which is what they do; rates are RCCL's (`sim.topology.host`)."""

from sim.machines import called, server
from sim.registry import titled
from sim.topology.host import CDNA, CDNA3, Place, gpu, nic
from sim.topology.servers import Server, all_to_all, numbered

CARDS = {
    (0, 1): 4, (2, 3): 4, (4, 5): 4, (6, 7): 4, (0, 2): 1, (0, 6): 2, (2, 4): 2, (4, 6): 1, (1, 3): 1, (1, 5): 1,
    (3, 7): 1, (5, 7): 1,
}  # fmt: skip
"""xGMI links of each pair of dies: neighbours by ROCm/rccl tools/topo_expl/models/topo_8p_90a.xml, widths by the OLCF
Frontier user guide (200 GB/s in a card, 100 or 50 between cards) and copies measured from die 0 on Frontier."""


@called("mi250", "frontier")
@server(CDNA, xgmi=True)
@titled("4 MI250X")
def mi250x() -> Server:
    """4 MI250X, which are 8 GPUs: four xGMI links inside a card, one or two between; 4 NUMA nodes, a NIC per card.

    Links as in Frontier; dies without a link of their own reach each other through one other. A NIC shares a PCIe
    switch with the second die of its card, as in RCCL's topo_8p_90a.xml: no die passes on to PCIe what came over xGMI.
    `xgmi` is one link, 50 GB/s nominal, 36 in RCCL `src/graph/topo.h` (MI200); copies from die 0 reach 35-39 over one,
    76 over two.
    """
    numa = (3, 3, 1, 1, 0, 0, 2, 2)
    leaves = [gpu(i, Place(domain=i // 2, upper=i % 2), numa[i]) for i in range(8)]
    leaves += [nic(k, Place(domain=k, upper=1), numa[2 * k]) for k in range(4)]
    return Server(leaves, numbered(CARDS), relays=1)


@called("mi300", "ND MI300X v5", "Standard_ND96isr_MI300X_v5", "BM.GPU.MI300X.8")
@server(CDNA3, xgmi=True)
@titled("8 MI300X")
def mi300x() -> Server:
    """8 MI300X, each joined to the seven others by one xGMI link; 2 sockets, a 400 Gbit/s NIC per GPU.

    `xgmi` is one link, 64 GB/s nominal, 48 in RCCL `src/graph/topo.h` (GFX94X). Places as `rocm-smi --showtopo`
    prints them on an 8-GPU server: four GPUs on each of two NUMA nodes.
    """
    leaves = [gpu(i, Place(domain=i // 4, bridge=i % 4)) for i in range(8)]
    leaves += [nic(k, Place(domain=k // 4, bridge=k % 4)) for k in range(8)]
    return Server(leaves, all_to_all(8, 1))
