"""A program's run as a training step: what every GPU did when, what communication nothing hid."""

from collections.abc import Iterator

import numpy as np

from ops.communicators.records import Span
from ops.programs.runtime.tasks import CALL
from ops.programs.runtime.timeline import ProgramRun
from ops.programs.runtime.transport import ProgramCall
from ops.training.step import COMM, COMPUTE, HOST, WAIT, StepCollective, TrainingStep
from sim.topology import Topology


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
