"""Ranks that stay alike on a machine that tells others apart: one of each orbit stands for all of it.

A part of a schedule's renamings is left: of a digit's, those that add a multiple of some divisor of its size. Ranks
that these rename to each other are an orbit; one slow NIC leaves the ranks of every host alike, and hosts differ.
Pairs of ranks are of one class when the same renaming leads from sender to receiver and the senders are of one orbit.
As in `sim.symmetry.link_classes`, links are of one class when they are equally wide, the same faults affect them, and
as many pairs of every class cross each; if the routes of a class of pairs cross the same classes of links and have the
same latency, its flows begin together, get equal shares and end together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints, each_once
from sim.base.ragged import offsets_of, ranges, row_numbers, take
from sim.fabric.memory import leads
from sim.faults import Perturbation
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.renamings import Numbers
from sim.topology import Routes, Topology
from sim.topology.devices import DeviceColumns, LinkColumns, Make

LOOKED_AT = 1 << 25
"""Hops of routes that are looked at in all while renamings are tried."""
MIX = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)


@dataclass(frozen=True, eq=False)
class Orbits:
    """Ranks that are alike, and what the machine is for one of each orbit.

    `of[rank]` is a rank's orbit, a row of `members` the ranks of an orbit. `link_of[link]` is a link's class, and
    `machine` has a link for each class, which carries `common[c]` times less than one of its links. The pair of the
    k-th kind of receiver and of orbit o has route `k * orbits + o` of `routes`, with a lead of so many s.
    """

    of: Numbers
    members: Numbers
    link_of: Numbers
    common: Numbers
    machine: Topology
    routes: Routes
    lead: Floats

    @property
    def copies(self) -> int:
        """How many ranks an orbit has."""
        return int(self.members.shape[1])


class _AllHops(NamedTuple):
    """The routes of all pairs, those of every renaming in turn and of every rank in it."""

    offsets: NDArray[np.int64]
    links: Ints
    lead: Floats


class _Crossings(NamedTuple):
    """`times[e]` pairs of class `pair[e]` cross link `link[e]`; sorted by links, then by pairs. `start` is per link."""

    link: Numbers
    pair: Numbers
    times: Numbers
    start: Numbers


def orbits_of(
    topology: Topology, schedule: FoldedSchedule, perturbations: Sequence[Perturbation] = ()
) -> Orbits | None:
    """The largest orbits that are found; None where every rank is alone, or it cannot be told that it is not."""
    if any(perturbation.late or (perturbation.process and not perturbation.links) for perturbation in perturbations):
        return None
    for perturbation in perturbations:
        topology = perturbation.machine(topology)
    colours = _colours(topology, perturbations)
    turns = each_once(schedule.turn)
    if len(turns) * schedule.n > LOOKED_AT:
        return None
    hops = _hops(topology, schedule, turns)
    budget = LOOKED_AT // max(1, len(hops.links))
    sizes = schedule.symmetry.turns
    chosen = list(sizes)
    for digit, size in enumerate(sizes):
        for step in divisors(size):
            budget -= 1
            if budget < 0:
                return None
            alone = [step if other == digit else whole for other, whole in enumerate(sizes)]
            if _Attempt(topology, schedule, turns, hops, colours, alone).classes() is not None:
                chosen[digit] = step
                break
    if math.prod(chosen) == schedule.n:
        return None
    return _Attempt(topology, schedule, turns, hops, colours, chosen).made()


def divisors(size: int) -> list[int]:
    """Those below it, the smallest first.

    >>> divisors(12)
    [1, 2, 3, 4, 6]
    """
    small = [step for step in range(1, math.isqrt(size) + 1) if size % step == 0]
    return sorted({*small, *(size // step for step in small)} - {size})


def _colours(topology: Topology, perturbations: Sequence[Perturbation]) -> Numbers:
    """Numbers that are equal for links of one bandwidth on which the same perturbations bear."""
    colours = np.unique(topology.bandwidth, return_inverse=True)[1].astype(np.int64)
    for perturbation in perturbations:
        borne = np.zeros(len(colours), np.int64)
        if perturbation.links:
            borne[np.asarray(perturbation.links(topology), np.int64)] = 1
        colours = np.unique(2 * colours + borne, return_inverse=True)[1].astype(np.int64)
    return colours


def _hops(topology: Topology, schedule: FoldedSchedule, turns: Numbers) -> _AllHops:
    ranks, devices = np.arange(schedule.n), np.array(topology.ranks[: schedule.n], np.int32)
    receivers = schedule.symmetry.ranks.turned(ranks, turns.reshape(-1, 1))
    routes = topology.routes(np.tile(devices, len(turns)), devices[receivers.reshape(-1)])
    return _AllHops(routes.offsets.astype(np.int64), routes.links, leads(topology, routes))


@dataclass(frozen=True, eq=False)
class _Attempt:
    """Whether multiples of so many `steps` in each digit leave the machine as it is."""

    topology: Topology
    schedule: FoldedSchedule
    turns: Numbers
    hops: _AllHops
    colours: Numbers
    steps: Sequence[int]

    @property
    def count(self) -> int:
        """How many orbits there would be."""
        return math.prod(self.steps)

    @property
    def of(self) -> Numbers:
        """Every rank's orbit: its number with every digit reduced."""
        rest, orbit, place = np.arange(self.schedule.n), np.zeros(self.schedule.n, np.int64), 1
        for size, step in zip(self.schedule.symmetry.turns[::-1], list(self.steps)[::-1], strict=True):
            rest, digit = np.divmod(rest, size)
            orbit += digit % step * place
            place *= step
        return orbit

    def members(self, of: Numbers) -> Numbers:
        """The ranks of every orbit, a row each."""
        return np.argsort(of, kind="stable").reshape(self.count, -1)

    def classes(self) -> tuple[Numbers, _Crossings] | None:
        """Every link's class, and what crosses it; None where routes of one class of pairs differ."""
        of, (offsets, links, lead) = self.of, self.hops
        n, length = self.schedule.n, np.diff(offsets)
        kind = np.repeat(np.arange(len(self.turns)), n)
        first = kind * n + np.tile(self.members(of)[:, 0][of], len(self.turns))
        if (length != length[first]).any() or (lead != lead[first]).any():
            return None
        pair = kind * self.count + np.tile(of, len(self.turns))
        crossings = self._crossings(np.repeat(pair, length))
        link_of = _alike(self.colours, crossings)
        if link_of is None:
            return None
        crossed = link_of[links]
        return None if (crossed != crossed[ranges(offsets[:-1][first], length)]).any() else (link_of, crossings)

    def _crossings(self, pair: Numbers) -> _Crossings:
        pairs = len(self.turns) * self.count
        key, count = np.unique(self.hops.links * np.int64(pairs) + pair, return_counts=True)
        link, pair = np.divmod(key, pairs)
        return _Crossings(link, pair, count, np.searchsorted(link, np.arange(len(self.colours) + 1)))

    def made(self) -> Orbits | None:
        """The orbits, with a machine of one link per class."""
        classes = self.classes()
        if classes is None:
            return None
        link_of, crossings = classes
        of, first = self.of, np.unique(link_of, return_index=True)[1]
        members = self.members(of)
        common = np.ones(len(self.colours), np.int64)
        crossed = np.flatnonzero(np.diff(crossings.start))
        if crossed.size:
            common[crossed] = np.gcd.reduceat(crossings.times, crossings.start[crossed])
        pairs = len(self.turns) * self.count
        rows = (np.arange(len(self.turns)).reshape(-1, 1) * self.schedule.n + members[:, 0]).reshape(-1)
        offsets, links = take(self.hops.offsets, self.hops.links, rows)
        row = row_numbers(offsets)
        met = np.sort(np.unique(row * len(first) + link_of[links], return_index=True)[1])
        row, way = row[met], link_of[links[met]]
        at = np.searchsorted(crossings.link * pairs + crossings.pair, first[way] * pairs + row)
        times = crossings.times[at] // common[first[way]]
        ends = offsets_of(np.bincount(row, times, pairs).astype(np.int64)).astype(np.int32)
        return Orbits(
            of=of,
            members=members,
            link_of=link_of,
            common=common[first],
            machine=_machine(self.topology, self.topology.bandwidth[first] / common[first]),
            routes=Routes(ends, np.repeat(way, times).astype(np.int32)),
            lead=self.hops.lead[rows],
        )


