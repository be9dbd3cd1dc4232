"""A machine as devices joined by links, and the static routes between its devices."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints
from sim.base.files.textfile import check_names
from sim.base.size import room_for
from sim.errors import InputError, Message
from sim.topology.devices import (
    DEVICE_KINDS,
    LINK_KINDS,
    Device,
    DeviceColumns,
    Link,
    LinkColumns,
    Router,
    Routes,
    kinds_of,
    link_kinds,
    names_of,
    places_of,
    shared_by_both,
)
from sim.topology.generations import Generation
from sim.topology.nodes import nodes_of
from sim.topology.routing import shortest_routes
from sim.units import fmt_object

if TYPE_CHECKING:
    import networkx as nx

PAIRS_KEPT, ROUTES_KEPT = 1024, 64
"""Pairs up to which routes that were asked for are kept, and how many such questions."""
PAIRS_LOOKED_AT = 64
"""Pairs of ranks that tell how far messages go."""


@dataclass(frozen=True, eq=False)
class Topology:
    """Devices, links and the device of each rank.

    Parameters
    ----------
    name : str
        What the machine is called.
    devices : tuple of Device
        Its devices, or columns that look like them (`sim.topology.devices`).
    links : tuple of Link
        Its links, or columns that look like them.
    ranks : tuple of int
        The index of the device of every rank; every GPU in order unless given.
    overhead : float
        Paid once per message, s.
    gamma : float
        Paid per byte that is reduced, s/B.
    forwarding : bool
        Whether GPUs forward messages.
    relays : int
        Through how many GPUs, one after another, traffic between two others may go where it stays on NVLinks.
    router : callable
        Routes, if they are not shortest paths.
    assumed : tuple of str
        Assumed values missing from a file.
    pairs : mapping
        The class of each pair of devices, if a capture contains it.
    format : str
        The file format it was read from.
    generation : str
        Generation of its GPUs, like Hopper; empty where nothing says which they are.
    calibration : str
        Numbers measured on this very machine, like `hop_4.2us,share_0.93`; empty where there are none.

    Raises
    ------
    InputError
        Where a name, a number or an end of a link is impossible.
    """

    name: str
    devices: tuple[Device, ...] | DeviceColumns
    links: tuple[Link, ...] | LinkColumns
    """Both are tuples, or columns that look like them (`sim.topology.devices`)."""
    ranks: tuple[int, ...] = ()
    overhead: float = 0.0
    gamma: float = 0.0
    forwarding: bool = False
    """May a GPU pass on what is not for it?"""
    relays: int = 0
    """Through how many GPUs, one after another, traffic between two others may go where it stays on NVLinks."""
    router: Router | None = None
    assumed: tuple[str, ...] = ()
    pairs: dict[str, dict[str, str]] = field(default_factory=dict)
    format: str = ""
    """The file format it was read from."""
    generation: Generation = ""
    """That of its GPUs, whatever their links carry; empty where nothing says it."""
    calibration: str = ""
    """Numbers measured on this very machine, which `ops` reads."""

    def __post_init__(self) -> None:
        room_for(len(self.devices), links=len(self.links))
        check_names([self.name], "machine")
        check_names(self.assumed, "machine note")
        self._check_kinds()
        self._check_devices()
        self._check_links()
        for value, what in ((self.overhead, "overhead"), (self.gamma, "gamma")):
            if not (math.isfinite(value) and value >= 0):
                raise InputError("machine.negative", topology=self.name, what=what, value=value)
        if not self.ranks:
            object.__setattr__(self, "ranks", tuple(np.flatnonzero(self.kinds == "GPU").tolist()))

    def __repr__(self) -> str:
        counts = {kind: int(np.count_nonzero(self.kinds == kind)) for kind in DEVICE_KINDS}
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
        made_of = f"{len(self.devices):,} devices ({kinds}), {len(self.links):,} links"
        return fmt_object("Topology", f"{self.name}: {self.n:,} ranks on {made_of}")

    def _check_kinds(self) -> None:
        """What a machine is made of is what its own file puts together."""
        for what, parts, kind in (("devices", self.devices, Device), ("links", self.links, Link)):
            if isinstance(parts, DeviceColumns | LinkColumns):
                continue
            if not isinstance(parts, tuple):
                raise InputError("machine.tuple", topology=self.name, what=Message(what), kind=type(parts).__name__)
            if not {type(part) for part in parts} <= {kind}:
                at, strange = next((i, part) for i, part in enumerate(parts) if type(part) is not kind)
                came, due = type(strange).__name__, kind.__name__
                raise InputError("machine.part", topology=self.name, at=at, what=Message(what), came=came, due=due)

    def _check_devices(self) -> None:
        """None where they are columns: whoever made them did."""
        if isinstance(self.devices, DeviceColumns):
            return
        check_names(self.index, "device")
        if len(self.index) != len(self.devices):
            twice = next(d.name for i, d in enumerate(self.devices) if self.index[d.name] != i)
            raise InputError("machine.named_twice", topology=self.name, name=twice)
        if not {device.kind for device in self.devices} <= set(DEVICE_KINDS):
            for device in self.devices:
                self._check_kind(Message("machine.device", name=device.name), device.kind, DEVICE_KINDS)

    def _check_links(self) -> None:
        """All at once, as there may be many; where one is wrong, the first that is."""
        rates, waits = self.bandwidth, self.latency
        right = bool(((rates > 0) & (rates < np.inf) & (waits >= 0) & (waits < np.inf)).all())
        if not isinstance(self.links, LinkColumns):
            ends = {link.src for link in self.links} | {link.dst for link in self.links}
            right &= ends <= self.index.keys() and {link.kind for link in self.links} <= set(LINK_KINDS)
        if not right:
            for link in self.links:
                self._check_link(link)

    def _check_link(self, link: Link) -> None:
        called = Message("machine.link", src=link.src, dst=link.dst)
        for end in (link.src, link.dst):
            if end not in self.index:
                raise InputError("machine.link_end", topology=self.name, link=called, device=end)
        self._check_kind(called, link.kind, LINK_KINDS)
        if not (math.isfinite(link.bandwidth) and link.bandwidth > 0):
            raise InputError("machine.link_bandwidth", topology=self.name, link=called, bandwidth=link.bandwidth)
        if not (math.isfinite(link.latency) and link.latency >= 0):
            raise InputError("machine.link_latency", topology=self.name, link=called, latency=link.latency)

    def _check_kind(self, called: Message, kind: str, kinds: Sequence[str]) -> None:
        if kind not in kinds:
            raise InputError("machine.kind", topology=self.name, what=called, kind=kind, choices=kinds)

    def but(self, **others: Any) -> "Topology":
        """This one with another name, router, format, pairs or notes; what it is made of need not be checked again."""
        assert others.keys() <= {"name", "router", "format", "pairs", "assumed"}
        check_names([others.get("name", "")], "machine")
        check_names(others.get("assumed", ()), "machine note")
        other = copy.copy(self)
        for kept in ("_route", "_again"):
            other.__dict__.pop(kept, None)
        for name, value in others.items():
            object.__setattr__(other, name, value)
        return other

    def to_networkx(self) -> "nx.MultiDiGraph":
        """Return the machine as a directed graph of NetworkX: a node per device, by name, an edge per link.

        Nodes have `kind`, `host`, `numa` and, where they play one, `rank`; edges have `bandwidth` (B/s), `latency` (s),
        `kind` and `link`, the number of the link, which is their key too. A link that both directions use is an edge
        each way. Raises ImportError where NetworkX is missing.
        """
        try:
            import networkx as nx
        except ModuleNotFoundError:
            raise ImportError("a graph of a machine needs networkx: run `pip install networkx`") from None
        graph = nx.MultiDiGraph(name=self.name)
        for device in self.devices:
            graph.add_node(device.name, kind=device.kind, host=device.host, numa=device.numa)
        for rank, number in enumerate(self.ranks):
            graph.nodes[self.devices[number].name]["rank"] = rank
        for number, link in enumerate(self.links):
            facts = {"bandwidth": link.bandwidth, "latency": link.latency, "kind": link.kind, "link": number}
            for ends in ((link.src, link.dst), (link.dst, link.src))[: 2 if link.both else 1]:
                graph.add_edge(*ends, key=number, **facts)
        return graph

    @property
    def n(self) -> int:
        """Largest number of ranks."""
        return len(self.ranks)

    def taking_part(self, ranks: int = 0) -> int:
        """So many ranks, or all for 0. Raises InputError for more than it holds."""
        if ranks > self.n:
            raise InputError("machine.ranks", topology=self.name, n=self.n, ranks=ranks)
        return ranks or self.n

    @cached_property
    def index(self) -> dict[str, int]:
        """Device index by name."""
        return {name: i for i, name in enumerate(names_of(self.devices))}

    @cached_property
    def kinds(self) -> NDArray[np.str_]:
        """Every device's kind."""
        return kinds_of(self.devices)

    @cached_property
    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every device's host and its NUMA domain."""
        return places_of(self.devices)

    @cached_property
    def nodes(self) -> NDArray[np.int64]:
        """The node of each device: its host, or the hosts that NVLinks join to one (`sim.topology.nodes`)."""
        return nodes_of(self.places[0], link_kinds(self.links), self.ends)

    @cached_property
    def shared(self) -> NDArray[np.bool_]:
        """Which links both directions use."""
        return shared_by_both(self.links)

    @cached_property
    def bandwidth(self) -> Floats:
        """B/s per link."""
        if isinstance(self.links, LinkColumns):
            return self.links.bandwidth
        return np.array([link.bandwidth for link in self.links], dtype=np.float64)

    @cached_property
    def latency(self) -> Floats:
        """Seconds per link."""
        if isinstance(self.links, LinkColumns):
            return self.links.latency
        return np.array([link.latency for link in self.links], dtype=np.float64)

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Device indices of every link's src and dst."""
        if isinstance(self.links, LinkColumns):
            return self.links.ends
        src = np.array([self.index[link.src] for link in self.links], dtype=np.int32)
        dst = np.array([self.index[link.dst] for link in self.links], dtype=np.int32)
        return src, dst

    def routes(self, src: Sequence[int] | Ints, dst: Sequence[int] | Ints) -> Routes:
        """The route of every pair of device indices. Raises InputError for a pair nothing connects."""
        a, b = np.asarray(src, dtype=np.int32), np.asarray(dst, dtype=np.int32)
        return self._again(a.tobytes(), b.tobytes()) if len(a) <= PAIRS_KEPT else self._route(a, b)

    @cached_property
    def _again(self) -> Callable[[bytes, bytes], Routes]:
        """Routes of few pairs, kept: every size and fault of one algorithm asks for the same."""

        @lru_cache(ROUTES_KEPT)
        def again(src: bytes, dst: bytes) -> Routes:
            routes = self._route(np.frombuffer(src, np.int32), np.frombuffer(dst, np.int32))
            for part in routes:
                part.setflags(write=False)
            return routes

        return again

    @cached_property
    def _route(self) -> Router:
        return self.router or shortest_routes(self)

    def hops(self, n: int) -> float:
        """Links that a message among the first n ranks crosses, in the mean of some pairs."""
        ranks = np.array(self.ranks[:n], np.int32)
        if not len(ranks):
            return 0.0
        at = np.arange(PAIRS_LOOKED_AT) * 7919
        try:
            offsets, _ = self.routes(ranks[at % len(ranks)], ranks[(at + 1 + at // 3) % len(ranks)])
        except InputError:  # some are not joined, which may not matter to who asks
            return 4.0
        return float(np.diff(offsets).mean())

    def path(self, src: str, dst: str) -> tuple[Link, ...]:
        """The links from one named device to another.

        >>> from sim.machines import build
        >>> [link.dst for link in build("switch:ranks=4").path("GPU0", "GPU3")]
        ['SW', 'GPU3']
        """
        for name in (src, dst):
            if name not in self.index:
                raise InputError("machine.no_device_called", topology=self.name, name=name)
        _, links = self.routes([self.index[src]], [self.index[dst]])
        return tuple(self.links[i] for i in links)
