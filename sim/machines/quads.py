"""Hosts with four GPUs, as supercomputers and clouds have them."""

from sim.machines import machine
from sim.topology import Topology
from sim.topology.host import AMPERE, GRACE, Leaf
from sim.topology.servers import Hosts, all_to_all, rated, server
from sim.units import Bandwidth, GBps, Time


@machine
def a100_quad(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = AMPERE.nvlink,
    nvlink_latency: Time = AMPERE.nvlink_latency,
    pcie: Bandwidth = AMPERE.pix,
    sys: Bandwidth = AMPERE.sys,
    nic: Bandwidth = AMPERE.nic,
    nic_latency: Time = AMPERE.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """4 A100 with 4 NVLinks between each pair and no switch, each GPU on a NUMA node of its own; 2 NICs.

    As in Polaris, whose `nvidia-smi topo -m` has GPU 0 on NUMA node 3 and GPU 3 on node 0; two 200 Gbit/s NICs.
    """
    rates = rated(AMPERE, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    leaves = [Leaf(f"GPU{i}", "GPU", (3 - i, 0, 0, 0), 3 - i) for i in range(4)]
    leaves += [Leaf(f"NIC{k}", "NIC", (3 * k, 1, 0, 0), 3 * k) for k in range(2)]
    return server("a100_quad", leaves, rates, all_to_all(4, 4), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def gh200_quad(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = GRACE.nvlink,
    nvlink_latency: Time = GRACE.nvlink_latency,
    pcie: Bandwidth = GRACE.pix,
    sys: Bandwidth = GRACE.sys,
    nic: Bandwidth = GRACE.nic,
    nic_latency: Time = GRACE.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """4 GH200 with 6 NVLinks between each pair and no switch, each with its Grace and a 200 Gbit/s NIC.

    As in Alps: 150 GB/s nominal per pair, 6 of 20.6 in NCCL `src/graph/topo.h` (SM90).
    """
    rates = rated(GRACE, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    leaves = [Leaf(f"GPU{i}", "GPU", (i, 0, 0, 0), i) for i in range(4)]
    leaves += [Leaf(f"NIC{k}", "NIC", (k, 1, 0, 0), k) for k in range(4)]
    return server("gh200_quad", leaves, rates, all_to_all(4, 6), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def a100_pcie_pairs(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = AMPERE.nvlink,
    nvlink_latency: Time = AMPERE.nvlink_latency,
    pcie: Bandwidth = AMPERE.pix,
    sys: Bandwidth = AMPERE.sys,
    nic: Bandwidth = 10 * GBps,
    nic_latency: Time = AMPERE.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """4 A100 PCIe, NVLink bridges on two pairs, each GPU on a NUMA node of its own; one 80 Gbit/s NIC.

    Azure NC96ads v4: NV12 between GPU 0 and 1 and between 2 and 3 by Azure/azhpc-images topology/ncv4-topo.xml,
    although the two of a pair are on different NUMA nodes; 80 Gbit/s by Azure's page of the size.
    """
    rates = rated(AMPERE, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    leaves = [Leaf(f"GPU{i}", "GPU", (i, 0, 0, 0), i) for i in range(4)] + [Leaf("NIC0", "NIC", (0, 1, 0, 0), 0)]
    pairs = {("GPU0", "GPU1"): 12, ("GPU2", "GPU3"): 12}
    return server("a100_pcie_pairs", leaves, rates, pairs, hosts=hosts, overhead=overhead, gamma=gamma)
