"""NVIDIA's own servers. Rates are what NCCL reckons with, below the nominal ones; `sim.topology.host` has sources.

Several `hosts` are joined by their NICs, NIC k of each on rail k.
"""

from sim.machines import called, server
from sim.registry import titled
from sim.topology.host import AMPERE, BLACKWELL, HOPPER, VOLTA, Leaf, Place, gpu, nic
from sim.topology.servers import Server, all_to_all, numbered
from sim.units import GBps

CUBE_MESH = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2, (2, 6): 1, (3, 7): 1,
    (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
}  # fmt: skip
"""NVLinks of each pair of a DGX-1V, six per GPU: `nvidia-smi topo -m` in microsoft/msccl-tools
tests/test_topologies.py."""


@called("dgx-1", "v100")
@server(VOLTA, sys=6 * GBps)
@titled("DGX-1V")
def dgx1v() -> Server:
    """DGX-1 with 8 V100 in a hybrid cube mesh, 2 sockets, 4 PCIe switches with 2 GPUs and 1 EDR NIC each.

    `nvlink` is one of six NVLinks per GPU, 25 GB/s nominal, 20 in NCCL `src/graph/topo.h` (SM70); `pcie` is
    gen3 x16 (12 there) and `sys` is QPI of Broadwell (6 there).
    """
    leaves = [gpu(i, Place(domain=i // 4, upper=i % 4 // 2)) for i in range(8)]
    leaves += [nic(k, Place(domain=k // 2, upper=k % 2)) for k in range(4)]
    return Server(leaves, numbered(CUBE_MESH))


@called("a100", "hgx-a100", "ND A100 v4", "NDv4", "Standard_ND96asr_v4", "Standard_ND96amsr_A100_v4")
@server(AMPERE)
@titled("DGX A100")
def dgx_a100() -> Server:
    """DGX A100: 8 A100 with 12 NVLinks each on NVSwitch; 4 PCIe switches with 2 GPUs and 2 HDR NICs each.

    `nvlink` is one NVLink, 25 GB/s nominal, 20 in NCCL `src/graph/topo.h` (SM80). Each PCIe switch hangs on
    its own NUMA node of two EPYC; the four nodes without GPUs are left out. Places follow
    Azure/azhpc-images topology/ndv4-topo.xml, NUMA numbers a DGX A100's `nvidia-smi topo -m`.
    """
    numa = (3, 1, 7, 5)
    leaves = [gpu(i, Place(domain=i // 2), numa[i // 2]) for i in range(8)]
    leaves += [nic(k, Place(domain=k // 2), numa[k // 2]) for k in range(8)]
    return Server(leaves, all_to_all(8, 12))


@called("h100", "hgx-h100", "ND H100 v5", "NDv5", "Standard_ND96isr_H100_v5")
@server(HOPPER)
@titled("DGX H100")
def dgx_h100() -> Server:
    """DGX H100: 8 H100 with 18 NVLinks each on NVSwitch; every GPU shares PCIe switches with one NDR NIC.

    `nvlink` is one NVLink, 25 GB/s nominal, 20.6 in NCCL `src/graph/topo.h` (SM90). GPU and NIC are two
    switches apart (PXB) and the four pairs of a socket are on host bridges of their own, as
    `nvidia-smi topo -m` prints it on a DGX H100; its storage NICs are left out.
    """
    return Server(_eight_apart(), all_to_all(8, 18))


@server(VOLTA)
@titled("DGX-2")
def dgx2() -> Server:
    """DGX-2: 16 V100 with 6 NVLinks each on NVSwitch; 2 sockets, 8 PCIe switches with 2 GPUs and 1 EDR NIC each.

    `nvlink` is one NVLink, 25 GB/s nominal, 20 in NCCL `src/graph/topo.h` (SM70): 120 GB/s per GPU, where
    microsoft/taccl measures 125. `sys` is Skylake's UPI (10 there). Places as its `nvidia-smi topo -m` prints them.
    """
    leaves = [gpu(i, Place(domain=i // 8, bridge=i % 8 // 4, switch=i % 4 // 2)) for i in range(16)]
    leaves += [nic(k, Place(domain=k // 4, bridge=k % 4 // 2, switch=k % 2)) for k in range(8)]
    return Server(leaves, all_to_all(16, 6))


@called("h200", "hgx-h200", "ND H200 v5", "Standard_ND96isr_H200_v5")
@server(HOPPER)
@titled("DGX H200")
def dgx_h200() -> Server:
    """DGX H200: links and places of a DGX H100; its GPUs differ in their memory only.

    NVIDIA nvbandwidth copies 396 GB/s from GPU to GPU on one; 18 NVLinks of 20.6 are 371.
    """
    return Server(_eight_apart(), all_to_all(8, 18))


@called("b200", "hgx-b200")
@server(BLACKWELL)
@titled("DGX B200")
def dgx_b200() -> Server:
    """DGX or HGX B200: 8 B200 with 18 NVLinks of the fifth generation on NVSwitch, one NDR NIC per GPU.

    `nvlink` is one NVLink, 50 GB/s nominal, 40.1 in NCCL `src/graph/topo.h` (SM100); `sys` is Emerald Rapids (40
    there). Places as on a DGX H100.
    """
    return Server(_eight_apart(), all_to_all(8, 18))


def _eight_apart() -> list[Leaf]:
    """Eight GPUs, each with a NIC two PCIe switches away on a host bridge of its own, four on a socket."""
    gpus = [gpu(i, Place(domain=i // 4, bridge=i % 4)) for i in range(8)]
    return gpus + [nic(k, Place(domain=k // 4, bridge=k % 4, switch=1)) for k in range(8)]
