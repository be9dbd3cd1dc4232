"""Racks whose GPUs are one NVLink domain."""

from typing import Annotated

from sim.machines import machine
from sim.parameters import Bounds
from sim.topology import Device, Link, Topology, both_ways
from sim.topology.host import BLACKWELL
from sim.units import Bandwidth, GBps, Time


@machine
def gb200_nvl72(
    *,
    trays: Annotated[int, Bounds(1, 18)] = 18,
    nvlink: Bandwidth = BLACKWELL.nvlink,
    nvlink_latency: Time = BLACKWELL.nvlink_latency,
    c2c: Bandwidth = 360 * GBps,
    nic: Bandwidth = BLACKWELL.nic,
    nic_latency: Time = BLACKWELL.nic_latency,
) -> Topology:
    """GB200 NVL72: 18 trays of 4 GPUs and 2 Grace, all 72 GPUs on one NVSwitch domain; 4 NDR NICs per tray.

    `nvlink` is one of 18 NVLinks per GPU, 50 GB/s nominal, 40.1 in NCCL `src/graph/topo.h` (SM100); `c2c` joins a
    GPU to its Grace, 450 GB/s nominal, 359-377 measured (NVIDIA nvbandwidth on GB200). What joins the two Grace of
    a tray has 100 GB/s each way nominal (NVIDIA Grace CPU white paper).
    """
    devices: list[Device] = []
    links: list[Link] = []
    for tray in range(trays):
        at = f"H{tray}."
        devices += [Device(f"{at}GPU{i}", "GPU", i // 2, tray) for i in range(4)]
        devices += [Device(f"{at}CPU{c}", "CPU", c, tray) for c in range(2)]
        devices += [Device(f"{at}NIC{i}", "NIC", i // 2, tray) for i in range(4)]
        for i in range(4):
            links += both_ways(f"{at}GPU{i}", "NVS0", 18 * nvlink, nvlink_latency / 2, "NVL", 18)
            links += both_ways(f"{at}GPU{i}", f"{at}CPU{i // 2}", c2c, BLACKWELL.pix_latency, "PCI")
            links += both_ways(f"{at}NIC{i}", f"{at}CPU{i // 2}", nic, BLACKWELL.pix_latency, "PCI")
            links += both_ways(f"{at}NIC{i}", f"RAIL{i}", nic, nic_latency, "NET")
        links += both_ways(f"{at}CPU0", f"{at}CPU1", 100 * GBps, BLACKWELL.sys_latency, "SYS")
    devices.append(Device("NVS0", "NVS", host=-1))
    devices += [Device(f"RAIL{i}", "NET", host=-1) for i in range(4)]
    return Topology("gb200_nvl72", tuple(devices), tuple(links))
