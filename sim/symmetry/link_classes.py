"""What a machine is for ranks that do alike: classes of links that all carry alike, each of which is simulated once.

Pairs of ranks that do the same are a class, too: of a folded schedule those that are renamings of each other. Links are
of one class when they are equally wide and as many pairs of every class cross each of them. If the routes of a class of
pairs cross the same classes of links in the same order and have the same latency, flows that begin together get equal
shares: max-min fairness knows no names.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints, each_once
from sim.base.ragged import take
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.renamings import Numbers
from sim.topology import Device, Link, Routes, Topology

KEPT = 1 << 25
"""Hops of routes that are kept between the two times they are looked at."""
UNBOUNDED = 1e300
"""B/s of what stands for latencies alone."""


@dataclass(frozen=True, eq=False)
class LinkClasses:
    """`of[link]` is a link's class; `load[pair, c]` says how many flows of one class of pairs each link of class c has.

    `turns` are the classes of pairs, by the renaming from the sender to the receiver; `machine` is the machine on which
    rank 0 of the folded schedule runs: device 0 is the rank, device k + 1 the receiver of turn k.
    """

    of: Numbers
    first: Numbers
    load: NDArray[np.int64]
    turns: Numbers
    machine: Topology


class PairsOfDevices(Protocol):
    """Classes of pairs of devices."""

    def __len__(self) -> int:
        """How many classes there are."""

    def ends(self, k: int) -> tuple[Ints, Ints]:
        """Senders and receivers of all pairs of class k."""


class PairClasses(NamedTuple):
    """`of`, `first` and `load` as `LinkClasses` has them; the classes each class of pairs crosses, its latency in s."""

    of: Numbers
    first: Numbers
    load: NDArray[np.int64]
    routes: list[list[int]]
    latency: list[float]

    @property
    def common(self) -> list[int]:
        """Per class of links what its numbers of flows have as their greatest common divisor; 1 where it has none."""
        return [max(1, math.gcd(*self.load[:, c].tolist())) for c in range(len(self.first))]


class _Hops(NamedTuple):
    """The routes of all pairs of one class, a row of links each, and their latencies, s."""

    links: Ints
    latency: Floats


@dataclass(frozen=True, eq=False)
class _Renamed:
    """Pairs of a folded schedule's ranks, a class for each renaming from sender to receiver."""

    topology: Topology
    schedule: FoldedSchedule
    turns: Numbers

    def __len__(self) -> int:
        return len(self.turns)

    def ends(self, k: int) -> tuple[Ints, Ints]:
        n = self.schedule.n
        devices = np.array(self.topology.ranks[:n], np.int32)
        return devices, devices[self.schedule.symmetry.ranks.turned(np.arange(n), self.turns[k])]


def link_classes(topology: Topology, schedule: FoldedSchedule) -> LinkClasses | None:
    """The classes of links; None where the machine does not look the same from every rank."""
    turns = each_once(schedule.turn[schedule.turn != 0])
    classes = pair_classes(topology, _Renamed(topology, schedule, turns))
    if classes is None:
        return None
    names = ["0", *(f"+{k}" for k in range(len(turns)))]
    ends = [(0, k + 1) for k in range(len(turns))]
    return LinkClasses(classes.of, classes.first, classes.load, turns, quotient(topology, classes, names, ends, 1))


def pair_classes(topology: Topology, pairs: PairsOfDevices, colours: Numbers | None = None) -> PairClasses | None:
    """The classes of links for classes of pairs; None where routes of one class differ in more than names.

    Links of different `colours` are of different classes; without them those of unequal bandwidth are.
    """
    wide = np.unique(topology.bandwidth, return_inverse=True)[1]
    of = wide if colours is None else wide * (int(colours.max(initial=0)) + 1) + colours
    first = _firsts(of)
    loads: list[tuple[Numbers, Numbers]] = []
    latency = []
    kept: list[_Hops] = []
    for hops in _all_hops(topology, pairs):
        if hops is None or (hops.latency != hops.latency[0]).any():
            return None
        crossing = np.bincount(hops.links.reshape(-1), minlength=len(topology.links))
        crossed = np.flatnonzero(crossing)
        if (crossing != crossing[first[of]]).any():
            of = _apart(of, crossed, crossing[crossed])
            first = _firsts(of)
        loads.append((crossed, crossing[crossed]))
        latency.append(float(hops.latency[0]))
        kept += [hops] if hops.links.size * len(pairs) <= KEPT else []
    first, of = np.unique(of, return_index=True, return_inverse=True)[1:]
    routes: list[list[int]] = []
    for hops in kept if len(kept) == len(pairs) else _all_hops(topology, pairs):
        assert hops is not None
        classes = of[hops.links]
        if (classes != classes[0]).any():
            return None
        routes.append(list(dict.fromkeys(classes[0].tolist())))
    load = np.zeros((len(pairs), len(first)), np.int64)
    for row, (crossed, count) in zip(load, loads, strict=True):
        row[of[crossed]] = count
    return PairClasses(of, first, load, routes, latency)


