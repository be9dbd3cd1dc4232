"""NVIDIA's own servers. Rates are what NCCL reckons with, below the nominal ones; `sim.topology.host` has sources.

Several `hosts` are joined by their NICs, NIC k of each on rail k.
"""

from sim.machines import machine
from sim.topology import Topology
from sim.topology.host import AMPERE, BLACKWELL, HOPPER, VOLTA, Leaf
from sim.topology.servers import Hosts, all_to_all, rated, server
from sim.units import Bandwidth, GBps, Time

CUBE_MESH = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2, (2, 6): 1, (3, 7): 1,
    (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
}  # fmt: skip
"""NVLinks of each pair of a DGX-1V, six per GPU: `nvidia-smi topo -m` in microsoft/msccl-tools
tests/test_topologies.py."""


@machine
def dgx1v(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = VOLTA.nvlink,
    nvlink_latency: Time = VOLTA.nvlink_latency,
    pcie: Bandwidth = VOLTA.pix,
    sys: Bandwidth = 6 * GBps,
    nic: Bandwidth = VOLTA.nic,
    nic_latency: Time = VOLTA.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """DGX-1 with 8 V100 in a hybrid cube mesh, 2 sockets, 4 PCIe switches with 2 GPUs and 1 EDR NIC each.

    `nvlink` is one of six NVLinks per GPU, 25 GB/s nominal, 20 in NCCL `src/graph/topo.h` (SM70); `pcie` is
    gen3 x16 (12 there) and `sys` is QPI of Broadwell (6 there).
    """
    rates = rated(VOLTA, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 4, 0, i % 4 // 2, 0), i // 4) for i in range(8)]
    leaves += [Leaf(f"NIC{k}", "NIC", (k // 2, 0, k % 2, 0), k // 2) for k in range(4)]
    nvlinks = {(f"GPU{a}", f"GPU{b}"): n for (a, b), n in CUBE_MESH.items()}
    return server("dgx1v", leaves, rates, nvlinks, hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def dgx_a100(
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
    """DGX A100: 8 A100 with 12 NVLinks each on NVSwitch; 4 PCIe switches with 2 GPUs and 2 HDR NICs each.

    `nvlink` is one NVLink, 25 GB/s nominal, 20 in NCCL `src/graph/topo.h` (SM80). Each PCIe switch hangs on
    its own NUMA node of two EPYC; the four nodes without GPUs are left out. Places follow
    Azure/azhpc-images topology/ndv4-topo.xml, NUMA numbers a DGX A100's `nvidia-smi topo -m`.
    """
    rates = rated(AMPERE, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    numa = (3, 1, 7, 5)
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 2, 0, 0, 0), numa[i // 2]) for i in range(8)]
    leaves += [Leaf(f"NIC{k}", "NIC", (k // 2, 0, 0, 0), numa[k // 2]) for k in range(8)]
    return server("dgx_a100", leaves, rates, all_to_all(8, 12), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def dgx_h100(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = HOPPER.nvlink,
    nvlink_latency: Time = HOPPER.nvlink_latency,
    pcie: Bandwidth = HOPPER.pix,
    sys: Bandwidth = HOPPER.sys,
    nic: Bandwidth = HOPPER.nic,
    nic_latency: Time = HOPPER.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """DGX H100: 8 H100 with 18 NVLinks each on NVSwitch; every GPU shares PCIe switches with one NDR NIC.

    `nvlink` is one NVLink, 25 GB/s nominal, 20.6 in NCCL `src/graph/topo.h` (SM90). GPU and NIC are two
    switches apart (PXB) and the four pairs of a socket are on host bridges of their own, as
    `nvidia-smi topo -m` prints it on a DGX H100; its storage NICs are left out.
    """
    rates = rated(HOPPER, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    return server("dgx_h100", _eight_apart(), rates, all_to_all(8, 18), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def dgx2(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = VOLTA.nvlink,
    nvlink_latency: Time = VOLTA.nvlink_latency,
    pcie: Bandwidth = VOLTA.pix,
    sys: Bandwidth = VOLTA.sys,
    nic: Bandwidth = VOLTA.nic,
    nic_latency: Time = VOLTA.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """DGX-2: 16 V100 with 6 NVLinks each on NVSwitch; 2 sockets, 8 PCIe switches with 2 GPUs and 1 EDR NIC each.

    `nvlink` is one NVLink, 25 GB/s nominal, 20 in NCCL `src/graph/topo.h` (SM70): 120 GB/s per GPU, where
    microsoft/taccl measures 125. `sys` is Skylake's UPI (10 there). Places as its `nvidia-smi topo -m` prints them.
    """
    rates = rated(VOLTA, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 8, i % 8 // 4, 0, i % 4 // 2), i // 8) for i in range(16)]
    leaves += [Leaf(f"NIC{k}", "NIC", (k // 4, k % 4 // 2, 0, k % 2), k // 4) for k in range(8)]
    return server("dgx2", leaves, rates, all_to_all(16, 6), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def dgx_h200(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = HOPPER.nvlink,
    nvlink_latency: Time = HOPPER.nvlink_latency,
    pcie: Bandwidth = HOPPER.pix,
    sys: Bandwidth = HOPPER.sys,
    nic: Bandwidth = HOPPER.nic,
    nic_latency: Time = HOPPER.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """DGX H200: links and places of a DGX H100; its GPUs differ in their memory only.

    NVIDIA nvbandwidth copies 396 GB/s from GPU to GPU on one; 18 NVLinks of 20.6 are 371.
    """
    rates = rated(HOPPER, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    return server("dgx_h200", _eight_apart(), rates, all_to_all(8, 18), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def dgx_b200(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = BLACKWELL.nvlink,
    nvlink_latency: Time = BLACKWELL.nvlink_latency,
    pcie: Bandwidth = BLACKWELL.pix,
    sys: Bandwidth = BLACKWELL.sys,
    nic: Bandwidth = BLACKWELL.nic,
    nic_latency: Time = BLACKWELL.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """DGX or HGX B200: 8 B200 with 18 NVLinks of the fifth generation on NVSwitch, one NDR NIC per GPU.

    `nvlink` is one NVLink, 50 GB/s nominal, 40.1 in NCCL `src/graph/topo.h` (SM100); `sys` is Emerald Rapids (40
    there). Places as on a DGX H100.
    """
    rates = rated(BLACKWELL, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    return server("dgx_b200", _eight_apart(), rates, all_to_all(8, 18), hosts=hosts, overhead=overhead, gamma=gamma)


def _eight_apart() -> list[Leaf]:
    """Eight GPUs, each with a NIC two PCIe switches away on a host bridge of its own, four on a socket."""
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 4, i % 4, 0, 0), i // 4) for i in range(8)]
    return leaves + [Leaf(f"NIC{k}", "NIC", (k // 4, k % 4, 0, 1), k // 4) for k in range(8)]
