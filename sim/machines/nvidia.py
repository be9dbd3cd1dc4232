"""NVIDIA's own servers. Rates are what NCCL reckons with, below the nominal ones; see `sim.host` for their sources.

Several `hosts` are joined by their NICs, NIC k of each on rail k.
"""

from dataclasses import replace
from typing import Annotated

from sim.host import AMPERE, HOPPER, VOLTA, Leaf, Rates, build_host
from sim.machines import machine
from sim.parameters import Bounds
from sim.paths import pair_classes
from sim.rails import join_by_rails
from sim.topology import Topology
from sim.units import Bandwidth, GBps, Time

Hosts = Annotated[int, Bounds(1, 1024)]

CUBE_MESH = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2, (2, 6): 1, (3, 7): 1,
    (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
}  # fmt: skip
"""NVLinks of each pair of a DGX-1V, six per GPU: `nvidia-smi topo -m` in microsoft/msccl-tools
tests/test_topologies.py."""


def _finish(host: Topology, rates: Rates, hosts: int, overhead: float, gamma: float) -> Topology:
    told = replace(host, overhead=overhead, gamma=gamma, pairs=pair_classes(host))
    return join_by_rails(told, hosts, rates.nic, rates.nic_latency)


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
    rates = _rates(VOLTA, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 4, 0, i % 4 // 2, 0), i // 4) for i in range(8)]
    leaves += [Leaf(f"NIC{k}", "NIC", (k // 2, 0, k % 2, 0), k // 2) for k in range(4)]
    nvlinks = {(f"GPU{a}", f"GPU{b}"): n for (a, b), n in CUBE_MESH.items()}
    return _finish(build_host("dgx1v", leaves, rates, nvlinks), rates, hosts, overhead, gamma)


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
    rates = _rates(AMPERE, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    numa = (3, 1, 7, 5)
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 2, 0, 0, 0), numa[i // 2]) for i in range(8)]
    leaves += [Leaf(f"NIC{k}", "NIC", (k // 2, 0, 0, 0), numa[k // 2]) for k in range(8)]
    host = build_host("dgx_a100", leaves, rates, _all_to_all(12))
    return _finish(host, rates, hosts, overhead, gamma)


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
    rates = _rates(HOPPER, nvlink, nvlink_latency, pcie, sys, nic, nic_latency)
    leaves = [Leaf(f"GPU{i}", "GPU", (i // 4, i % 4, 0, 0), i // 4) for i in range(8)]
    leaves += [Leaf(f"NIC{k}", "NIC", (k // 4, k % 4, 0, 1), k // 4) for k in range(8)]
    host = build_host("dgx_h100", leaves, rates, _all_to_all(18))
    return _finish(host, rates, hosts, overhead, gamma)


def _rates(
    of: Rates, nvlink: float, nvlink_latency: float, pcie: float, sys: float, nic: float, nic_latency: float
) -> Rates:
    return replace(
        of,
        nvlink=nvlink,
        nvlink_latency=nvlink_latency,
        pix=pcie,
        pxb=pcie,
        phb=pcie,
        node=pcie,
        sys=sys,
        nic=nic,
        nic_latency=nic_latency,
    )


def _all_to_all(links: int) -> dict[tuple[str, str], int]:
    return {(f"GPU{a}", f"GPU{b}"): links for a in range(8) for b in range(a + 1, 8)}
