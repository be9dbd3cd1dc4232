"""Perturbations at work in a cluster: links limited, routes closed, transfers held back, and whom it affected."""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sim.base import watch
from sim.base.arrays import Floats, Ints
from sim.base.ragged import counts_of, take
from sim.engine.job import Job
from sim.errors import InputError, Message, StalledError
from sim.fabric.links import LOAD
from sim.fabric.memory import Arena
from sim.faults.model import HeldBack, Perturbation, Running
from sim.registry import AdditionError, shown
from sim.schedule import Schedule, copy, unroll
from sim.topology import Routes, Topology
from sim.topology.routing import merge, through
from sim.topology.routing.detours import around
from sim.trace import NO_HITS, Hits

PATIENCE = 1000
"""Messages of background traffic that a collective may see pass without moving at all, beside a dead link."""


class PerturbedCluster(Protocol):
    """What of a cluster its perturbations touch."""

    topology: Topology
    env: Any
    arena: Arena
    jobs: list[Job]
    kernel: Any

    def set_bandwidth(self, link: int, bandwidth: float) -> None:
        """Change a link's capacity from now on, in B/s."""

    def launch(self, schedule: Schedule, devices: Sequence[int], sizes: Floats, *, background: bool) -> Any:
        """Start transfers of so many bytes each between device indices."""

    def check_rows(self) -> None:
        """Raise an error if some transfers of this world have no row of their own."""

    def stalled(self) -> StalledError | InputError:
        """The error for a world in which nothing moves any more."""


class _Spell(NamedTuple):
    """Perturbation `number` affects `links` from `start` to `end` s."""

    number: int
    links: Sequence[int] | Ints
    start: float
    end: float


class Perturber:
    """All perturbations of a cluster; each one's process acts through controls of its own."""

    def __init__(self, cluster: PerturbedCluster, perturbations: Sequence[Perturbation]) -> None:
        self.cluster, self.env = cluster, cluster.env
        self.perturbations = tuple(perturbations)
        self._shares: dict[int, dict[int, float]] = {}
        self._spells: list[_Spell] = []
        self._avoided: dict[int, Sequence[int]] = {}
        self._due = self._vain = self._left = self._seen = 0
        self._collectives: list[int] = []
        self.lost: InputError | None = None
        """What was to go another way where there is none: it stays on its way and waits."""
        for number, perturbation in enumerate(self.perturbations):
            if perturbation.process is not None:
                self.begin(perturbation.process(_OwnControls(self, number)))

    def begin(self, process: Running) -> None:
        """See `Controls.begin`."""
        if not isinstance(process, Generator):
            raise TypeError(f"a process is a {type(process).__name__}: give a generator of what it waits for")
        first = next(process, None)
        if first is not None:
            self.env.process(_resumed(process, first))

    def wait_until(self, moment: float) -> Running:
        """See `Controls.wait_until`."""
        if moment > self.env.now:
            self._due += 1
            yield self.env.timeout(moment - self.env.now)
            self._due -= 1

    def limit(self, number: int, link: int, share: float) -> None:
        """See `Controls.limit`."""
        shares = self._shares.setdefault(link, {})
        shares[number] = share
        self.cluster.set_bandwidth(link, self.cluster.topology.links[link].bandwidth * math.prod(shares.values()))

    def mark(self, number: int, links: Sequence[int] | Ints, start: float, end: float) -> None:
        """See `Controls.mark`."""
        self._spells.append(_Spell(number, links, start, end))
        self.cluster.arena.note(links)

    def send(self, src: int, dst: int, size: float) -> Any:
        """See `Controls.send`."""
        watch.passing()
        self._despair()
        return self.cluster.launch(_message(), [src, dst], np.array([size]), background=True)

    def avoid(self, number: int, links: Sequence[int]) -> None:
        """See `Controls.avoid`."""
        self.cluster.check_rows()
        self._avoided[number] = links
        shut = sorted({link for some in self._avoided.values() for link in some})
        cluster, arena = self.cluster, self.cluster.arena
        plain = cluster.topology
        arena.topology = replace(plain, router=around(plain, shut, self._lose)) if shut else plain
        flying = set(arena.flowing())
        for job in cluster.jobs:
            if job.event.triggered:
                continue
            rows = np.arange(job.first, job.first + job.schedule.transfers)
            rows = rows[np.isnan(arena.fabric.start[rows]) | np.isin(rows, list(flying))]
            routes = _detoured(job, rows - job.first, plain, arena.topology, shut)
            for row, route in zip(rows.tolist(), arena.other_routes(rows, routes).tolist(), strict=True):
                if row in flying:
                    cluster.kernel.divert(arena.fabric, arena.crossbar, row, route, float(self.env.now))
                else:
                    arena.fabric.route[row] = route

    def _lose(self, error: InputError) -> None:
        self.lost = self.lost or error

    def dead(self) -> list[int]:
        """Links without bandwidth that hold up flows."""
        net = self.cluster.arena.fabric.net
        links: list[int] = np.nonzero((net.capacity == 0) & (net.state[:, LOAD] > 0))[0].tolist()
        return links

    def _despair(self) -> None:
        """Raise StalledError when a thousand messages in a row have seen a dead link hold up all the rest."""
        fabric = self.cluster.arena.fabric
        jobs = self.cluster.jobs
        self._collectives += [k for k in range(self._seen, len(jobs)) if not jobs[k].background]
        self._seen = len(jobs)
        left = sum(int(fabric.job_left[k]) for k in self._collectives)
        self._vain = self._vain + 1 if left == self._left and not self._due and self.dead() else 0
        self._left = left
        if self._vain > PATIENCE:
            raise self.cluster.stalled()

    def held_back(self, schedule: Schedule, devices: Sequence[int], sizes: Floats) -> HeldBack:
        """How the transfers of a schedule that starts now are held back; `sizes` are their bytes."""
        held = HeldBack([], [], [])
        for number, perturbation in enumerate(self.perturbations):
            late: dict[int, float] = {int(device): moment for device, moment in perturbation.late.items()}
            for rank in (r for r in range(schedule.n) if late.get(devices[r], 0.0) > self.env.now):
                touched = np.nonzero((schedule.src == rank) | (schedule.dst == rank))[0]
                held.gates.append((late[devices[rank]] - self.env.now, touched))
                held.who.append(number)
            if perturbation.delay is not None:
                held.delays.append((number, perturbation.delay(schedule, sizes)))
        return held

    def hits(self, job: Job, ended: float) -> Hits:
        """Which perturbations affected which transfers of a job until it ended at so many s, and for how many."""
        arena, rows = self.cluster.arena, slice(job.first, job.first + job.schedule.transfers)
        fabric = arena.fabric
        hits: list[tuple[int, Any, Any]] = []
        for gate, number in enumerate(job.held.who, job.stop - len(job.held.who)):
            late = np.nonzero(fabric.cause[rows] == gate)[0]
            hits.append((number, late, fabric.ready[rows][late] - job.started))
        for number, seconds in job.held.delays:
            late = np.nonzero(seconds > 0)[0]
            hits.append((number, late, seconds[late]))
        if self._spells:
            transfer, route, began, through = arena.flown(job.first, job.schedule.transfers)
        for number, links, start, end in self._spells:
            under = np.minimum(through, min(end, ended)) - np.maximum(began, start)
            affected = np.nonzero(arena.crosses(route, links) & (under > 0))[0]
            hits.append((number, transfer[affected], under[affected]))
        if not hits:
            return NO_HITS
        numbers = np.repeat([number for number, _, _ in hits], [len(which) for _, which, _ in hits])
        transfers, seconds = (np.concatenate([row[k] for row in hits]) for k in (1, 2))
        count = job.schedule.transfers
        pairs, which = np.unique(numbers.astype(np.int64) * count + transfers, return_inverse=True)
        whose, affected = np.divmod(pairs, max(count, 1))  # several spells may bear on one transfer
        together = np.bincount(which, seconds, len(pairs)).astype(np.float64)
        return Hits(whose.astype(np.int32), affected.astype(np.int32), together)


