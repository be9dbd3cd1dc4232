"""Servers as clouds and computing centres have them, where their network differs from that of NVIDIA's own.

The rates of NICs are the nominal ones of the instance's page; what NCCL reaches of them is calibrated.
"""

from sim.machines import machine
from sim.topology import Topology
from sim.topology.host import AMPERE, BRIDGED, HOPPER, Leaf
from sim.topology.servers import Hosts, all_to_all, rated, server
from sim.units import Bandwidth, GBps, Time


def _eight(nics: int) -> list[Leaf]:
    """Eight GPUs in pairs on PCIe switches, two of them on a socket, with so many NICs shared out among them."""
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 4, i % 4 // 2, 0, 0), i // 4) for i in range(8)]
    share = 8 // nics
    places = [(k * share // 4, k * share % 4 // 2) for k in range(nics)]
    return leaves + [Leaf(f"NIC{k}", "NIC", (s, b, 0, 0), s) for k, (s, b) in enumerate(places)]


@machine
def aws_p4d(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = AMPERE.nvlink,
    nic: Bandwidth = 12.5 * GBps,
    nic_latency: Time = AMPERE.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """AWS p4d and p4de: 8 A100 with 12 NVLinks each on NVSwitch, 4 EFA NICs of 100 Gbit/s, one per pair of GPUs.

    Network by AWS's page of the instance. `nic_latency` is that of InfiniBand; what EFA takes beyond it is calibrated.
    """
    pci = AMPERE.pix
    rates = rated(AMPERE, nvlink, AMPERE.nvlink_latency, pci, AMPERE.sys, nic, nic_latency)
    return server("aws_p4d", _eight(4), rates, all_to_all(8, 12), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def aws_p5(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = HOPPER.nvlink,
    nic: Bandwidth = 50 * GBps,
    nic_latency: Time = HOPPER.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """AWS p5 and p5en: 8 H100 or H200 with 18 NVLinks each on NVSwitch, 400 Gbit/s of EFA per GPU.

    p5 has four NICs of 100 Gbit/s per GPU, p5en two of 200; they count as one here. By AWS's page of the instance.
    """
    rates = rated(HOPPER, nvlink, HOPPER.nvlink_latency, HOPPER.pix, HOPPER.sys, nic, nic_latency)
    return server("aws_p5", _eight(8), rates, all_to_all(8, 18), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def gcp_a3_high(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = HOPPER.nvlink,
    nic: Bandwidth = 25 * GBps,
    nic_latency: Time = HOPPER.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """Google Cloud A3 High: 8 H100 on NVSwitch, 4 NICs of 200 Gbit/s with TCP in hardware (GPUDirect-TCPX).

    Network by Google's page of the machine family.
    """
    rates = rated(HOPPER, nvlink, HOPPER.nvlink_latency, HOPPER.pix, HOPPER.sys, nic, nic_latency)
    return server("gcp_a3_high", _eight(4), rates, all_to_all(8, 18), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def gcp_a3_mega(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = HOPPER.nvlink,
    nic: Bandwidth = 25 * GBps,
    nic_latency: Time = HOPPER.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """Google Cloud A3 Mega: 8 H100 on NVSwitch, 8 NICs of 200 Gbit/s (GPUDirect-TCPXO).

    Network by Google's page of the machine family.
    """
    rates = rated(HOPPER, nvlink, HOPPER.nvlink_latency, HOPPER.pix, HOPPER.sys, nic, nic_latency)
    return server("gcp_a3_mega", _eight(8), rates, all_to_all(8, 18), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def gcp_a3_ultra(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = HOPPER.nvlink,
    nic: Bandwidth = HOPPER.nic,
    nic_latency: Time = HOPPER.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """Google Cloud A3 Ultra: 8 H200 on NVSwitch, 8 NICs of 400 Gbit/s with RoCE.

    Network by Google's page of the machine family.
    """
    rates = rated(HOPPER, nvlink, HOPPER.nvlink_latency, HOPPER.pix, HOPPER.sys, nic, nic_latency)
    return server("gcp_a3_ultra", _eight(8), rates, all_to_all(8, 18), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def h100_quad(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = HOPPER.nvlink,
    nic: Bandwidth = 25 * GBps,
    nic_latency: Time = HOPPER.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """4 H100 with 6 NVLinks between each pair and no switch, two on each socket; a NIC of 200 Gbit/s per GPU.

    As in MareNostrum 5's accelerated partition, by the user guide of the Barcelona Supercomputing Center.
    """
    rates = rated(HOPPER, nvlink, HOPPER.nvlink_latency, HOPPER.pix, HOPPER.sys, nic, nic_latency)
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 2, i % 2, 0, 0), i // 2) for i in range(4)]
    leaves += [Leaf(f"NIC{k}", "NIC", (k // 2, k % 2, 0, 0), k // 2) for k in range(4)]
    return server("h100_quad", leaves, rates, all_to_all(4, 6), hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def a40_pairs(
    *,
    hosts: Hosts = 1,
    nvlink: Bandwidth = BRIDGED.nvlink,
    nic: Bandwidth = BRIDGED.nic,
    nic_latency: Time = BRIDGED.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """8 A40 or RTX A6000 with an NVLink bridge on each of four pairs, two pairs on a socket; one NIC.

    `nvlink` is one of the four NVLinks of a bridge, 14 GB/s nominal, 12 in NCCL `src/graph/topo.h` (SM86).
    """
    rates = rated(BRIDGED, nvlink, BRIDGED.nvlink_latency, BRIDGED.pix, BRIDGED.sys, nic, nic_latency)
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 4, i % 4, 0, 0), i // 4) for i in range(8)]
    leaves.append(Leaf("NIC0", "NIC", (0, 4, 0, 0), 0))
    pairs = {(f"GPU{i}", f"GPU{i + 1}"): 4 for i in range(0, 8, 2)}
    return server("a40_pairs", leaves, rates, pairs, hosts=hosts, overhead=overhead, gamma=gamma)


@machine
def geforce_rdma(
    *,
    hosts: Hosts = 2,
    pcie: Bandwidth = AMPERE.pix,
    nic: Bandwidth = 12.5 * GBps,
    nic_latency: Time = AMPERE.nic_latency,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """Hosts with one GeForce RTX 3090 or the like on PCIe gen4 and one NIC of 100 Gbit/s, joined by RDMA."""
    rates = rated(AMPERE, AMPERE.nvlink, AMPERE.nvlink_latency, pcie, AMPERE.sys, nic, nic_latency)
    leaves = [Leaf("GPU0", "GPU", (0, 0, 0, 0), 0), Leaf("NIC0", "NIC", (0, 0, 1, 0), 0)]
    return server("geforce_rdma", leaves, rates, {}, hosts=hosts, overhead=overhead, gamma=gamma)
