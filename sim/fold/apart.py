"""A folded schedule on a machine that tells its ranks apart: every transfer is simulated, and none is written down.

A slow link or another route leaves the schedule as symmetric as it was. So it is proved folded, and what a transfer is
and waits for follows from its class and its rank (`sim.fabric.alike`). Where some ranks are still alike, one of them is
simulated for all of its orbit (`sim.fold.orbits`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints
from sim.engine import NOTHING_HELD, Cluster, check_size
from sim.errors import InputError, StalledError
from sim.fabric.alike import AlikeArena, Classes
from sim.fabric.kernel import WAVES
from sim.fold.edges import edges, without_detours
from sim.fold.folded import FoldedSchedule
from sim.fold.orbits import Orbits
from sim.fold.outcome import SymmetricTrace
from sim.job import Job
from sim.metrics import Use, bottleneck
from sim.perturbation import Perturbation
from sim.schedule import Schedule
from sim.schedule.verify import Proof, Verdict
from sim.stall import standing
from sim.topology import Topology
from sim.trace import NO_CAPACITIES, Capacities, Hits, Stall, Trace

PEERS = 1 << 27
"""Pairs of a renaming and a rank that are written down."""
NUMBERS = 1 << 31


class WrittenOutError(Exception):
    """A run that needs its transfers written down one by one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ApartTrace(SymmetricTrace):
    """A run of all ranks' transfers of which only sums are kept; times in seconds, as `Trace` has them."""

    began: float
    ended: float
    link_bytes: Floats
    instants: int
    copies: int = 1
    """Ranks for which each that was simulated stands, itself included."""
    capacities: Capacities = NO_CAPACITIES

    @property
    def time(self) -> float:
        """Seconds from start to end."""
        return self.ended - self.began

    @property
    def simulated(self) -> int:
        """Messages between different ranks that were simulated."""
        return self.schedule.messages // self.copies

    def bottleneck(self) -> Use | None:
        """The link nearest to being full throughout, or None when nothing crossed any."""
        return bottleneck(cast(Trace, self))  # which asks for nothing that this has not


def classes_of(schedule: FoldedSchedule, size: float, orbits: Orbits | None = None) -> Classes | None:
    """What the kernel is told of a schedule for so many bytes; None where that would be too much."""
    waits = edges(schedule)
    ranks = np.arange(schedule.n) if orbits is None else orbits.members[:, 0]
    if waits is None or schedule.classes * len(ranks) >= NUMBERS:
        return None
    waits = without_detours(schedule, waits)
    renamings, which = np.unique(np.concatenate([schedule.turn, waits.renaming]), return_inverse=True)
    if len(renamings) * len(ranks) > PEERS:
        return None
    one = schedule.one
    peer = np.empty((len(renamings), len(ranks)), np.int32)
    for row, renaming in zip(peer, renamings.tolist(), strict=True):
        renamed = schedule.symmetry.ranks.turned(ranks, renaming)
        row[:] = renamed if orbits is None else orbits.of[renamed]
    return Classes(
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
) -> ApartTrace:
    """Run a folded schedule alone, rank by rank, or one rank of each orbit. Raises InputError for a bad size.

    `orbits` are those that the machine and the perturbations leave. Raises errors as `Cluster.run` does, and
    WrittenOutError where perturbations hold single transfers back, send messages of their own or change routes.
    """
    if schedule.unit_share > 0:
        check_size(schedule.name, schedule.unit_share, size)
    if any(perturbation.delay or perturbation.messages for perturbation in perturbations):
        raise WrittenOutError
    classes = classes_of(schedule, size, orbits)
    if classes is None or (perturbations and schedule.transfers >= NUMBERS):
        raise WrittenOutError
    cluster = _ApartCluster(topology, schedule, orbits, perturbations)
    trace: ApartTrace = cluster.run(cluster.begin(classes, verdict, size))
    trace.real["sim_s"] = cluster.sim_s
    return trace


class _ApartCluster(Cluster):
    """A machine on which one folded schedule runs and nothing else."""

    arena: AlikeArena

    def __init__(
        self,
        topology: Topology,
        schedule: FoldedSchedule,
        orbits: Orbits | None,
        perturbations: Sequence[Perturbation],
    ) -> None:
        self._schedule, self._orbits, self._perturbations = schedule, orbits, perturbations
        super().__init__(topology, perturbations=perturbations)

    def new_arena(self, *, history: bool) -> AlikeArena:
        """Memory of ranks, or of orbits."""
        if self._orbits is None:
            return AlikeArena(self.topology, history=history)
        return OrbitArena(self._orbits, self._schedule.n)

    def begin(self, classes: Classes, verdict: Verdict, size: float) -> Any:
        """Start it; the returned event happens when it has ended, with its ApartTrace as value."""
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
            np.concatenate([hits.trouble, who.astype(np.int32)]),
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

    def _trace(self, job: Job, ended: float, _: Stall | None) -> Any:
        return ApartTrace(
            topology=self.topology,
            schedule=self._schedule,
            verdict=job.proof.verdict,
            size=job.size,
            began=job.started,
            ended=ended,
            link_bytes=self.arena.link_bytes(),
            instants=int(self.arena.fabric.count[WAVES]) + len({*self._late(job.devices).reshape(-1).tolist()} - {0.0}),
            copies=1 if self._orbits is None else self._orbits.copies,
            troubles=tuple(perturbation.name for perturbation in self.perturber.perturbations),
            hits=self._hits(job, ended),
            capacities=self._changed(ended),
        )