def _detoured(
    job: Job, transfers: NDArray[np.int64], plain: Topology, machine: Topology, shut: Sequence[int]
) -> Routes:
    """Routes of some transfers of a job: its own where they avoid the links that are shut, else those of `machine`."""
    schedule = job.schedule
    ends = schedule.src[transfers], schedule.dst[transfers]
    src, dst = (job.devices[end] for end in ends)
    if schedule.via is None:
        return machine.routes(src, dst)
    own = through(plain.routes, np.column_stack([src, schedule.via(*ends, schedule.channel[transfers]), dst]))
    blocked = counts_of(own.offsets, np.isin(own.links, shut)) > 0
    kept = Routes(*take(*own, np.flatnonzero(~blocked).astype(np.int32)))
    return merge(blocked, machine.routes(src[blocked], dst[blocked]), kept)


@dataclass(frozen=True)
class _OwnControls:
    """The controls of one perturbation; see `Controls`."""

    perturber: Perturber
    number: int

    @property
    def env(self) -> Any:
        return self.perturber.env

    @property
    def topology(self) -> Topology:
        return self.perturber.cluster.topology

    def begin(self, process: Running) -> None:
        self.perturber.begin(process)

    def wait_until(self, moment: float) -> Running:
        return self.perturber.wait_until(moment)

    def limit(self, link: int, share: float) -> None:
        self.perturber.limit(self.number, link, share)

    def avoid(self, links: Sequence[int]) -> None:
        self.perturber.avoid(self.number, links)

    def send(self, src: int, dst: int, size: float) -> Any:
        return self.perturber.send(src, dst, size)

    def mark(self, links: Sequence[int] | Ints, start: float, end: float) -> None:
        self.perturber.mark(self.number, links, start, end)


def _resumed(process: Running, event: Any) -> Running:
    """The rest of a process that has begun and waits for an event."""
    while True:
        if not hasattr(event, "callbacks"):  # as all that SimPy waits for has
            running: Any = process  # Python's own
            line = f"{shown(running.gi_code.co_filename)}, line {running.gi_frame.f_lineno}"
            what = Message("addition.yields", kind=type(event).__name__)
            raise AdditionError("at.place", place=line, what=what)
        value = yield event
        try:
            event = process.send(value)
        except StopIteration:
            return


@cache
def _message() -> Schedule:
    """One message from the first of two places to the second, promised to nobody."""
    return unroll(iter([copy(0, 1, slot=0)]), name="background", n=2, promise=None, unit_share=1.0)
