"""Servers as clouds and computing centres have them, where their network differs from that of NVIDIA's own.

The rates of NICs are the nominal ones of the instance's page; what NCCL reaches of them is calibrated. Oracle's and
Google's A4 have RoCE that tables show to take what InfiniBand does, unlike that of A3 Ultra.
"""

from dataclasses import replace

from sim.machines import NVLINK_NIC, PCIE_NIC, called, server
from sim.registry import titled
from sim.topology.host import AMPERE, BLACKWELL, BRIDGED, HOPPER, VOLTA, Leaf, Place, gpu, nic
from sim.topology.servers import Server, all_to_all, numbered
from sim.units import GBps


def _eight(nics: int) -> list[Leaf]:
    """Eight GPUs in pairs on PCIe switches, two of them on a socket, with so many NICs shared out among them."""
    places = [Place(domain=i // 4, bridge=i % 4 // 2) for i in range(8)]
    gpus = [gpu(i, place) for i, place in enumerate(places)]
    return gpus + [nic(k, place) for k, place in enumerate(places[:: 8 // nics])]


@called("p4d", "p4de", "p4d.24xlarge", "p4de.24xlarge")
@server(replace(AMPERE, sys=VOLTA.sys), NVLINK_NIC, nic=12.5 * GBps)
@titled("AWS p4d")
def aws_p4d() -> Server:
    """AWS p4d and p4de: 8 A100 with 12 NVLinks each on NVSwitch, 4 EFA NICs of 100 Gbit/s, one per pair of GPUs.

    Network and CPUs, Intel's of Cascade Lake, by AWS's page of the instance. `nic_latency` is that of InfiniBand; what
    EFA takes beyond it is calibrated.
    """
    return Server(_eight(4), all_to_all(8, 12))


@called("p5", "p5e", "p5en", "p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge")
@server(HOPPER, NVLINK_NIC)
@titled("AWS p5")
def aws_p5() -> Server:
    """AWS p5 and p5en: 8 H100 or H200 with 18 NVLinks each on NVSwitch, 400 Gbit/s of EFA per GPU.

    p5 has four NICs of 100 Gbit/s per GPU, p5en two of 200; they count as one here. By AWS's page of the instance.
    """
    return Server(_eight(8), all_to_all(8, 18))


@called("a3-high", "a3-highgpu-8g")
@server(HOPPER, NVLINK_NIC, nic=25 * GBps)
@titled("GCP A3 High")
def gcp_a3_high() -> Server:
    """Google Cloud A3 High: 8 H100 on NVSwitch, 4 NICs of 200 Gbit/s with TCP in hardware (GPUDirect-TCPX).

    Network by Google's page of the machine family.
    """
    return Server(_eight(4), all_to_all(8, 18))


@called("a3-mega", "a3-megagpu-8g")
@server(HOPPER, NVLINK_NIC, nic=25 * GBps)
@titled("GCP A3 Mega")
def gcp_a3_mega() -> Server:
    """Google Cloud A3 Mega: 8 H100 on NVSwitch, 8 NICs of 200 Gbit/s (GPUDirect-TCPXO).

    Network by Google's page of the machine family.
    """
    return Server(_eight(8), all_to_all(8, 18))


@called("a3-ultra", "a3-ultragpu-8g")
@server(HOPPER, NVLINK_NIC)
@titled("GCP A3 Ultra")
def gcp_a3_ultra() -> Server:
    """Google Cloud A3 Ultra: 8 H200 on NVSwitch, 8 NICs of 400 Gbit/s with RoCE.

    Network by Google's page of the machine family.
    """
    return Server(_eight(8), all_to_all(8, 18))


@called("p6", "p6-b200", "p6-b200.48xlarge")
@server(BLACKWELL, NVLINK_NIC)
@titled("AWS p6-b200")
def aws_p6() -> Server:
    """AWS p6-b200: 8 B200 with 18 NVLinks each on NVSwitch, 8 EFA NICs of 400 Gbit/s.

    Network by AWS's page of the instance. `nic_latency` is that of InfiniBand; what EFA takes beyond it is calibrated.
    """
    return Server(_eight(8), all_to_all(8, 18))


@called("p6-b300", "p6-b300.48xlarge")
@server(BLACKWELL, pcie=96 * GBps, nic=100 * GBps)
@titled("AWS p6-b300")
def aws_p6_b300() -> Server:
    """AWS p6-b300: 8 B300 with 18 NVLinks each on NVSwitch, 800 Gbit/s of EFA per GPU.

    Two NICs of 400 Gbit/s per GPU count as one here. By AWS's page of the instance; `pcie` is gen6 as on a DGX B300.
    """
    return Server(_eight(8), all_to_all(8, 18))


@called("a4", "a4-high", "a4-highgpu-8g")
@server(BLACKWELL, NVLINK_NIC)
@titled("GCP A4")
def gcp_a4() -> Server:
    """Google Cloud A4: 8 B200 on NVSwitch, 8 NICs of 400 Gbit/s with RoCE.

    Network by Google's page of the machine family.
    """
    return Server(_eight(8), all_to_all(8, 18))


@called("BM.GPU4.8", "BM.GPU.B4.8", "BM.GPU.GM4.8", "BM.GPU.A100-v2.8")
@server(AMPERE, NVLINK_NIC)
@titled("OCI A100")
def oci_a100() -> Server:
    """Oracle BM.GPU4.8 and BM.GPU.A100-v2.8: 8 A100 on NVSwitch, 200 Gbit/s of RoCE per GPU.

    Two NICs of 100 Gbit/s per GPU count as one here. By Oracle's page of the shapes.
    """
    return Server(_eight(8), all_to_all(8, 12))


@called("BM.GPU.H100.8", "BM.GPU.H200.8")
@server(HOPPER, NVLINK_NIC)
@titled("OCI H100")
def oci_h100() -> Server:
    """Oracle BM.GPU.H100.8 and BM.GPU.H200.8: 8 H100 or H200 on NVSwitch, 400 Gbit/s of RoCE per GPU.

    H100 has two NICs of 200 Gbit/s per GPU, which count as one here, H200 one of 400. By Oracle's page of the shapes.
    """
    return Server(_eight(8), all_to_all(8, 18))


@called("BM.GPU.B200.8")
@server(BLACKWELL, NVLINK_NIC)
@titled("OCI B200")
def oci_b200() -> Server:
    """Oracle BM.GPU.B200.8: 8 B200 on NVSwitch, 8 NICs of 400 Gbit/s with RoCE.

    Network by Oracle's page of the shapes.
    """
    return Server(_eight(8), all_to_all(8, 18))


@called("marenostrum5", "mn5")
@server(HOPPER, NVLINK_NIC, nic=25 * GBps)
@titled("4 H100")
def h100_quad() -> Server:
    """4 H100 with 6 NVLinks between each pair and no switch, two on each socket; a NIC of 200 Gbit/s per GPU.

    As in MareNostrum 5's accelerated partition, by the user guide of the Barcelona Supercomputing Center.
    """
    leaves = [gpu(i, Place(domain=i // 2, bridge=i % 2)) for i in range(4)]
    leaves += [nic(k, Place(domain=k // 2, bridge=k % 2)) for k in range(4)]
    return Server(leaves, all_to_all(4, 6))


@called("a40", "rtx-a6000")
@server(BRIDGED, NVLINK_NIC)
@titled("8 A40 in pairs")
def a40_pairs() -> Server:
    """8 A40 or RTX A6000 with an NVLink bridge on each of four pairs, two pairs on a socket; one NIC.

    `nvlink` is one of the four NVLinks of a bridge, 14 GB/s nominal, 12 in NCCL `src/graph/topo.h` (SM86).
    """
    leaves = [gpu(i, Place(domain=i // 4, bridge=i % 4)) for i in range(8)]
    leaves.append(nic(0, Place(domain=0, bridge=4)))
    return Server(leaves, numbered({(i, i + 1): 4 for i in range(0, 8, 2)}))


@server(AMPERE, PCIE_NIC, hosts=2, nic=12.5 * GBps)
@titled("GeForce hosts with RDMA")
def geforce_rdma() -> Server:
    """Hosts with one GeForce RTX 3090 or the like on PCIe gen4 and one NIC of 100 Gbit/s, joined by RDMA."""
    return Server([gpu(0, Place(domain=0)), nic(0, Place(domain=0, upper=1))])