def _all_hops(topology: Topology, pairs: PairsOfDevices) -> Iterator[_Hops | None]:
    """The routes of every class of pairs in turn; None where they are not equally long."""
    for k in range(len(pairs)):
        src, dst = pairs.ends(k)
        offsets, links = topology.routes(src, dst)
        length = int(offsets[1])
        if (np.diff(offsets) != length).any():
            yield None
            return
        hops = links.reshape(len(src), length)
        yield _Hops(hops, topology.latency[hops].sum(axis=1))


def _firsts(of: Numbers) -> Numbers:
    """The first link of every class, by its number; whatever where there is no class of a number."""
    first = np.zeros(int(of.max(initial=-1)) + 1, np.int64)
    first[of[::-1]] = np.arange(len(of))[::-1]
    return first


def _apart(of: Numbers, crossed: Numbers, crossing: Numbers) -> Numbers:
    """Classes that are parted by how many flows cross their links; those that none cross keep their numbers."""
    which = np.unique(of[crossed] * (int(crossing.max(initial=0)) + 1) + crossing, return_inverse=True)[1]
    parted = of.copy()
    parted[crossed] = int(of.max(initial=-1)) + 1 + which
    return parted


def quotient(
    topology: Topology, classes: PairClasses, names: Sequence[str], ends: Sequence[tuple[int, int]], ranks: int
) -> Topology:
    """One link for each class, which offers each flow its share: a link that n flows cross at once is crossed n times.

    Numbers of crossings that have a common divisor are divided by it, and the bandwidth with them. The latency of a
    route is that of a link of its own. `names` are those of devices, the first `ranks` of which are ranks; pairs of
    class k go from one to the other of `ends[k]`.
    """
    devices = tuple(Device(name, "GPU") for name in names)
    common = classes.common
    links = [
        Link(names[0], names[0], float(topology.bandwidth[link]) / divisor, 0.0, topology.links[link].kind)
        for link, divisor in zip(classes.first.tolist(), common, strict=True)
    ]
    ways: list[int] = []
    offsets = [0]
    for k, (src, dst) in enumerate(ends):
        for c in classes.routes[k]:
            ways += [c] * (int(classes.load[k, c]) // common[c])
        ways.append(len(links))
        kind = links[classes.routes[k][0]].kind if classes.routes[k] else "NVL"
        links.append(Link(names[src], names[dst], UNBOUNDED, classes.latency[k], kind))
        offsets.append(len(ways))
    key = np.array([src * len(names) + dst for src, dst in ends], np.int64)
    order = np.argsort(key)
    key = key[order]
    stored = np.array([0, *offsets], np.int32), np.array(ways, np.int32)

    def route(src: Ints, dst: Ints) -> Routes:
        away = np.flatnonzero(src != dst)
        pair = np.zeros(len(src), np.int64)
        route_key = src[away].astype(np.int64) * len(names) + dst[away]
        place = np.minimum(np.searchsorted(key, route_key), len(key) - 1)
        assert (key[place] == route_key).all(), "a pair that is of no class"
        pair[away] = 1 + order[place]
        return Routes(*take(*stored, pair))

    return Topology(
        topology.name, devices, tuple(links), ranks=tuple(range(ranks)),
        overhead=topology.overhead, gamma=topology.gamma, router=route,
    )  # fmt: skip