def _alike(colours: Numbers, crossings: _Crossings) -> Numbers | None:
    """Classes of links of one colour that as many pairs of every class cross.

    They are found by sums of scrambled numbers and then compared; None where two that differ had the same sum.
    """
    total = _scrambled(colours.astype(np.uint64))
    crossed = np.flatnonzero(np.diff(crossings.start))
    if crossed.size:
        words = _scrambled(_scrambled(crossings.pair.astype(np.uint64)) + crossings.times.astype(np.uint64))
        total[crossed] += np.add.reduceat(words, crossings.start[crossed])
    _, first, of = np.unique(total, return_index=True, return_inverse=True)
    like, length = first[of], np.diff(crossings.start)
    if (colours != colours[like]).any() or (length != length[like]).any():
        return None
    other = ranges(crossings.start[:-1][like], length)
    same = (crossings.pair == crossings.pair[other]) & (crossings.times == crossings.times[other])
    return of.astype(np.int64) if same.all() else None


def _scrambled(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Words of which no two are the same, as if drawn (splitmix64)."""
    mixed = (words + np.uint64(1)) * MIX[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * MIX[1]
    mixed = (mixed ^ (mixed >> np.uint64(27))) * MIX[2]
    drawn: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return drawn


def _machine(topology: Topology, bandwidth: Floats) -> Topology:
    """A machine of so many links, B/s each; who is at their ends does not matter, nor does their latency."""
    nobody = np.zeros(len(bandwidth), np.int32)
    device = DeviceColumns((Make("alike", "GPU"),), np.zeros(1, np.uint8), nobody[:1], nobody[:1])
    links = LinkColumns(device, (nobody, nobody), bandwidth, np.zeros(len(bandwidth)), nobody.astype(np.uint8))
    return Topology(topology.name, device, links, overhead=topology.overhead, gamma=topology.gamma)
