"""A folded schedule on a machine: rank 0's transfers simulated by the kernel, each for all its renamings."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sim.base.arrays import Floats, Ints
from sim.engine import Cluster
from sim.engine.job import check_size
from sim.schedule import Schedule, dependencies
from sim.schedule.verify import Verdict
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.link_classes import LinkClasses
from sim.symmetry.proof import proof_of
from sim.symmetry.renamings import Numbers
from sim.symmetry.rows import Chosen, Moments, cause_senders, chain, exchanged, with_causes, written
from sim.topology import Topology
from sim.trace import Timing, Trace
from sim.trace.metrics import critical_path


@dataclass(frozen=True, eq=False)
class ClassRows:
    """What happened to rank 0's transfers, one entry of `classes` each, and so to all their renamings.

    Transfer i of class k that rank r sends begins and ends when `classes` says of k, for every r. `links` are the
    classes of the machine's links.
    """

    topology: Topology
    schedule: FoldedSchedule
    verdict: Verdict
    links: LinkClasses
    classes: Trace

    @cached_property
    def link_bytes(self) -> Floats:
        """Bytes that crossed every link, shape (links,)."""
        turn = self.schedule.turn
        away = np.nonzero(turn)[0]
        pair = np.searchsorted(self.links.turns, turn[away])
        sent = np.bincount(pair, self.classes.bytes[away], len(self.links.turns))
        return (sent @ self.links.load).astype(np.float64)[self.links.of]

    def path(self) -> Trace:
        """Return the transfers of the critical path that ends at rank 0's last one."""
        path = np.array(critical_path(self.classes), np.int64)
        senders = cause_senders(self.schedule, path[1:], path[:-1])
        return self._written(chain(self.schedule, path, 0, senders))

    def of(self, ranks: Ints) -> Trace:
        """Return the transfers that these ranks send or receive."""
        cause = self.classes.cause.astype(np.int64)
        waited = np.flatnonzero(cause >= 0)
        renaming = np.zeros(len(cause), np.int64)
        renaming[waited] = cause_senders(self.schedule, waited, cause[waited])
        klass, rank = exchanged(self.schedule, ranks.astype(np.int64))
        sender = self.schedule.symmetry.ranks.turned(rank, renaming[klass])
        return self._written(with_causes(self.schedule, klass, rank, cause[klass], sender))

    def _written(self, rows: Chosen) -> Trace:
        ran = self.classes
        moments = Moments(ran.bytes, ran.ready, ran.left, ran.start, ran.end).of(rows.klass)
        return written(self.topology, self.schedule, self.verdict, ran.size, rows, moments)


def simulate_folded(
    topology: Topology,
    schedule: FoldedSchedule,
    links: LinkClasses,
    verdict: Verdict,
    size: float = 0.0,
    *,
    lockstep: bool = False,
) -> Timing:
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
    return Timing(
        topology=topology,
        ranks=schedule.n,
        messages=schedule.messages,
        steps=schedule.steps,
        verdict=verdict,
        size=size,
        began=classes.began,
        ended=classes.ended,
        instants=classes.instants,
        simulated=schedule.messages // schedule.n,
        rows=ClassRows(topology, schedule, verdict, links, classes),
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
