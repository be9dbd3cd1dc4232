"""A folded schedule on a machine that tells its ranks apart: every transfer is simulated, and none is written down.

A slow link or another route leaves the schedule as symmetric as it was. So it is proved folded, and what a transfer is
and waits for follows from its class and its rank (`sim.fabric.alike`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from sim.base.arrays import Floats
from sim.engine import NOTHING_HELD, Cluster, check_size
from sim.errors import InputError, StalledError
from sim.fabric.alike import AlikeArena, Classes
from sim.fabric.kernel import WAVES
from sim.fabric.rows import LACKING
from sim.fold.edges import edges
from sim.fold.folded import FoldedSchedule
from sim.fold.outcome import SymmetricTrace
from sim.job import Job
from sim.metrics import Use, bottleneck
from sim.perturbation import Perturbation
from sim.schedule import Schedule
from sim.schedule.verify import Proof, Verdict
from sim.stall import standing
from sim.topology import Topology
from sim.trace import NO_CAPACITIES, Capacities, Stall, Trace

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
    capacities: Capacities = NO_CAPACITIES

    @property
    def time(self) -> float:
        """Seconds from start to end."""
        return self.ended - self.began

    @property
    def simulated(self) -> int:
        """Messages between different ranks that were simulated: all."""
        return self.schedule.messages

    def bottleneck(self) -> Use | None:
        """The link nearest to being full throughout, or None when nothing crossed any."""
        return bottleneck(cast(Trace, self))  # which asks for nothing that this has not


def classes_of(schedule: FoldedSchedule, size: float) -> Classes | None:
    """What the kernel is told of a schedule for so many bytes; None where that would be too much."""
    waits = edges(schedule)
    if waits is None or schedule.transfers >= NUMBERS:
        return None
    renamings, which = np.unique(np.concatenate([schedule.turn, waits.renaming]), return_inverse=True)
    if len(renamings) * schedule.n > PEERS:
        return None
    ranks, one = np.arange(schedule.n), schedule.one
    peer = np.empty((len(renamings), schedule.n), np.int32)
    for row, renaming in zip(peer, renamings.tolist(), strict=True):
        row[:] = schedule.symmetry.ranks.turned(ranks, renaming)
    return Classes(
        ranks=schedule.n,
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


def simulate_apart(
    topology: Topology,
    schedule: FoldedSchedule,
    verdict: Verdict,
    size: float = 0.0,
    *,
    perturbations: Sequence[Perturbation] = (),
) -> ApartTrace:
    """Run a folded schedule alone, rank by rank. Raises InputError for a bad size, and as `Cluster.run` does.

    Raises WrittenOutError where perturbations hold single transfers back, send messages of their own or change routes.
    """
    if schedule.unit_share > 0:
        check_size(schedule.name, schedule.unit_share, size)
    if any(perturbation.late or perturbation.delay or perturbation.messages for perturbation in perturbations):
        raise WrittenOutError
    classes = classes_of(schedule, size)
    if classes is None:
        raise WrittenOutError
    cluster = _ApartCluster(topology, perturbations=perturbations)
    trace: ApartTrace = cluster.run(cluster.begin(schedule, classes, verdict, size))
    trace.real["sim_s"] = cluster.sim_s
    return trace


class _ApartCluster(Cluster):
    """A machine on which one folded schedule runs and nothing else."""

    arena_type = AlikeArena
    arena: AlikeArena

    def begin(self, schedule: FoldedSchedule, classes: Classes, verdict: Verdict, size: float) -> Any:
        """Start it; the returned event happens when it has ended, with its ApartTrace as value."""
        devices = np.array(self.topology.ranks[: self.topology.taking_part(schedule.n)], np.int32)
        self._expect(schedule.transfers)
        self.arena.add_alike(classes, devices, self.env.now)
        self._schedule = schedule
        event = self.env.event()
        proof = Proof(cast(Schedule, schedule), verdict, np.zeros(0, np.int32), np.zeros((0, 0), np.uint64))
        rows = 0, schedule.transfers
        self._add(Job(cast(Schedule, schedule), size, proof, *rows, self.env.now, event, devices, NOTHING_HELD, False))
        return event

    def check_rows(self) -> None:
        """Nothing is written down."""
        raise WrittenOutError

    def stalled(self) -> StalledError | InputError:
        """The error for a run in which nothing moves any more."""
        if self.arena.fabric.alike.count[LACKING]:
            raise WrittenOutError
        pairs = list(dict.fromkeys(self.arena.ends_of(row) for row in self.arena.flowing()))
        return StalledError(standing(self.topology, self._schedule.name, pairs, self.perturber.dead()))

    def _trace(self, job: Job, ended: float, _: Stall | None) -> Any:
        return ApartTrace(
            topology=self.topology,
            schedule=self._schedule,
            verdict=job.proof.verdict,
            size=job.size,
            began=job.started,
            ended=ended,
            link_bytes=self.arena.link_bytes(),
            instants=int(self.arena.fabric.count[WAVES]),
            troubles=tuple(perturbation.name for perturbation in self.perturber.perturbations),
            hits=self.perturber.hits(job, ended),
            capacities=self._changed(ended),
        )
