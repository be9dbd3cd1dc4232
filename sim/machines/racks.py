"""Racks whose GPUs are one NVLink domain."""

from typing import Annotated, NamedTuple

from sim.machines import called, machine
from sim.parameters import Bounds
from sim.registry import titled
from sim.topology import Device, Link, Topology, both_ways
from sim.topology.host import BLACKWELL
from sim.units import Bandwidth, GBps, Time

C2C = 360 * GBps
"""What joins a GPU to its Grace reaches; NVIDIA nvbandwidth on GB200."""


@called(
    "gb200",
    "ND GB200 v6",
    "Standard_ND128isr_NDR_GB200_v6",
    "p6e-gb200",
    "u-p6e-gb200x72",
    "a4x",
    "a4x-highgpu-4g",
    "BM.GPU.GB200.4",
)
@machine
@titled("GB200 NVL72")
def gb200_nvl72(
    *,
    trays: Annotated[int, Bounds(1, 18)] = 18,
    racks: Annotated[int, Bounds(1, 64)] = 1,
    nics: Annotated[int, Bounds(1, 8)] = 4,
    nvlink: Bandwidth = BLACKWELL.nvlink,
    nvlink_latency: Time = BLACKWELL.nvlink_latency,
    c2c: Bandwidth = C2C,
    nic: Bandwidth = BLACKWELL.nic,
    nic_latency: Time = BLACKWELL.nic_latency,
) -> Topology:
    """GB200 NVL72: 18 trays of 4 GPUs and 2 Grace, all 72 GPUs on one NVSwitch domain; 4 NDR NICs per tray.

    `nvlink` is one of 18 NVLinks per GPU, 50 GB/s nominal, 40.1 in NCCL `src/graph/topo.h` (SM100); `c2c` joins a
    GPU to its Grace, 450 GB/s nominal, 359-377 measured (NVIDIA nvbandwidth on GB200). What joins the two Grace of
    a tray has 100 GB/s each way nominal (NVIDIA Grace CPU white paper). Several `racks` meet at their NICs, NIC k of
    every tray on rail k.
    """
    return racked("gb200_nvl72", trays, racks, nics, Cables(18 * nvlink, nvlink_latency, c2c, nic, nic_latency))


class Cables(NamedTuple):
    """What a tray's links carry (B/s) and take (s): a GPU's NVLinks together, its way to Grace, a NIC."""

    nvlinks: float
    nvlink_latency: float
    c2c: float
    nic: float
    nic_latency: float


def racked(name: str, trays: int, racks: int, nics: int, cables: Cables) -> Topology:
    """Racks of trays with 4 GPUs and 2 Grace each; an NVSwitch domain per rack, rails across all."""
    devices: list[Device] = []
    links: list[Link] = []
    for tray in range(trays * racks):
        at, switch = f"H{tray}.", f"NVS{tray // trays}"
        devices += [Device(f"{at}GPU{i}", "GPU", i // 2, tray) for i in range(4)]
        devices += [Device(f"{at}CPU{c}", "CPU", c, tray) for c in range(2)]
        devices += [Device(f"{at}NIC{i}", "NIC", i * 2 // nics, tray) for i in range(nics)]
        for i in range(4):
            links += both_ways(f"{at}GPU{i}", switch, cables.nvlinks, cables.nvlink_latency / 2, "NVL", 18)
            links += both_ways(f"{at}GPU{i}", f"{at}CPU{i // 2}", cables.c2c, BLACKWELL.pix_latency, "PCI")
        for i in range(nics):
            links += both_ways(f"{at}NIC{i}", f"{at}CPU{i * 2 // nics}", cables.nic, BLACKWELL.pix_latency, "PCI")
            links += both_ways(f"{at}NIC{i}", f"RAIL{i}", cables.nic, cables.nic_latency, "NET")
        links += both_ways(f"{at}CPU0", f"{at}CPU1", 100 * GBps, BLACKWELL.sys_latency, "SYS")
    devices += [Device(f"NVS{rack}", "NVS", host=-1) for rack in range(racks)]
    devices += [Device(f"RAIL{i}", "NET", host=-1) for i in range(nics)]
    return Topology(name, tuple(devices), tuple(links), generation=BLACKWELL.generation)
