"""A folded schedule on a machine that tells its ranks apart: every transfer is simulated, and none is written down.

A slow link or another route leaves the schedule as symmetric as it was. So it is proved folded, and what a transfer is
and waits for follows from its class and its rank (`sim.fabric.alike`). Where some ranks are still alike, one of them is
simulated for all of its orbit (`sim.symmetry.orbits`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints, each_once
from sim.engine import NOTHING_HELD, Cluster
from sim.engine.job import Job, check_size
from sim.engine.stall import standing
from sim.errors import InputError, StalledError
from sim.fabric.alike import AlikeArena, Classes
from sim.fabric.kernel import WAVES
from sim.faults import Perturbation
from sim.schedule import Schedule
from sim.schedule.verify import Proof, Verdict
from sim.symmetry.edges import ClassWaits, edges, without_detours
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.orbits import Orbits
from sim.symmetry.renamings import Numbers
from sim.symmetry.rows import Chosen, Moments, exchanged, with_causes, written
from sim.topology import Topology
from sim.trace import Hits, Stall, Timing, Trace

PEERS = 1 << 27
"""Pairs of a renaming and a rank that are written down."""
NUMBERS = 1 << 31
_ROUNDING = 1e-12
"""Part of a moment by which it may be rounded."""
KEPT = 1 << 22
"""Transfers whose moments are kept when somebody asks for them."""


class WrittenOutError(Exception):
    """A run that needs its transfers written down one by one."""


@dataclass(frozen=True, eq=False)
class OrbitRows:
    """A run of which sums alone are kept; its transfers are simulated again when somebody asks for them."""

    topology: Topology
    schedule: FoldedSchedule
    verdict: Verdict
    size: float
    before: Topology
    """The machine before `perturbations` changed it."""
    perturbations: Sequence[Perturbation]
    orbits: Orbits | None
    link_bytes: Floats

    def path(self) -> Trace:
        """Return the transfers of a critical path. Raises InputError where too many differ."""
        return self._written(self._kept.path())

    def of(self, ranks: Ints) -> Trace:
        """Return the transfers that these ranks send or receive. Raises InputError where too many differ."""
        klass, rank = exchanged(self.schedule, ranks.astype(np.int64))
        return self._written(with_causes(self.schedule, klass, rank, *self._kept.causes(klass, rank)))

    @cached_property
    def _kept(self) -> "_Kept":
        """When every transfer that was simulated began and ended."""
        ranks = self.schedule.n if self.orbits is None else len(self.orbits.members)
        count = self.schedule.classes * ranks
        if count > KEPT:
            raise InputError("symmetry.transfers", schedule=self.schedule.name, count=count, most=KEPT)
        classes, waits = _classes(self.schedule, self.size, self.orbits)
        cluster = _ApartCluster(self.before, self.schedule, self.orbits, self.perturbations, every=True)
        cluster.run(cluster.begin(classes, self.verdict, self.size))
        return _Kept(self.schedule, self.orbits, waits, cluster.moments(classes))

    def _written(self, rows: Chosen) -> Trace:
        moments = self._kept.of(rows.klass, rows.rank)
        return written(self.topology, self.schedule, self.verdict, self.size, rows, moments)


class _Flights(NamedTuple):
    """When transfers began to flow and ended, s, how long they were under way before, and no sooner than when.

    A row for each class, a column for each rank or orbit.
    """

    bytes: Floats
    start: Floats
    end: Floats
    lead: Floats
    held: Floats


@dataclass(frozen=True, eq=False)
class _Kept:
    """What happened to every class and rank, or orbit, and what each waited for."""

    schedule: FoldedSchedule
    orbits: Orbits | None
    waits: ClassWaits
    flights: _Flights

    def of(self, klass: Numbers, rank: Numbers) -> Moments:
        """Return when some transfers were ready, left, began and ended."""
        at, (ready, cause, renaming) = (klass, self._place(rank)), self._ready
        left = np.where(
            (cause[at] >= 0) & (renaming[at] < 0), self.flights.start[at] - self.flights.lead[at], ready[at]
        )
        return Moments(self.flights.bytes[klass], ready[at], left, self.flights.start[at], self.flights.end[at])

    def causes(self, klass: Numbers, rank: Numbers) -> tuple[Numbers, Numbers]:
        """Return class and sender of what each transfer waited for last; class -1 where it waited for nothing."""
        symmetry, (_, cause, renaming) = self.schedule.symmetry, self._ready
        at = klass, self._place(rank)
        by = np.maximum(renaming[at], 0)
        return cause[at], symmetry.ranks.turned(rank, symmetry.back(by))

    def path(self) -> Chosen:
        """Return the transfers of a critical path."""
        klass, place = divmod(int(np.argmax(self.flights.end)), self.flights.end.shape[1])
        rank = place if self.orbits is None else int(self.orbits.members[place, 0])
        rows = []
        while klass >= 0:
            rows.append((klass, rank))
            cause, sender = self.causes(np.array([klass]), np.array([rank]))
            klass, rank = int(cause[0]), int(sender[0])
        path = np.array(rows[::-1], np.int64)
        return Chosen(path[:, 0], path[:, 1], np.arange(-1, len(path) - 1))

    def _place(self, rank: Numbers) -> Numbers:
        return rank if self.orbits is None else self.orbits.of[rank]

    @cached_property
    def _ready(self) -> tuple[Floats, Numbers, Numbers]:
        """When each was ready, the class that it waited for last, and the renaming from that one's sender to its own.

        Where a connection was busy with another message that is the one it waited for, and the renaming is -1: the
        sender is the same.
        """
        symmetry, end = self.schedule.symmetry, self.flights.end
        ranks = np.arange(self.schedule.n) if self.orbits is None else self.orbits.members[:, 0]
        ready, cause, by = np.zeros(end.shape), np.full(end.shape, -1, np.int64), np.zeros(end.shape, np.int64)
        place = {
            renaming: self._place(symmetry.ranks.turned(ranks, symmetry.back(renaming)))
            for renaming in each_once(self.waits.renaming).tolist()
        }
        for earlier, later, renaming in zip(*(column.tolist() for column in self.waits), strict=True):
            ended = end[earlier, place[renaming]]
            last = (ended > ready[later]) | (cause[later] < 0)
            ready[later, last] = ended[last]
            cause[later, last], by[later, last] = earlier, renaming
        late = self.flights.held > ready
        ready[late], cause[late] = self.flights.held[late], -1
        before, behind = self._in_line()
        waited = behind & (self.flights.start - self.flights.lead > ready + _ROUNDING * self.flights.start)
        return ready, np.where(waited, before, cause), np.where(waited, -1, by)

    def _in_line(self) -> tuple[Numbers, NDArray[np.bool_]]:
        """The class that each one's connection sent before it, and whether it sent any."""
        start, one = self.flights.start, self.schedule.one
        line = np.unique(np.stack([self.schedule.turn, one.channel]), axis=1, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((start.T, np.broadcast_to(line, start.T.shape)), axis=1).T
        ahead = np.concatenate([np.full((1, start.shape[1]), -1), order[:-1]])
        same = np.concatenate([np.zeros((1, start.shape[1]), bool), line[order[1:]] == line[order[:-1]]])
        before, behind = np.empty(start.shape, np.int64), np.empty(start.shape, bool)
        np.put_along_axis(before, order, ahead, 0)
        np.put_along_axis(behind, order, same & (self.schedule.turn[order] != 0), 0)
        return before, behind


def _classes(schedule: FoldedSchedule, size: float, orbits: Orbits | None) -> tuple[Classes, ClassWaits]:
    """Return a schedule's classes for the kernel, and what they wait for.

    Raises WrittenOutError where that would be too much.
    """
    waits = edges(schedule)
    ranks = np.arange(schedule.n) if orbits is None else orbits.members[:, 0]
    if waits is None or schedule.classes * len(ranks) >= NUMBERS:
        raise WrittenOutError
    waits = without_detours(schedule, waits)
    renamings, which = np.unique(np.concatenate([schedule.turn, waits.renaming]), return_inverse=True)
    if len(renamings) * len(ranks) > PEERS:
        raise WrittenOutError
    one = schedule.one
    peer = np.empty((len(renamings), len(ranks)), np.int32)
    for row, renaming in zip(peer, renamings.tolist(), strict=True):
        renamed = schedule.symmetry.ranks.turned(ranks, renaming)
        row[:] = renamed if orbits is None else orbits.of[renamed]
    classes = Classes(
        ranks=len(ranks),
        op=one.op,
        size=np.diff(one.moves) * (size * schedule.unit_share),
        pair=which[: schedule.classes].astype(np.int32),
        channel=one.channel,
        waits=np.bincount(waits.later, minlength=schedule.classes).astype(np.int32),
        after_start=np.searchsorted(waits.earlier, np.arange(schedule.classes + 1)).astype(np.int64),
        after=waits.later.astype(np.int32),
        shift=which[schedule.classes :].astype(np.int32),
        peer=peer,
    )
    return classes, waits


class OrbitArena(AlikeArena):
    """The memory of one rank of each orbit: its ranks are orbits, its links are classes; others see all there are."""

    def __init__(self, orbits: Orbits, n: int) -> None:
        self._orbits, self._ranks = orbits, n
        super().__init__(orbits.machine, history=False)

    def flown(self, *_: int) -> tuple[NDArray[np.int64], Ints, Floats, Floats]:
        """As of all ranks."""
        number, route, began, through = super().flown()
        klass, orbit = np.divmod(number, len(self._orbits.members))
        every = (klass.reshape(-1, 1) * self._ranks + self._orbits.members[orbit]).reshape(-1)
        copies = self._orbits.copies
        return every, np.repeat(route, copies), np.repeat(began, copies), np.repeat(through, copies)

    def crosses(self, route: Ints, links: Sequence[int] | Ints) -> NDArray[np.bool_]:
        """As of links of the whole machine."""
        return super().crosses(route, np.unique(self._orbits.link_of[np.asarray(links, np.int64)]))

    def link_bytes(self) -> Floats:
        """Bytes that cross every link of the whole machine until the end."""
        carried: Floats = (super().link_bytes() * self._orbits.common)[self._orbits.link_of]
        return carried

    def limit(self, link: int, bandwidth: float) -> int:
        """Let a link of the whole machine, and all of its class, carry so many B/s; returns the class."""
        own = int(self._orbits.link_of[link])
        return super().limit(own, bandwidth / self._orbits.common[own])

    def _enter_pairs(self, *_: Ints) -> None:
        self._enter(*self._orbits.routes, self._orbits.lead)


def simulate_apart(
    topology: Topology,
    schedule: FoldedSchedule,
    verdict: Verdict,
    size: float = 0.0,
    *,
    perturbations: Sequence[Perturbation] = (),
    orbits: Orbits | None = None,
) -> Timing:
    """Run a folded schedule alone, rank by rank, or one rank of each orbit. Raises InputError for a bad size.

    `orbits` are those that the machine and the perturbations leave. Raises errors as `Cluster.run` does, and
    WrittenOutError where perturbations hold single transfers back, send messages of their own or change routes.
    """
    if schedule.unit_share > 0:
        check_size(schedule.name, schedule.unit_share, size)
    if any(perturbation.delay or perturbation.messages for perturbation in perturbations):
        raise WrittenOutError
    if perturbations and schedule.transfers >= NUMBERS:
        raise WrittenOutError
    classes, _ = _classes(schedule, size, orbits)
    cluster = _ApartCluster(topology, schedule, orbits, perturbations)
    result: Timing = cluster.run(cluster.begin(classes, verdict, size))
    result.real["sim_s"] = cluster.sim_s
    return result


class _ApartCluster(Cluster):
    """A machine on which one folded schedule runs and nothing else."""

    arena: AlikeArena

    def __init__(
        self,
        topology: Topology,
        schedule: FoldedSchedule,
        orbits: Orbits | None,
        perturbations: Sequence[Perturbation],
        *,
        every: bool = False,
    ) -> None:
        self._schedule, self._orbits, self._perturbations, self._before = schedule, orbits, perturbations, topology
        super().__init__(topology, perturbations=perturbations)
        if every:
            self.arena.note_all()

    def new_arena(self, *, history: bool) -> AlikeArena:
        """Memory of ranks, or of orbits."""
        if self._orbits is None:
            return AlikeArena(self.topology, history=history)
        return OrbitArena(self._orbits, self._schedule.n)

    def begin(self, classes: Classes, verdict: Verdict, size: float) -> Any:
        """Start it; the returned event happens when it has ended, with its Timing as value."""
        schedule, rows = self._schedule, (0, len(classes.op) * classes.ranks)
        devices = np.array(self.topology.ranks[: self.topology.taking_part(schedule.n)], np.int32)
        self._expect(rows[1])
        late = self._late(devices)
        self.arena.add_alike(classes, devices, self.env.now, late.max(axis=0) if late.any() else None)
        event = self.env.event()
        proof = Proof(cast(Schedule, schedule), verdict, np.zeros(0, np.int32), np.zeros((0, 0), np.uint64))
        self._add(Job(cast(Schedule, schedule), size, proof, *rows, self.env.now, event, devices, NOTHING_HELD, False))
        return event

    def _late(self, devices: Ints) -> Floats:
        """When each rank may take part, in s, a row per perturbation."""
        return np.array([[one.late.get(device, 0.0) for device in devices.tolist()] for one in self._perturbations])

    def _hits(self, job: Job, ended: float) -> Hits:
        """On which transfers perturbations bore, with those that a late rank held back."""
        hits = self.perturber.hits(job, ended)
        number, until = self.arena.waited()
        if not len(number):
            return hits
        schedule, late = self._schedule, self._late(job.devices)[::-1]
        klass, sender = np.divmod(number, schedule.n)
        receiver = schedule.symmetry.ranks.turned(sender, schedule.turn[klass])
        who = len(late) - 1 - np.argmax((late[:, sender] == until) | (late[:, receiver] == until), axis=0)
        return Hits(
            np.concatenate([hits.fault, who.astype(np.int32)]),
            np.concatenate([hits.transfer, number.astype(np.int32)]),
            np.concatenate([hits.seconds, until - job.started]),
        )

    def check_rows(self) -> None:
        """Nothing is written down."""
        raise WrittenOutError

    def stalled(self) -> StalledError | InputError:
        """The error for a run in which nothing moves any more."""
        dead = self.perturber.dead()
        if self._orbits is not None:
            dead = np.flatnonzero(np.isin(self._orbits.link_of, dead)).tolist()
        return StalledError(standing(self.topology, self._schedule.name, self._stuck(), dead))

    def _stuck(self) -> list[tuple[int, int]]:
        """Between whom messages are stuck, each pair of ranks once."""
        schedule, alike = self._schedule, self.arena.fabric.alike
        pairs: list[tuple[int, int]] = []
        for row in self.arena.flowing():
            place = int(alike.rank_of[row])
            ranks = np.array([place]) if self._orbits is None else self._orbits.members[place]
            receivers = schedule.symmetry.ranks.turned(ranks, schedule.turn[alike.class_of[row]])
            pairs += zip(ranks.tolist(), receivers.tolist(), strict=True)
        return list(dict.fromkeys(pairs))

    def moments(self, classes: Classes) -> _Flights:
        """Return what happened to every transfer, where all are kept."""
        number, route, start, end = self.arena.kept()
        shape = len(classes.op), classes.ranks
        rows = np.empty((4, len(number)))
        rows[:, number] = start, end, self.arena.fabric.lead[route], self.arena.fabric.alike.held[route]
        return _Flights(classes.size, *(row.reshape(shape) for row in rows))

    def _trace(self, job: Job, ended: float, _: Stall | None) -> Any:
        schedule, orbits = self._schedule, self._orbits
        late = len({*self._late(job.devices).reshape(-1).tolist()} - {0.0})
        return Timing(
            topology=self.topology,
            ranks=schedule.n,
            messages=schedule.messages,
            steps=schedule.steps,
            verdict=job.proof.verdict,
            size=job.size,
            began=job.started,
            ended=ended,
            instants=int(self.arena.fabric.count[WAVES]) + late,
            simulated=schedule.messages // (1 if orbits is None else orbits.copies),
            rows=OrbitRows(
                topology=self.topology,
                schedule=schedule,
                verdict=job.proof.verdict,
                size=job.size,
                before=self._before,
                perturbations=self._perturbations,
                orbits=orbits,
                link_bytes=self.arena.link_bytes(),
            ),
            faults=tuple(perturbation.name for perturbation in self.perturber.perturbations),
            hits=self._hits(job, ended),
            capacities=self._changed(ended),
        )
