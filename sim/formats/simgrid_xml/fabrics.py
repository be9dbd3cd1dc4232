"""SimGrid's clusters built by rule: torus, fat tree, dragonfly, with the routes SimGrid takes through them.

Rules are those of SimGrid 3.32 and 4.1 (`src/kernel/routing`): dimension order and the shorter way round on a
torus, D-mod-k up and straight down in a fat tree, minimal routes by way of each group's own gateway router in a
dragonfly.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import NoReturn

from sim.base.size import room_for
from sim.errors import InputError, Message
from sim.formats.simgrid_xml.places import SHARED, Cable, Crossing, Hop, Places
from sim.formats.simgrid_xml.platform import Fabric, Platform, Zone

Way = list[tuple[int, int, Hop]]
"""Where a route goes: from node to node, and by which hop, one after the other."""


@dataclass(slots=True, eq=False)
class ZoneGrid(ABC):
    """Nodes (hosts first, then routers) and the numbered hops between them."""

    platform: Platform
    zone: Zone
    fabric: Fabric
    names: list[str]
    hops: dict[tuple[int, int, int], Hop] = field(default_factory=dict)
    """From node to node by the nth parallel cable."""
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The nodes a cable joins."""
    limiter: dict[int, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def cable(self, a: int, b: int, nth: int = 0, times: int = 1) -> None:
        """A cable whose way up leads from a to b, `times` as wide as the cluster's links."""
        link = self.fabric.link
        name = f"{link.name}:{self.names[a]}-{self.names[b]}" + (f"#{nth}" if nth else "")
        cable = Cable(name, link.bandwidth * times, link.latency, link.policy)
        number = self.platform.add_cable(self.fabric.element, cable)
        way = 0 if link.policy == SHARED else 1
        self.hops[a, b, nth], self.hops[b, a, nth] = Hop(number, way), Hop(number, -way)
        self.ends[number] = (a, b)

    def limit(self, nodes: int) -> None:
        """Give the first nodes the link of their own that all their traffic crosses, if the cluster has such."""
        for node in range(nodes if self.fabric.limiter else 0):
            cable = Cable(f"{self.names[node]} limiter", self.fabric.limiter, 0.0, SHARED)
            self.limiter[node] = self.platform.add_cable(self.fabric.element, cable)

    @property
    def number(self) -> dict[str, int]:
        """Which node a host is."""
        if not self.numbers:
            self.numbers.update({name: i for i, name in enumerate(self.zone.hosts)})
        return self.numbers

    @abstractmethod
    def way(self, src: int, dst: int) -> Way:
        """The route between two hosts."""

    def lay(self, places: Places) -> None:
        """Put hosts, routers and cables in their places."""
        ports = [self.port(places, node) for node in range(len(self.names))]
        for cable, (a, b) in self.ends.items():
            places.lay(cable, ports[a], ports[b])
        for node, cable in self.limiter.items():
            inside, outside = (places.node(f"{self.names[node]} {side}") for side in ("in", "out"))
            places.lay(cable, inside, outside, one_way=True)
            own = places.node(self.names[node])
            for a, b in ((own, inside), (ports[node], inside), (outside, own), (outside, ports[node])):
                places.wire(a, b)
        for x, y in self.jumps():
            places.wire(ports[x], ports[y])

    def steps(self, places: Places, src: int, dst: int) -> list[Crossing]:
        """What the route between two hosts crosses; every limited node on it costs its limiter once."""
        crossings: list[Crossing] = []
        here = src
        for a, b, hop in self.way(src, dst):
            if a != here:
                crossings.append(places.wire(self.port(places, here), self.port(places, a)))
            crossings += self._through(places, a, first=a == src)
            crossings.append(Crossing(hop.cable, hop.way == 1 or (hop.way == 0 and self.ends[hop.cable][0] == a)))
            here = b
        return crossings + self._through(places, dst, last=True)

    def jumps(self) -> Iterator[tuple[int, int]]:
        """Nodes that SimGrid's routes join without a link."""
        return iter(())

    def port(self, places: Places, node: int) -> int:
        """Where the cables of a node end."""
        name = self.names[node]
        return places.node(f"{name} port" if node in self.limiter and node < len(self.zone.hosts) else name)

    def _through(self, places: Places, node: int, *, first: bool = False, last: bool = False) -> list[Crossing]:
        if node not in self.limiter:
            return []
        cable = self.limiter[node]
        inside, outside = places.ends[cable]
        own, port = places.node(self.names[node]), self.port(places, node)
        return [
            places.wire(own if first else port, inside),
            Crossing(cable, True),
            places.wire(outside, own if last else port),
        ]


@dataclass(slots=True, eq=False)
class Torus(ZoneGrid):
    """`X,Y,Z`: neighbours along every dimension, ends joined."""

    dims: list[int] = field(default_factory=list)

    @classmethod
    def build(cls, platform: Platform, zone: Zone, fabric: Fabric) -> "Torus":
        """Raises InputError when the dimensions do not multiply to the hosts."""
        dims = _numbers(platform, zone, fabric, r"\d+(,\d+)*", "3,2,2")[0]
        _expect(platform, zone, math.prod(dims), len(zone.hosts))
        grid = cls(platform, zone, fabric, list(zone.hosts), dims=dims)
        grid.limit(len(zone.hosts))
        for node in range(len(zone.hosts)):
            for stride, size in _strides(dims):
                onward = _along(node, stride, size, 1)
                if size > 1:  # two nodes have two cables, one from each
                    grid.cable(node, onward, int(size == 2 and onward < node))
        return grid

    def way(self, src: int, dst: int) -> Way:
        """Dimension after dimension, the shorter way round."""
        hops: Way = []
        here = src
        for stride, size in _strides(self.dims):
            start, end = src // stride % size, dst // stride % size
            half = size // 2
            right = start < end <= start + half or (start > half and (start + half) % size >= end)
            while here // stride % size != end:
                onward = _along(here, stride, size, 1 if right else -1)
                wrapped = size == 2 and (onward < here if right else onward > here)
                hops.append((here, onward, self.hops[here, onward, int(wrapped)]))
                here = onward
        return hops


@dataclass(slots=True, eq=False)
class FatTree(ZoneGrid):
    """`levels;down,..;up,..;count,..`: a node's children, parents and parallel cables, level by level."""

    down: list[int] = field(default_factory=list)
    up: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    """The first node of each level; its label counts its place, lowest digit first."""

    @classmethod
    def build(cls, platform: Platform, zone: Zone, fabric: Fabric) -> "FatTree":
        """Raises InputError when the levels do not fit each other or the hosts."""
        (levels,), down, up, count = _numbers(platform, zone, fabric, r"\d+(;\d+(,\d+)*){3}", "2;4,4;1,2;1,2")
        if not levels or any(len(part) != levels for part in (down, up, count)) or 0 in (*down, *up, *count):
            _refuse(platform, zone, "simgrid.levels", levels=levels)
        _expect(platform, zone, math.prod(down), len(zone.hosts))
        sizes = [math.prod(up[:level]) * math.prod(down[level:]) for level in range(levels + 1)]
        cables = sum(size * parents * n for size, parents, n in zip(sizes, up, count, strict=False))
        _bounded(platform, zone, sum(sizes), cables)
        names = zone.hosts + [f"{zone.name} L{k}.{i}" for k in range(1, levels + 1) for i in range(sizes[k])]
        first = [sum(sizes[:level]) for level in range(levels + 1)]
        grid = cls(platform, zone, fabric, names, down=down, up=up, count=count, first=first)
        grid.limit(len(names))
        for level in range(levels):
            for place in range(sizes[level]):
                label = grid.label(level, place)
                for parent in range(up[level]):
                    above = grid.node(level + 1, [*label[:level], parent, *label[level + 1 :]])
                    for nth in range(count[level]):
                        grid.cable(grid.first[level] + place, above, nth)
        return grid

    def radix(self, level: int) -> list[int]:
        """How many values each digit of a label has on a level: parents below it, children above."""
        return [*self.up[:level], *self.down[level:]]

    def label(self, level: int, place: int) -> list[int]:
        """The digits of a place on a level."""
        digits = []
        for size in self.radix(level):
            digits.append(place % size)
            place //= size
        return digits

    def node(self, level: int, label: list[int]) -> int:
        """The node with a label."""
        place = 0
        for digit, size in zip(reversed(label), reversed(self.radix(level)), strict=True):
            place = place * size + digit
        return self.first[level] + place

    def way(self, src: int, dst: int) -> Way:
        """Up, each time by the port the destination's number picks, until it lies below; then straight down."""
        label, target = self.label(0, src), self.label(0, dst)
        hops: Way = []
        here, level, left = src, 0, dst
        while label[level:] != target[level:]:
            ports = self.up[level] * self.count[level]
            port = left % ports
            left //= ports
            label = [*label[:level], port % self.up[level], *label[level + 1 :]]
            level += 1
            onward = self.node(level, label)
            hops.append((here, onward, self.hops[here, onward, port // self.up[level - 1]]))
            here = onward
        while level:
            # SimGrid looks for the child from the source's parallel cable on, and keeps its place on the way down
            port = src % self.count[level - 1] * self.down[level - 1]
            while level and port < self.count[level - 1] * self.down[level - 1]:
                if port % self.down[level - 1] == target[level - 1]:
                    nth = port // self.down[level - 1]
                    level -= 1
                    label = [*label[:level], target[level], *label[level + 1 :]]
                    onward = self.node(level, label)
                    hops.append((here, onward, self.hops[here, onward, nth]))
                    here = onward
                port += 1
        return hops


@dataclass(slots=True, eq=False)
class Dragonfly(ZoneGrid):
    """`groups,links;chassis,links;routers,links;nodes`: all routers of a chassis, a column, all groups are joined."""

    chassis: int = 0
    blades: int = 0
    nodes: int = 0

    @classmethod
    def build(cls, platform: Platform, zone: Zone, fabric: Fabric) -> "Dragonfly":
        """Raises InputError when the parameters do not fit the hosts or a group has too few routers."""
        blue, black, green, (nodes,) = _numbers(platform, zone, fabric, r"\d+,\d+;\d+,\d+;\d+,\d+;\d+", "3,4;3,2;3,1;2")
        (groups, blues), (chassis, blacks), (blades, greens) = blue, black, green
        if 0 in (*blue, *black, *green, nodes):
            _refuse(platform, zone, "simgrid.zero")
        _expect(platform, zone, groups * chassis * blades * nodes, len(zone.hosts))
        if groups > 1 and groups > blades:
            _refuse(platform, zone, "simgrid.groups", groups=groups, blades=blades)
        if chassis > 1:
            platform.notes[
                "dragonfly routes are SimGrid's: after a hop in a chassis they go on from the group's first"
            ] = None
        routers = groups * chassis * blades
        _bounded(platform, zone, routers * (nodes + 1), routers * (nodes + blades + chassis + groups))
        hosts = len(zone.hosts)
        names = zone.hosts + [f"{zone.name} R{i}" for i in range(routers)]
        grid = cls(platform, zone, fabric, names, chassis=chassis, blades=blades, nodes=nodes)
        grid.limit(len(names))
        for host in range(hosts):
            grid.cable(host, hosts + host // nodes)
        for group in range(groups):
            grid._join_group(group, greens, blacks)
        for a, b in combinations(range(groups), 2):
            grid.cable(grid.router(a, 0, b), grid.router(b, 0, a), times=blues)
        return grid

    def _join_group(self, group: int, greens: int, blacks: int) -> None:
        """Cables along every chassis of a group, then along every column of blades."""
        for a, b in combinations(range(self.blades), 2):
            for c in range(self.chassis):
                self.cable(self.router(group, c, a), self.router(group, c, b), times=greens)
        for a, b in combinations(range(self.chassis), 2):
            for blade in range(self.blades):
                self.cable(self.router(group, a, blade), self.router(group, b, blade), times=blacks)

    def jumps(self) -> Iterator[tuple[int, int]]:
        """From any chassis to the same blade of the first."""
        routers = len(self.names) - len(self.zone.hosts)
        for group in range(routers // (self.chassis * self.blades)):
            for chassis in range(1, self.chassis):
                for blade in range(self.blades):
                    yield self.router(group, chassis, blade), self.router(group, 0, blade)

    def place(self, host: int) -> tuple[int, int, int]:
        """Group, chassis and blade of a host's router."""
        router = host // self.nodes
        return router // (self.chassis * self.blades), router // self.blades % self.chassis, router % self.blades

    def router(self, group: int, chassis: int, blade: int) -> int:
        """The node of a router."""
        return len(self.zone.hosts) + (group * self.chassis + chassis) * self.blades + blade

    def way(self, src: int, dst: int) -> Way:
        """By the group's router towards the other group, then along the chassis, then across chassis.

        After a hop along a chassis SimGrid goes on from the first chassis of the group, wherever that hop was.
        """
        group, chassis, blade = self.place(src)
        to_group, to_chassis, to_blade = self.place(dst)
        hops: Way = []

        def go(a: int, b: int) -> None:
            hops.append((a, b, self.hops[a, b, 0]))

        here = self.router(group, chassis, blade)
        go(src, here)
        if to_group != group:
            for stop in (
                self.router(group, chassis, to_group),
                self.router(group, 0, to_group),
                self.router(to_group, 0, group),
            ):
                if stop != here:
                    go(here, stop)
                    here = stop
            chassis, blade = 0, group
        if to_blade != blade:
            go(here, self.router(to_group, chassis, to_blade))
            here, chassis = self.router(to_group, 0, to_blade), 0
        if to_chassis != chassis:
            go(here, self.router(to_group, to_chassis, to_blade))
        go(self.router(to_group, to_chassis, to_blade), dst)
        return hops


GRIDS: dict[str, Callable[[Platform, Zone, Fabric], ZoneGrid]] = {
    "TORUS": Torus.build,
    "FAT_TREE": FatTree.build,
    "DRAGONFLY": Dragonfly.build,
}


def grid_of(platform: Platform, zone: Zone, fabric: Fabric) -> ZoneGrid:
    """The grid of a cluster. Raises InputError for a shape that is unknown or does not come out even."""
    if fabric.shape not in GRIDS:
        zone.element.refuse(platform.name, "topology.shape", shape=fabric.shape, choices=("FLAT", *GRIDS))
    return GRIDS[fabric.shape](platform, zone, fabric)


def _numbers(platform: Platform, zone: Zone, fabric: Fabric, pattern: str, example: str) -> list[list[int]]:
    text = re.sub(r"\s", "", fabric.parameters)
    if len(text) > 400 or not re.fullmatch(pattern, text) or re.search(r"\d{7}", text):
        _refuse(platform, zone, "simgrid.parameters", parameters=fabric.parameters, example=example)
    return [[int(number) for number in part.split(",")] for part in text.split(";")]


def _refuse(platform: Platform, zone: Zone, why: str, /, **values: object) -> NoReturn:
    raise InputError("at.place", place=_place(platform, zone), what=Message(why, **values))


def _place(platform: Platform, zone: Zone) -> Message:
    return Message("simgrid.cluster", file=platform.name, line=zone.element.line, zone=zone.name)


def _expect(platform: Platform, zone: Zone, asked_for: int, hosts: int) -> None:
    if asked_for != hosts:
        _refuse(platform, zone, "simgrid.hosts", asked_for=asked_for, hosts=hosts)


def _bounded(platform: Platform, zone: Zone, devices: int, cables: int) -> None:
    room_for(devices, _place(platform, zone), cables)


def _strides(dims: list[int]) -> Iterator[tuple[int, int]]:
    """Per dimension the distance of neighbours and the size."""
    stride = 1
    for size in dims:
        yield stride, size
        stride *= size


def _along(node: int, stride: int, size: int, by: int) -> int:
    """The neighbour of a node along one dimension."""
    at = node // stride % size
    return node + ((at + by) % size - at) * stride
