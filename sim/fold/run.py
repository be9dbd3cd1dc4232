"""A folded schedule on a machine: rank 0's transfers simulated by the kernel, each for all its renamings."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sim.base.arrays import Floats
from sim.engine import Cluster, check_size
from sim.fold.edges import meet
from sim.fold.folded import FoldedSchedule
from sim.fold.machine import LinkClasses
from sim.fold.outcome import SymmetricTrace
from sim.fold.symmetry import Numbers
from sim.metrics import Use
from sim.schedule import Schedule, dependencies
from sim.schedule.verify import Proof, Verdict
from sim.topology import Topology
from sim.trace import Trace


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldedTrace(SymmetricTrace):
    """A run of which one rank's transfers were simulated; times in seconds.

    `classes` is what happened to rank 0's transfers, one entry each: transfer i of class k that rank r sends begins and
    ends when `classes` says of k, for every r. `links` are the classes of the machine's links.
    """

    classes: Trace
    links: LinkClasses

    @property
    def time(self) -> float:
        """Seconds from start to end."""
        return self.classes.time

    @property
    def simulated(self) -> int:
        """Messages between different ranks that were simulated, each for all that are equal to it."""
        return self.schedule.messages // self.schedule.n

    @property
    def instants(self) -> int:
        """Moments at which something happened."""
        return self.classes.instants

    @cached_property
    def class_bytes(self) -> Floats:
        """Bytes that crossed a link of every class."""
        turn = self.schedule.turn
        away = np.nonzero(turn)[0]
        pair = np.searchsorted(self.links.turns, turn[away])
        sent = np.bincount(pair, self.classes.bytes[away], len(self.links.turns))
        return (sent @ self.links.load).astype(np.float64)

    @property
    def link_bytes(self) -> Floats:
        """Bytes that crossed every link."""
        return self.class_bytes[self.links.of]

    def bottleneck(self) -> Use | None:
        """The first of the links nearest to being full throughout, or None when nothing crossed any."""
        room = self.topology.bandwidth[self.links.first] * self.time
        use = np.divide(self.class_bytes, room, out=np.zeros_like(room), where=room > 0)
        if not use.size or use.max() <= 0:
            return None
        fullest = int(np.argmax(use))
        return Use(int(self.links.first[fullest]), float(self.class_bytes[fullest]), float(use[fullest]))

    def unfolded(self, schedule: Schedule) -> Trace:
        """The same run as a trace of all ranks' transfers; `schedule` is the folded one, unrolled.

        Transfer `k * n + r` is that of class k which rank r sends.
        """
        n, classes = self.schedule.n, self.classes
        devices = np.array(self.topology.ranks[:n], np.int32)
        routes = self.topology.routes(devices[schedule.src], devices[schedule.dst])
        return Trace(
            topology=self.topology,
            schedule=schedule,
            verdict=self.verdict,
            size=self.size,
            began=classes.began,
            ended=classes.ended,
            bytes=np.repeat(classes.bytes, n),
            route=np.arange(schedule.transfers, dtype=np.int32),
            routes=routes,
            ready=np.repeat(classes.ready, n),
            left=np.repeat(classes.left, n),
            start=np.repeat(classes.start, n),
            end=np.repeat(classes.end, n),
            cause=self._causes().reshape(-1).astype(np.int32),
            instants=classes.instants,
            real=dict(self.real),
        )

    def _causes(self) -> Numbers:
        """What every rank's transfer waited for last, a row of ranks per class.

        Two transfers of rank 0 meet in a slot that one reads and the other fills, at the rank that has both; where they
        meet in none, an order of steps made one wait, and the sender is the same.
        """
        one, symmetry, turn, n = self.schedule.one, self.schedule.symmetry, self.schedule.turn, self.schedule.n
        late = np.nonzero(self.classes.cause >= 0)[0]
        cause = self.classes.cause[late]
        onward, back = turn[late], symmetry.back(turn[cause])
        sender = np.zeros(len(late), np.int64)
        for own, other, renaming in (
            (one.to_slot, one.from_slot, onward),
            (one.to_slot, one.to_slot, symmetry.ranks.turned(onward, back)),
            (one.from_slot, one.to_slot, back),
        ):
            sender = np.where(meet(one, own, late, other, cause), renaming, sender)
        causes = np.full((len(turn), n), -1, np.int64)
        causes[late] = cause.reshape(-1, 1) * n + symmetry.ranks.turned(np.arange(n), sender.reshape(-1, 1))
        return causes


def simulate_folded(
    topology: Topology,
    schedule: FoldedSchedule,
    links: LinkClasses,
    verdict: Verdict,
    size: float = 0.0,
    *,
    lockstep: bool = False,
) -> FoldedTrace:
    """Run a folded schedule alone on a machine whose links' classes are `links`. Raises InputError for a bad size."""
    one = schedule.one
    if schedule.unit_share > 0:
        check_size(schedule.name, schedule.unit_share, size)
    sizes = np.diff(one.moves) * (size * schedule.unit_share)
    cluster = Cluster(links.machine)
    timed = timed_schedule(schedule, links.turns, lockstep=lockstep)
    proof = proof_of(timed, Verdict("unchecked"))  # the folded schedule has one of its own
    event = cluster.launch(timed, range(len(links.machine.devices)), sizes, proof=proof, size=size)
    classes: Trace = cluster.run(event)
    return FoldedTrace(
        topology=topology,
        schedule=schedule,
        verdict=verdict,
        size=size,
        classes=classes,
        links=links,
        real={"sim_s": cluster.sim_s},
    )


def timed_schedule(schedule: FoldedSchedule, turns: Numbers, *, lockstep: bool = False) -> Schedule:
    """Rank 0's transfers with receivers of their own, and with what they wait for written out.

    `turns` are all of the schedule's renamings but the one that changes nothing, in order; rank k + 1 receives what
    goes by the k-th. It moves no slots and promises nothing.
    """
    one = schedule.one
    waits = dependencies.lockstep(one) if lockstep else dependencies.waits(one)
    earlier = np.repeat(np.arange(waits.rows, dtype=np.int32), np.diff(waits.start))
    receiver = np.where(schedule.turn == 0, 0, 1 + np.searchsorted(turns, schedule.turn)).astype(np.int32)
    nothing = np.zeros(0, np.int32)
    return Schedule(
        name=schedule.name,
        n=1 + len(turns),
        slots=1,
        promise=None,
        unit_share=schedule.unit_share,
        steps=one.steps,
        step_start=one.step_start,
        op=one.op,
        src=one.src,
        dst=receiver,
        channel=one.channel,
        moves=np.zeros(one.transfers + 1, np.int32),
        from_slot=nothing,
        to_slot=nothing,
        phases=one.phases,
        after=(earlier, waits.after),
    )


def proof_of(schedule: Schedule, verdict: Verdict) -> Proof:
    """Of the timed form, what its folded schedule's proof has found."""
    return Proof(schedule, verdict, np.zeros(0, np.int32), np.zeros((0, 0), np.uint64))
