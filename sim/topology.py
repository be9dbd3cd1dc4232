"""A machine as devices joined by links, and the static routes between its devices.

Everything with a capacity is a link: an NVLink, a PCIe lane, a switch port, an inter-socket link, a NIC.
Words are NCCL's (`src/graph/topo.h`): device kinds GPU NVS PCI CPU NIC NET, link kinds NVL PCI SYS NET.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.errors import InputError

DeviceKind = Literal["GPU", "NVS", "PCI", "CPU", "NIC", "NET"]
LinkKind = Literal["NVL", "PCI", "SYS", "NET"]
Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


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


@dataclass(frozen=True, eq=False)
class Topology:
    """Devices, links and who is which rank.

    `ranks[r]` is the index of rank r's device: every GPU in order unless given. `overhead` is paid once
    per message (s), `gamma` per byte reduced (s/B). `assumed` lists what a file did not say and was filled
    in; `pairs` is the class of each pair of devices where a capture tells it.
    Raises InputError when a name, a number or an end is impossible.
    """

    name: str
    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    ranks: tuple[int, ...] = ()
    overhead: float = 0.0
    gamma: float = 0.0
    forwarding: bool = False
    """May a GPU pass on what is not for it?"""
    router: Router | None = None
    assumed: tuple[str, ...] = ()
    pairs: dict[str, dict[str, str]] = field(default_factory=dict)
    format: str = ""
    """The file format it was read from."""

    def __post_init__(self) -> None:
        if len(self.index) != len(self.devices):
            twice = next(d.name for i, d in enumerate(self.devices) if self.index[d.name] != i)
            raise InputError(f"{self.name}: two devices are called {twice}: give each its own name")
        for link in self.links:
            for end in (link.src, link.dst):
                if end not in self.index:
                    raise InputError(f"{self.name}: link {link.src} -> {link.dst} ends at {end}, which is no device")
            if not (math.isfinite(link.bandwidth) and link.bandwidth > 0):
                raise InputError(
                    f"{self.name}: link {link.src} -> {link.dst} has bandwidth {link.bandwidth}: give one above zero"
                )
            if not (math.isfinite(link.latency) and link.latency >= 0):
                raise InputError(
                    f"{self.name}: link {link.src} -> {link.dst} has latency {link.latency}: give zero or more seconds"
                )
        for value, what in ((self.overhead, "overhead"), (self.gamma, "gamma")):
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"{self.name}: {what} is {value}: give zero or more")
        if not self.ranks:
            gpus = tuple(i for i, d in enumerate(self.devices) if d.kind == "GPU")
            object.__setattr__(self, "ranks", gpus)

    @property
    def n(self) -> int:
        """How many ranks it can hold."""
        return len(self.ranks)

    @cached_property
    def index(self) -> dict[str, int]:
        """Device index by name."""
        return {device.name: i for i, device in enumerate(self.devices)}

    @cached_property
    def bandwidth(self) -> Floats:
        """B/s per link."""
        return np.array([link.bandwidth for link in self.links], dtype=np.float64)

    @cached_property
    def latency(self) -> Floats:
        """Seconds per link."""
        return np.array([link.latency for link in self.links], dtype=np.float64)

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Device indices of every link's src and dst."""
        src = np.array([self.index[link.src] for link in self.links], dtype=np.int32)
        dst = np.array([self.index[link.dst] for link in self.links], dtype=np.int32)
        return src, dst

    def routes(self, src: Sequence[int] | Ints, dst: Sequence[int] | Ints) -> Routes:
        """The route of every pair of device indices. Raises InputError for a pair nothing connects."""
        a, b = np.asarray(src, dtype=np.int32), np.asarray(dst, dtype=np.int32)
        return self._route(a, b)

    @cached_property
    def _route(self) -> Router:
        if self.router is not None:
            return self.router
        from sim.routing import shortest_routes

        return shortest_routes(self)

    def path(self, src: str, dst: str) -> tuple[Link, ...]:
        """The links from one named device to another.

        >>> from sim.machines import build
        >>> [link.dst for link in build("switch:ranks=4").path("GPU0", "GPU3")]
        ['SW', 'GPU3']
        """
        for name in (src, dst):
            if name not in self.index:
                raise InputError(f"{self.name} has no device called {name}: `topology` lists them")
        _, links = self.routes([self.index[src]], [self.index[dst]])
        return tuple(self.links[i] for i in links)
