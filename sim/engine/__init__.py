"""The cluster: a SimPy world in which collectives, compute, faults and user programs happen.

SimPy keeps the clock; the fabric kernel moves the bytes. The fabric is one process of the world whose kernel
advances all flows to the next moment SimPy's calendar cares about, so a plain collective is one kernel call.
"""

import math
import time as clock
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import simpy

from sim.base import watch
from sim.base.compiled import compiled, is_compiled, patience, spent
from sim.engine.job import Job, transfer_bytes
from sim.engine.stall import stall_error, stall_of
from sim.errors import InputError, StalledError, expect_kind
from sim.fabric import kernel
from sim.fabric.memory import Arena
from sim.faults import Perturbation
from sim.faults.model import HeldBack
from sim.faults.runtime import Perturber
from sim.schedule import Schedule
from sim.schedule.switch_devices import switch_devices
from sim.schedule.verify import Proof, prove
from sim.topology import Device, Floats, Link, Topology
from sim.trace import Alone, Capacities, History, Stall, Trace

INTERPRETED = 30_000
"""Calendar entries handled interpreted before the kernel goes on compiled: about what loading the compiler costs."""
PIECE = 1 << 23
"""Calendar entries after which the compiled kernel stops for a moment, so that a run can be ended: about a second."""
Event = simpy.Event
Lock = simpy.Resource
NOTHING_HELD = HeldBack([], [], [])
SIZES = (int, float, np.integer, np.floating)
"""What a number of bytes may be."""


