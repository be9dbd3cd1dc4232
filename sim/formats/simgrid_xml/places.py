"""Where SimGrid's links lie: a platform only lists which links a route crosses, not where they begin and end.

Each link gets two ends, and ends that follow each other on a route become one junction, so that every route is
a connected way through the machine. Where that would enter a link at a foreign host, or join both ends of a link,
a free wire or a gate (a link with ends of its own, crossed one way by all) keeps them apart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.topology import Device, Link
from sim.units import LARGEST_BANDWIDTH

SHARED, SPLITDUPLEX, FATPIPE = "SHARED", "SPLITDUPLEX", "FATPIPE"


@dataclass(frozen=True, slots=True)
class Cable:
    """A link of the platform, in B/s and s; SPLITDUPLEX is two capacities, FATPIPE none that flows share."""

    name: str
    bandwidth: float
    latency: float
    policy: str


class Hop(NamedTuple):
    """A cable on a route; `way` 1 is up, -1 down, 0 where it makes no difference. `fixed` does not turn round."""

    cable: int
    way: int = 0
    fixed: bool = False

    def back(self) -> "Hop":
        """The same hop on the way back."""
        return self if self.fixed else self._replace(way=-self.way)


class Crossing(NamedTuple):
    """What a route crosses: a cable from its end 0 to its end 1 (`forth`) or back, or a wire between two nodes."""

    cable: int
    forth: bool
    wire: tuple[int, int] = (-1, -1)


@dataclass(slots=True, eq=False)
class Places:
    """Nodes, which of them are one, and where every cable ends."""

    cables: Sequence[Cable]
    gates: set[int] = field(default_factory=set)
    one_way: set[int] = field(default_factory=set)
    """Cables that all cross from end 0 to end 1, whichever way they travel."""
    names: list[str] = field(default_factory=list)
    host: list[bool] = field(default_factory=list)
    fixed: dict[str, int] = field(default_factory=dict)
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)
    wires: dict[tuple[int, int], None] = field(default_factory=dict)
    _parent: list[int] = field(default_factory=list)
    _at: list[set[int]] = field(default_factory=list)
    """Per node that stands for its class: the cables that end there."""

    def node(self, name: str, *, host: bool = False) -> int:
        """The node of a host or router."""
        if name not in self.fixed:
            self.fixed[name] = self._new(name, host=host)
        return self.fixed[name]

    def lay(self, cable: int, a: int, b: int, *, one_way: bool = False) -> None:
        """Say that a cable runs from one node to another."""
        self.ends[cable] = (a, b)
        if one_way:
            self.one_way.add(cable)
        self._at[self.find(a)].add(cable)
        self._at[self.find(b)].add(cable)

    def find(self, node: int) -> int:
        """The node that stands for all that are one with this."""
        while self._parent[node] != node:
            self._parent[node] = self._parent[self._parent[node]]
            node = self._parent[node]
        return node

    def walk(self, a: int, hops: Iterable[Hop], b: int) -> list[Crossing]:
        """A connected way from a to b over the hops. Cables that fit nowhere become gates."""
        steps: list[Crossing] = []
        here, hops = a, list(hops)
        for i, hop in enumerate(hops):
            here = self._cross(steps, here, hop, b if i == len(hops) - 1 else -1)
        if self.find(here) != self.find(b):
            if self._may_join(here, b):
                self._join(here, b)
            else:
                steps.append(self.wire(here, b))
        return steps

    def wire(self, a: int, b: int) -> Crossing:
        """A way between two nodes that costs nothing and never fills."""
        self.wires[a, b] = None
        return Crossing(-1, True, (a, b))

    def _cross(self, steps: list[Crossing], here: int, hop: Hop, last: int) -> int:
        """Cross one cable; returns where that leads."""
        if hop.cable not in self.ends:
            self.lay(hop.cable, self._new(""), self._new(""))
        best = min((self._cost(here, hop, way, last), -way) for way in ((1, -1) if hop.way == 0 else (hop.way,)))
        if best[0] == _NEVER:
            self.gates.add(hop.cable)
            self.lay(hop.cable, self._new(""), self._new(""))
            best = (_WIRED, -1)
        forth = best[1] == -1
        entry, leave = self.ends[hop.cable] if forth else self.ends[hop.cable][::-1]
        if best[0] % _PASSING == _JOINED:
            self._join(here, entry)
        elif best[0] % _PASSING == _WIRED:
            steps.append(self.wire(here, entry))
        steps.append(Crossing(hop.cable, forth))
        return leave

    def _cost(self, here: int, hop: Hop, way: int, last: int) -> int:
        """How well a cable can be entered here in one direction."""
        entry, leave = self.ends[hop.cable][::way]
        if hop.cable in self.gates:
            return _WIRED if way == 1 or hop.way else _NEVER
        end = self.find(leave)
        if way == -1 and hop.cable in self.one_way:
            return _NEVER
        passing = _PASSING if self.host[end] and (last < 0 or end != self.find(last)) else 0
        if self.find(entry) == self.find(here):
            return _MET + passing
        if self._may_join(here, entry):
            return _JOINED + passing
        return _NEVER if self.host[self.find(entry)] else _WIRED + passing

    def _new(self, name: str, *, host: bool = False) -> int:
        self.names.append(name)
        self.host.append(host)
        self._parent.append(len(self._parent))
        self._at.append(set())
        return len(self._parent) - 1

    def _may_join(self, a: int, b: int) -> bool:
        a, b = self.find(a), self.find(b)
        if (self.names[a] and self.names[b]) or not self._at[a].isdisjoint(self._at[b]):
            return False
        if self._at[a] & self.gates or self._at[b] & self.gates:
            return False
        # a host takes only ends that nobody passes through
        return not (self.host[a] and len(self._at[b]) > 1) and not (self.host[b] and len(self._at[a]) > 1)

    def _join(self, a: int, b: int) -> None:
        a, b = self.find(a), self.find(b)
        if self.names[b]:
            a, b = b, a
        self._parent[b] = a
        self._at[a] |= self._at[b]


_MET, _JOINED, _WIRED, _PASSING = range(4)
_NEVER = 2 * _PASSING
"""How well a cable fits; one that leads on through a host it is not for comes after all that do not."""


@dataclass(slots=True, eq=False)
class Laid:
    """Devices and links of the finished places, and which link each step is."""

    devices: list[Device]
    links: list[Link]
    first: dict[int, int]
    wired: dict[tuple[int, int], int]
    cables: Sequence[Cable]

    def links_of(self, steps: Iterable[Crossing]) -> list[int]:
        """The links that steps cross; wires between what became one place vanish."""
        links = []
        for step in steps:
            if step.cable < 0:
                if step.wire in self.wired:
                    links.append(self.wired[step.wire])
            else:
                back = not step.forth and self.cables[step.cable].policy == SPLITDUPLEX
                links.append(self.first[step.cable] + back)
        return links


def lay_out(places: Places, hosts: Sequence[str]) -> Laid:
    """Devices and links: hosts in order, then whatever some cable or wire ends at."""
    devices = [Device(name, "GPU", host=i) for i, name in enumerate(hosts)]
    at = {places.find(places.node(name, host=True)): i for i, name in enumerate(hosts)}
    taken = {*hosts, *(name for name in places.names if name)}
    count = 0

    def device(node: int, hint: str) -> str:
        nonlocal count
        node = places.find(node)
        if node not in at:
            name = places.names[node] or hint
            while not places.names[node] and (not name or name in taken):
                name, count = f"J{count}", count + 1
            taken.add(name)
            at[node] = len(devices)
            devices.append(Device(name, "NET", host=-1))
        return devices[at[node]].name

    links: list[Link] = []
    first: dict[int, int] = {}
    for i, cable in enumerate(places.cables):
        if i not in places.ends:
            continue
        gate = i in places.gates
        both = cable.policy != SPLITDUPLEX and not gate and i not in places.one_way
        hints = (f"{cable.name} in", f"{cable.name} out") if gate else ("", "")
        a, b = (device(end, hint) for end, hint in zip(places.ends[i], hints, strict=True))
        first[i] = len(links)
        rate = LARGEST_BANDWIDTH if cable.policy == FATPIPE else cable.bandwidth
        links.append(Link(a, b, rate, cable.latency, "NET", both))
        if cable.policy == SPLITDUPLEX:
            links.append(Link(b, a, rate, cable.latency, "NET"))
    wired: dict[tuple[int, int], int] = {}
    for x, y in places.wires:
        if places.find(x) != places.find(y):
            wired[x, y] = len(links)
            links.append(Link(device(x, ""), device(y, ""), LARGEST_BANDWIDTH, 0.0, "NET"))
    return Laid(devices, links, first, wired, places.cables)
