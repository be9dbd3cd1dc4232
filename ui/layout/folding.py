"""Devices that a picture folds away: PCIe of hosts whose GPUs talk over NVLink, as far as it carries nothing."""

import numpy as np

from sim.trace import Trace
from sim.trace.link_load import spells

PCIE = ("CPU", "PCI", "NIC")
FEW = 3
"""So few idle devices of a host stay."""
MOST_HOSTS = 4
"""A picture of more hosts is of tiles."""


def folded(trace: Trace) -> frozenset[int]:
    """Return the devices of PCIe that carry nothing, of hosts in which NVLink carries something."""
    topology = trace.topology
    src, dst = topology.ends
    busy = trace.link_bytes > 0
    busy[[spell.link for spell in spells(trace)]] = True
    used = {*src[busy].tolist(), *dst[busy].tolist()}
    fast = np.array([link.kind == "NVL" for link in topology.links], bool) & busy
    linked = {topology.devices[d].host for ends in (src, dst) for d in ends[fast].tolist()}
    hosts: dict[int, list[int]] = {}
    for d, device in enumerate(topology.devices):
        if device.kind in PCIE and d not in used and device.host in linked:
            hosts.setdefault(device.host, []).append(d)
    return frozenset(d for idle in hosts.values() if len(idle) > FEW for d in idle)