class Cluster:
    """A machine coming to life. `env` is its SimPy world; other processes may share it.

    With `history`, every change of every flow's rate is kept, so that a view can place a block at any time.
    `perturbations` make it differ from the plain machine; their processes run in the same world.
    """

    def __init__(
        self,
        topology: Topology,
        env: simpy.Environment | None = None,
        *,
        history: bool = False,
        perturbations: Sequence[Perturbation] = (),
    ) -> None:
        for perturbation in perturbations:
            topology = perturbation.machine(topology)
        self.topology = topology
        self.env = env or simpy.Environment()
        self.sim_s = 0.0
        """Real seconds spent in the kernel."""
        self.arena = self.new_arena(history=history)
        self.jobs: list[Job] = []
        self._capacities: list[tuple[int, float, float]] = []
        self._running = 0
        self._wake: simpy.Event | None = None
        self.kernel = compiled(kernel) if is_compiled(kernel) else kernel
        self.env.process(self._fabric())
        self.perturber = Perturber(self, perturbations)

    def new_arena(self, *, history: bool) -> Arena:
        """The fabric's memory."""
        return Arena(self.topology, history=history)

    def start(
        self,
        schedule: Schedule,
        size: float = 0,
        *,
        blocks: Sequence[float] | Floats | None = None,
        group: Sequence[int] | None = None,
        lockstep: bool = False,
        proof: Proof | None = None,
    ) -> simpy.Event:
        """Start a collective now; the returned event happens when it has ended, with its Trace as value.

        `size` is what nccl-tests would call it, in bytes; `blocks` gives every block its own bytes instead.
        A schedule with bytes of its own takes no notice of `size`: its trace's size is their sum.
        `group[r]` is the device that plays rank r. `lockstep` makes every step wait for the whole step before.
        Raises InputError for a size, group or schedule this machine cannot take.
        """
        devices = self._devices(schedule, group)
        proof = proof or prove(schedule, blocks=blocks is not None)
        sizes = transfer_bytes(schedule, size, blocks, proof)
        own = schedule.fixed_bytes is not None and blocks is None
        counted = float(sizes.sum()) if own else float(size)
        return self.launch(schedule, devices, sizes, proof=proof, size=counted, lockstep=lockstep)

    def launch(
        self,
        schedule: Schedule,
        devices: Sequence[int],
        sizes: Floats,
        *,
        proof: Proof | None = None,
        size: float = 0.0,
        lockstep: bool = False,
        background: bool = False,
    ) -> simpy.Event:
        """Start transfers of so many bytes each between device indices; `start` is for what people ask.

        What is `background` is held back by no perturbation.
        """
        self._expect(schedule.transfers)
        held = NOTHING_HELD if background else self.perturber.held_back(schedule, devices, sizes)
        first, stop = self.arena.add(
            schedule,
            devices,
            sizes,
            len(self.jobs),
            self.env.now,
            lockstep=lockstep,
            delay=held.delay,
            gates=held.gates,
        )
        ends = np.array(devices, np.int32)
        proof = proof or prove(schedule)
        event = self.env.event()
        job = Job(schedule, size, proof, first, stop, self.env.now, event, ends, held, background)
        if first == stop:
            self.jobs.append(job)
            job.event.succeed(self._trace(job, self.env.now, None))
            return event
        self._add(job)
        return event

    def run(self, event: simpy.Event) -> Any:
        """Let the world turn until the event has happened; returns its value. Raises StalledError if it cannot."""
        try:
            return self.env.run(until=event)
        except (InputError, StalledError) as error:
            cause = error.__cause__  # SimPy raises a copy, which lacks the trace
            if isinstance(cause, InputError | StalledError):
                error.trace = cause.trace
            raise

    def lock(self) -> Lock:
        """What one process of the world at a time may have; the others stand in line."""
        return Lock(self.env, capacity=1)

    def set_bandwidth(self, link: int, bandwidth: float) -> None:
        """Change a link's capacity from now on, in B/s; zero kills it. Raises InputError for nonsense."""
        if not 0 <= link < len(self.topology.links):
            raise InputError("engine.no_link", topology=self.topology.name, link=link)
        if not (math.isfinite(bandwidth) and bandwidth >= 0):
            raise InputError("engine.bandwidth", topology=self.topology.name, link=link, bandwidth=bandwidth)
        self._capacities.append((link, float(self.env.now), bandwidth))
        self.kernel.touch(
            self.arena.fabric, self.arena.crossbar, self.arena.limit(link, bandwidth), float(self.env.now)
        )
        self._rouse()

    def check_rows(self) -> None:
        """Do nothing: every transfer of this world has its own row."""

    def _devices(self, schedule: Schedule, group: Sequence[int] | None) -> list[int]:
        machine = self.topology
        devices = list(machine.ranks[: machine.taking_part(schedule.n)] if group is None else group)
        if len(devices) != schedule.n or len(set(devices)) != len(devices):
            raise InputError("engine.devices", schedule=schedule.name, n=schedule.n, devices=devices[:8])
        return [*devices, *switch_devices(machine, schedule, devices)]

    def _expect(self, transfers: int) -> None:
        """Have the compiled kernel where so many are worth it."""
        if self.kernel is kernel and transfers * 8 > INTERPRETED * patience():
            self.kernel = _ready()

    def _add(self, job: Job) -> None:
        """Have a job whose rows are there run."""
        self.jobs.append(job)
        self._running += 1
        self._rouse()

    def _rouse(self) -> None:
        if self._wake is not None and not self._wake.triggered:
            self._wake.succeed()

    def _fabric(self) -> Generator[simpy.Event, None, None]:
        env = self.env
        while True:
            if not self._running:
                self._wake = env.event()
                yield self._wake
            upcoming = env.peek()
            why = self._advance(upcoming)
            if why == kernel.DONE:
                ended = float(self.arena.fabric.now[0])
                if ended > env.now:
                    yield env.timeout(ended - env.now)
                self._settle()
            elif why == kernel.HORIZON or math.isfinite(upcoming):
                yield env.timeout(max(0.0, upcoming - env.now))
            elif self._running:
                raise self.stalled()

    def _advance(self, horizon: float) -> int:
        arena = self.arena
        begun, pieces = clock.perf_counter(), 0
        while True:
            arena.fabric.count[kernel.ALLOWANCE] = PIECE if self.kernel is not kernel else INTERPRETED
            why = int(
                self.kernel.advance(arena.fabric, arena.crossbar, float(horizon))
            )  # SimPy counts in whole numbers at first
            pieces += 1
            if self.kernel is kernel and (self._has_spent() or (why == kernel.PAUSED and pieces >= patience())):
                self.sim_s += clock.perf_counter() - begun
                self.kernel = _ready()
                begun = clock.perf_counter()
            if why != kernel.PAUSED:
                self.sim_s += clock.perf_counter() - begun
                return why
            watch.passing(self._share())
            arena.make_room()

    def _has_spent(self) -> bool:
        """Whether so much was interpreted, here and in worlds before, that compiling had been better."""
        entries = INTERPRETED - int(self.arena.fabric.count[kernel.ALLOWANCE])
        return spent(kernel, 8 * entries)

    def _share(self) -> float:
        """Which share of the transfers of collectives has ended."""
        rows = [(job.stop - job.first, int(self.arena.fabric.job_left[k])) for k, job in enumerate(self.jobs)
                if not job.background]  # fmt: skip
        return 1 - sum(left for _, left in rows) / max(1, sum(rows for rows, _ in rows))

    def _settle(self) -> None:
        """Tell those who wait for the jobs that have ended."""
        fabric = self.arena.fabric
        for k in range(fabric.count[kernel.FINISHED]):
            job = self.jobs[fabric.finished[k]]
            self._running -= 1
            job.event.succeed(self._trace(job, float(fabric.job_end[fabric.finished[k]]), None))
        fabric.count[kernel.FINISHED] = 0

    def _trace(self, job: Job, ended: float, stall: Stall | None) -> Trace:
        fabric, rows = self.arena.fabric, slice(job.first, job.first + job.schedule.transfers)
        cause = fabric.cause[rows]
        while job.stop > rows.stop and (marks := cause >= rows.stop).any():  # one stands for what it waited for last
            cause = np.where(marks, fabric.cause[np.where(marks, cause, 0)], cause)
        ready, left = fabric.ready[rows], fabric.ready[rows]
        if fabric.behind[rows].max(initial=-1) >= 0:
            waited = np.nonzero(fabric.behind[rows] >= 0)[0]
            cause, left = cause.copy(), left.copy()
            cause[waited] = fabric.behind[rows][waited]
            left[waited] = fabric.start[rows][waited] - fabric.lead[fabric.route[rows][waited]]
        return Trace(
            topology=self.topology,
            schedule=job.schedule,
            verdict=job.proof.verdict,
            size=job.size,
            began=job.started,
            ended=ended,
            bytes=fabric.size[rows],
            route=fabric.route[rows],
            routes=self.arena.routes,
            ready=ready,
            left=left,
            start=fabric.start[rows],
            end=fabric.end[rows],
            cause=np.where(cause < 0, cause, cause - np.int32(job.first)) if job.first else cause,
            history=self._history(job),
            faults=tuple(perturbation.name for perturbation in self.perturber.perturbations),
            hits=self.perturber.hits(job, ended),
            instants=int(fabric.count[kernel.WAVES]),
            stall=stall,
            capacities=self._changed(ended),
        )

    def _changed(self, ended: float) -> Capacities:
        """What links could carry until then, wherever it was not their own bandwidth throughout."""
        past = [change for change in self._capacities if change[1] <= ended]
        link, time, bandwidth = zip(*past, strict=True) if past else ((), (), ())
        return Capacities(np.array(link, np.int32), np.array(time, np.float64), np.array(bandwidth, np.float64))

    def _history(self, job: Job) -> History | None:
        if not self.arena.keeps_history:
            return None
        transfer, time, rate = self.arena.changes(job.first, job.stop)
        return History(transfer - job.first, time, rate)

    def stalled(self) -> StalledError | InputError:
        """The error for a world in which nothing moves any more; it carries the trace up to there.

        It says what a perturbation found when it closed a way that has no other, where one did.
        """
        job = next(job for job in self.jobs if not (job.event.triggered or job.background))
        stall, ended = stall_of(self.arena, job, self.perturber.dead())
        return stall_error(self._trace(job, ended, stall), self.perturber.lost)


