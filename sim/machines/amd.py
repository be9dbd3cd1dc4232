"""AMD's servers. xGMI links are kept as NVLinks, which is what they do; rates are RCCL's (`sim.topology.host`)."""

from sim.machines import machine
from sim.topology import Topology
from sim.topology.host import CDNA, CDNA3, Leaf
from sim.topology.servers import Hosts, all_to_all, rated, server
from sim.units import Bandwidth, Time

CARDS = {
    (0, 1): 4, (2, 3): 4, (4, 5): 4, (6, 7): 4, (0, 2): 1, (0, 6): 2, (2, 4): 2, (4, 6): 1, (1, 3): 1, (1, 5): 1,
    (3, 7): 1, (5, 7): 1,
}  # fmt: skip
"""xGMI links of each pair of dies: neighbours by ROCm/rccl tools/topo_expl/models/topo_8p_90a.xml, widths by the OLCF
Frontier user guide (200 GB/s in a card, 100 or 50 between cards) and copies measured from die 0 on Frontier."""


@machine
def mi250x(
    *,
    hosts: Hosts = 1,
    xgmi: Bandwidth = CDNA.nvlink,
    xgmi_latency: Time = CDNA.nvlink_latency,
    pcie: Bandwidth = CDNA.pix,
    sys: Bandwidth = CDNA.sys,
    nic: Bandwidth = CDNA.nic,
    nic_latency: Time = CDNA.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """4 MI250X, which are 8 GPUs: four xGMI links inside a card, one or two between; 4 NUMA nodes, a NIC per card.

    As in Frontier; dies without a link of their own reach each other through others. `xgmi` is one link, 50 GB/s
    nominal, 36 in RCCL `src/graph/topo.h` (MI200); copies from die 0 reach 35-39 over one, 76 over two.
    """
    rates = rated(CDNA, xgmi, xgmi_latency, pcie, sys, nic, nic_latency)
    numa = (3, 3, 1, 1, 0, 0, 2, 2)
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 2, 0, i % 2, 0), numa[i]) for i in range(8)]
    leaves += [Leaf(f"NIC{k}", "NIC", (k, 0, 1, 0), numa[2 * k]) for k in range(4)]
    links = {(f"GPU{a}", f"GPU{b}"): n for (a, b), n in CARDS.items()}
    return server("mi250x", leaves, rates, links, hosts=hosts, overhead=overhead, gamma=gamma, forwarding=True)


@machine
def mi300x(
    *,
    hosts: Hosts = 1,
    xgmi: Bandwidth = CDNA3.nvlink,
    xgmi_latency: Time = CDNA3.nvlink_latency,
    pcie: Bandwidth = CDNA3.pix,
    sys: Bandwidth = CDNA3.sys,
    nic: Bandwidth = CDNA3.nic,
    nic_latency: Time = CDNA3.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """8 MI300X, each joined to the seven others by one xGMI link; 2 sockets, a 400 Gbit/s NIC per GPU.

    `xgmi` is one link, 64 GB/s nominal, 48 in RCCL `src/graph/topo.h` (GFX94X). Places as `rocm-smi --showtopo`
    prints them on an 8-GPU server: four GPUs on each of two NUMA nodes.
    """
    rates = rated(CDNA3, xgmi, xgmi_latency, pcie, sys, nic, nic_latency)
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 4, i % 4, 0, 0), i // 4) for i in range(8)]
    leaves += [Leaf(f"NIC{k}", "NIC", (k // 4, k % 4, 0, 0), k // 4) for k in range(8)]
    return server("mi300x", leaves, rates, all_to_all(8, 1), hosts=hosts, overhead=overhead, gamma=gamma)
