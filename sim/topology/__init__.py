"""The machine: devices joined by links, and the ways between them."""

from sim.base.arrays import Floats, Ints
from sim.topology.devices import Device, DeviceIndex, DeviceKind, Link, LinkKind, Router, Routes, both_ways
from sim.topology.model import Topology

__all__ = [
    "Device",
    "DeviceIndex",
    "DeviceKind",
    "Floats",
    "Ints",
    "Link",
    "LinkKind",
    "Router",
    "Routes",
    "Topology",
    "both_ways",
]
