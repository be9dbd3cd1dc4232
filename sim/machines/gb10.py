"""DGX Spark: hosts with one GB10, joined by their ConnectX-7."""

from typing import Annotated, Literal

from sim.machines import called, machine
from sim.parameters import Bounds
from sim.registry import titled
from sim.topology import Device, Link, Topology, both_ways
from sim.topology.host import BLACKWELL
from sim.units import Bandwidth, GBps, Time

C2C = 300 * GBps
"""One way between GPU and CPU of a GB10: half of the 600 GB/s in NVIDIA's talk at Hot Chips 2025."""


@called("dgx-spark", "spark")
@machine
@titled("DGX Spark")
def gb10(
    *,
    hosts: Annotated[int, Bounds(1, 64)] = 2,
    cabling: Literal["switch", "ring"] = "switch",
    nic: Bandwidth = 25 * GBps,
    nic_latency: Time = BLACKWELL.nic_latency,
) -> Topology:
    """DGX Spark: hosts with one GB10 and a ConnectX-7 of 200 Gbit/s with two ports, joined by a switch or in a ring.

    Two hosts share one link, or a switch that does not bind. In a ring the second port of each host leads to the first
    of the next, and hosts pass on what is not for them. Network by NVIDIA's user guide of the DGX Spark.
    """
    devices: list[Device] = []
    links: list[Link] = []
    is_ring = cabling == "ring" and hosts > 2
    for h in range(hosts):
        at = f"H{h}." if hosts > 1 else ""
        ports = (f"{at}NIC0", f"{at}NIC1") if is_ring else (f"{at}NIC0",)
        devices += [Device(f"{at}GPU0", "GPU", 0, h), Device(f"{at}CPU0", "CPU", 0, h)]
        devices += [Device(port, "NIC", 0, h) for port in ports]
        links += both_ways(f"{at}GPU0", f"{at}CPU0", C2C, BLACKWELL.pix_latency, "PCI")
        for port in ports:
            links += both_ways(port, f"{at}CPU0", nic, BLACKWELL.pix_latency, "PCI")
        if is_ring:
            links += both_ways(f"{at}NIC1", f"H{(h + 1) % hosts}.NIC0", nic, nic_latency, "NET")
        elif hosts > 1:
            links += both_ways(f"{at}NIC0", "SWITCH", nic, nic_latency, "NET")
    if hosts > 1 and not is_ring:
        devices.append(Device("SWITCH", "NET", host=-1))
    return Topology("gb10", tuple(devices), tuple(links), generation=BLACKWELL.generation)
