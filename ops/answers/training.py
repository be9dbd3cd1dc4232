"""The answer of a training step: how much communication is exposed, what it waits for, and what would win it back."""

import re
from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

from ops.answers.remedy import WORTH
from ops.plan.notation import entries, listed
from ops.plan.training import WorkloadPlan
from ops.training.step import COMM, COMPUTE, WAIT, Interval, StepCollective, TrainingStep, overlaps
from sim.errors import InputError, Message, StalledError
from sim.units import fmt_share, fmt_time

NOTHING = 1e-9
"""Share of a step below which no communication is exposed."""
LEAST = 0.005
"""Share of a step that exposed communication must take to be looked into."""
MOST = 20_000
"""Spans of a step beside which others are tried."""


class Exposed(NamedTuple):
    """The communication that is exposed for longest: a collective, its lane, and its seconds on the worst rank."""

    name: str
    lane: str
    seconds: float
    call: StepCollective | None


def answer_step(step: TrainingStep) -> list[Message]:
    """Say how long a step takes and how much of it is exposed communication; then what that waits for."""
    time, moving = fmt_time(step.time), _moving(step)
    if not step.time or not moving:
        return [Message("answer.step.alone", time=time)]
    share = step.exposed_s / step.time
    if share < LEAST:
        key = "hardly" if step.exposed_s > NOTHING * step.time else "hidden"
        return [
            Message(f"answer.step.{key}", time=time),
            Message("answer.step.hides", moving=fmt_time(moving - step.exposed_s)),
        ]
    sentence = Message("answer.step", time=time, share=fmt_share(share, 1))
    return [sentence, *([_why(most)] if (most := longest_exposed(step)) else [])]


def is_worth_it(step: TrainingStep) -> bool:
    """Whether so much is exposed that it is worth looking for a remedy, and few enough spans to try some."""
    return step.exposed_s >= LEAST * step.time > 0 and len(step.spans) <= MOST


def remedy_step(plan: WorkloadPlan, step: TrainingStep) -> Message | None:
    """Return which links would have to be faster for a step to win time back; None where nothing is exposed."""
    most = longest_exposed(step)
    if not most or not most.call or not is_worth_it(step):
        return None
    times = {kind: time for kind in most.call.links.split("+") if kind and (time := _time(plan, kind)) is not None}
    best = min(times, key=times.__getitem__, default="")
    if not best or times[best] > WORTH * step.time:
        return Message("answer.step.none") if times else None
    return Message("answer.step.remedy", kind=best, time=fmt_time(times[best]))


def longest_exposed(step: TrainingStep) -> Exposed | None:
    """Return what is exposed for longest on the rank that has most of it; None where nothing is."""
    rank = max(step.stands_for, key=step.exposed, default=0)
    compute = step.intervals(rank, COMPUTE)
    seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
    for span in step.spans_of(rank):
        if span.lane in (COMM, WAIT):
            whole: list[Interval] = [(span.start, span.end)]
            hidden = sum(end - start for start, end in overlaps(whole, compute))
            seconds[kind_of(span.name), span.lane] += max(0.0, span.end - span.start - hidden)
    if not max(seconds.values(), default=0.0):
        return None
    name, lane = max(seconds, key=seconds.__getitem__)
    call = max((c for c in step.calls if kind_of(c.name) == name), key=lambda c: c.end - c.start, default=None)
    return Exposed(name, lane, seconds[name, lane], call)


def _why(most: Exposed) -> Message:
    values = {"name": most.name, "time": fmt_time(most.seconds)}
    if most.lane == WAIT and most.call:
        return Message("answer.step.waits", **values, rank=str(most.call.latest))
    if most.call and most.call.links:
        return Message("answer.step.moves", **values, links=most.call.links)
    return Message("answer.step.is", **values)


def _moving(step: TrainingStep) -> float:
    """Seconds of communication on the rank that has most of it."""
    return max((step.busy(rank, COMM) for rank in step.stands_for), default=0.0)


def kind_of(name: str) -> str:
    """Return the name of a collective without its number: those of one kind are taken together.

    >>> kind_of("grads 3"), kind_of("bucket 1/4")
    ('grads', 'bucket')
    """
    return re.sub(r"[\s\d/#.:]+$", "", name) or name


def _time(plan: WorkloadPlan, kind: str) -> float | None:
    """Seconds of a step with twice the bandwidth on all links of a kind; None where it cannot be run."""
    edits = listed([*entries(plan.machine.edits), f"set_class:kind={kind},times=2"])
    try:
        return replace(plan, machine=replace(plan.machine, edits=edits)).run().time
    except (InputError, StalledError):
        return None