def _ready() -> Any:
    """The compiled kernel; calling it once on an empty fabric is what compiles it."""
    fresh = not is_compiled(kernel)
    ready = compiled(kernel)
    if fresh:
        pair = (Device("a", "GPU"), Device("b", "GPU"))
        empty = Arena(Topology("warm-up", pair, (Link("a", "b", 1.0, 0.0),)), history=False)
        ready.advance(empty.fabric, empty.crossbar, 0.0)
    return ready


def simulate(
    topology: Topology,
    schedule: Schedule,
    size: float = 0,
    *,
    blocks: Sequence[float] | Floats | None = None,
    lockstep: bool = False,
    history: bool = False,
    group: Sequence[int] | None = None,
    proof: Proof | None = None,
    perturbations: Sequence[Perturbation] = (),
) -> Trace:
    """Run one collective alone on a machine and verify its result.

    Parameters
    ----------
    topology : Topology
        The machine.
    schedule : Schedule
        The schedule, for at most as many ranks as the machine has.
    size : float
        Bytes as nccl-tests counts them; not used by a schedule with bytes of its own.
    blocks : array of float, shape (blocks,)
        Bytes of every block, instead of `size`.
    lockstep : bool
        Whether each step waits for the end of the step before on all ranks.
    history : bool
        Whether every change of every rate is kept.
    group : list of int, shape (ranks,)
        Index of the device of each rank, shape (ranks,); the default of the machine unless given.
    proof : Proof
        Proof of the schedule, if it exists already.
    perturbations : list of Perturbation
        Faults.

    Returns
    -------
    Trace
        Ready, start and end time of each transfer.

    Raises
    ------
    InputError
        If the machine cannot run the schedule, its size or the group.
    StalledError
        If the run deadlocks.

    Examples
    --------
    >>> from ops import ALGORITHMS
    >>> from sim.machines import build
    >>> trace = simulate(build("switch:ranks=8"), ALGORITHMS["allreduce.ring"].schedule(8), size=2**30)
    >>> f"{trace.time:.9f} s, {trace.verdict.verdict}"
    '0.075189928 s, ok'
    """
    name, by_name = (schedule if isinstance(schedule, str) else "NAME"), "or call `run`, which takes names and texts"
    expect_kind(topology, Topology, "topology", f"give build('dgx_h100'), {by_name}")
    expect_kind(schedule, Schedule, "schedule", f"give ALGORITHMS[{name[:40]!r}].schedule(8), {by_name}")
    expect_kind(size, SIZES, "size", f"give bytes, like 64 * MiB, {by_name}")
    cluster = Cluster(topology, history=history, perturbations=perturbations)
    event = cluster.start(schedule, size, blocks=blocks, lockstep=lockstep, group=group, proof=proof)
    trace: Trace = cluster.run(event)
    trace.real["sim_s"] = cluster.sim_s
    is_sized = blocks is None and schedule.fixed_bytes is None
    return replace(trace, alone=Alone(lockstep, schedule.unit_share if is_sized else 0.0))
