"""GB300 NVL72: the GB200's rack, twice its network."""

from typing import Annotated

from sim.machines import called, machine
from sim.machines.racks import C2C, Cables, racked
from sim.parameters import Bounds
from sim.registry import titled
from sim.topology import Topology
from sim.topology.host import BLACKWELL
from sim.units import Bandwidth, GBps, Time


@called("gb300", "ND GB300 v6", "Standard_ND128isr_GB300_v6", "BM.GPU.GB300.4")
@machine
@titled("GB300 NVL72")
def gb300_nvl72(
    *,
    trays: Annotated[int, Bounds(1, 18)] = 18,
    racks: Annotated[int, Bounds(1, 64)] = 1,
    nics: Annotated[int, Bounds(1, 8)] = 4,
    nvlink: Bandwidth = BLACKWELL.nvlink,
    nvlink_latency: Time = BLACKWELL.nvlink_latency,
    c2c: Bandwidth = C2C,
    nic: Bandwidth = 100 * GBps,
    nic_latency: Time = BLACKWELL.nic_latency,
) -> Topology:
    """GB300 NVL72: 18 trays of 4 GPUs and 2 Grace on one NVSwitch domain; 4 NICs of 800 Gbit/s per tray.

    Links as in a GB200 NVL72; network by NVIDIA's page of the GB300 NVL72 (ConnectX-8).
    """
    return racked("gb300_nvl72", trays, racks, nics, Cables(18 * nvlink, nvlink_latency, c2c, nic, nic_latency))
