"""What a machine is made of: devices, the links that join them, and routes over links.

Everything with a capacity is a link: an NVLink, a PCIe lane, a switch port, an inter-socket link, a NIC.
Words are NCCL's (`src/graph/topo.h`): device kinds GPU NVS PCI CPU NIC NET, link kinds NVL PCI SYS NET.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from sim.base.arrays import Ints

DeviceKind = Literal["GPU", "NVS", "PCI", "CPU", "NIC", "NET"]
LinkKind = Literal["NVL", "PCI", "SYS", "NET"]
DEVICE_KINDS, LINK_KINDS = get_args(DeviceKind), get_args(LinkKind)


@dataclass(frozen=True, slots=True)
class Device:
    """A box on the map. `numa` is -1 where the machine has or tells no NUMA domain."""

    name: str
    kind: DeviceKind
    numa: int = -1
    host: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    """A capacity from `src` to `dst`, in B/s and s.

    One direction each; a half-duplex or shared medium is one link that `both` directions use.
    """

    src: str
    dst: str
    bandwidth: float
    latency: float
    kind: LinkKind = "NVL"
    both: bool = False
    lanes: int = 1
    """NVLinks bonded into it: the # of class NV#."""


def both_ways(a: str, b: str, bandwidth: float, latency: float, kind: LinkKind, lanes: int = 1) -> tuple[Link, Link]:
    """A full-duplex cable: one link there, one link back."""
    return (
        Link(a, b, bandwidth, latency, kind, lanes=lanes),
        Link(b, a, bandwidth, latency, kind, lanes=lanes),
    )


class Routes(NamedTuple):
    """Route i crosses `links[offsets[i]:offsets[i + 1]]`, in order; an empty route stays in its device."""

    offsets: Ints
    links: Ints


Router = Callable[[Ints, Ints], Routes]
"""From device indices `src[i]`, `dst[i]` to their routes; a closed form where a machine has one."""
