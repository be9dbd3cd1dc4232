"""A program's run as a training step: what every GPU did when, what communication nothing hid."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ops.communicators.records import Span
from ops.programs.runtime.tasks import CALL
from ops.programs.runtime.timeline import ProgramRun
from ops.programs.runtime.transport import ProgramCall
from ops.training.step import COMM, COMPUTE, HOST, WAIT, MemoryChange, StepCollective, TrainingStep
from sim.topology import Topology

MOMENTS = 1000
"""Moments at which a rank's memory is kept."""


def training_step(outcome: ProgramRun, topology: Topology) -> TrainingStep:
    """Return the run of a program on a machine as one step, like a workload's.

    Its collectives and messages are on the lane `comm` while data moves, on `wait` while a rank waits for others to
    come; sleeping is the processor's work. Bytes of links are not in it.
    """
    ended = [call for call in outcome.calls if call.start is not None and call.end is not None]
    spans = [*_at_work(outcome), *(span for call in ended for span in _moving(call))]
    return TrainingStep(
        topology, outcome.ranks, outcome.time, sorted(spans, key=lambda span: (span.rank, span.lane, span.start)),
        [_collective(call) for call in ended if call.tag is None and len(call.ranks) > 1],
        np.zeros(len(topology.links)), outcome.changes, {"compute": outcome.compute}, workload="program",
    )  # fmt: skip


def _at_work(outcome: ProgramRun) -> Iterator[Span]:
    for span in outcome.spans:
        if span.lane == COMPUTE:
            yield span
        elif span.lane == CALL and not span.calls:
            yield span._replace(lane=HOST)
        elif span.lane == CALL:
            start = min((outcome.calls[number].start or span.end for number in span.calls), default=span.end)
            if start > span.start:
                yield span._replace(lane=WAIT, end=min(start, span.end))


def _moving(call: ProgramCall) -> Iterator[Span]:
    assert call.start is not None
    assert call.end is not None
    for rank in call.ranks:
        yield Span(rank, COMM, call.start, call.end, call.name, call.place, (call.number,))


def _collective(call: ProgramCall) -> StepCollective:
    assert call.start is not None
    assert call.end is not None
    return StepCollective(
        name=call.name, algorithm=call.algorithm, protocol=call.protocol, ranks=call.ranks, size=call.size,
        start=call.start, end=call.end, verified=bool(call.verified), latest=max(call.latest), links="",
        counts=call.counts,
    )  # fmt: skip


def thinned(changes: Sequence[MemoryChange]) -> list[MemoryChange]:
    """Return every rank's changes at no more than MOMENTS moments, its peak among them.

    >>> many = [MemoryChange(0, t, "activations", 2.0 - 3 * (t % 2)) for t in range(9000)]
    >>> few = thinned(many)
    >>> len(few) <= MOMENTS, sum(change.bytes for change in few) == sum(change.bytes for change in many)
    (True, True)
    """
    by_rank: dict[int, list[MemoryChange]] = {}
    for change in changes:
        by_rank.setdefault(change.rank, []).append(change)
    return [change for rank in sorted(by_rank) for change in _of_rank(by_rank[rank])]


def _of_rank(changes: list[MemoryChange]) -> list[MemoryChange]:
    if len(changes) <= MOMENTS:
        return changes
    total = np.cumsum([change.bytes for change in changes])
    kinds = list(dict.fromkeys(change.kind for change in changes))
    ends, few, first = np.linspace(0, len(changes), MOMENTS // (2 * len(kinds)) + 1).astype(int), [], 0
    for begin, end in pairwise(ends.tolist()):
        for last in sorted({begin + int(total[begin:end].argmax()), end - 1}):
            sums = dict.fromkeys(kinds, 0.0)
            for change in changes[first : last + 1]:
                sums[change.kind] += change.bytes
            here = changes[last]
            few += [MemoryChange(here.rank, here.time, kind, size) for kind, size in sums.items() if size]
            first = last + 1
    return few
