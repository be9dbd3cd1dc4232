"""A rank that is late, and who waits for it."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ops.plan import Plan
from sim.units import fmt_time, ms
from ui.lessons import Ask, LessonStep, Runs, lesson

LATE = "straggler:rank=5,late={:g}ms"


def _kept_waiting(runs: Runs) -> float:
    """Ranks whose last message ends after the late one has begun to take part."""
    trace = runs[0].trace
    last = np.zeros(trace.schedule.n)
    for side in (trace.schedule.src, trace.schedule.dst):
        np.maximum.at(last, side, trace.end)
    return float(np.count_nonzero(last >= 2 * ms))


def _longer(runs: Runs) -> float:
    """Milliseconds by which the first run ends after the one beside it."""
    return (runs[0].time - runs[1].time) / ms


def _sums(late: float) -> LessonStep:
    """An all-reduce with a rank that is so late, s, beside one with none."""
    plan = Plan(
        algorithm="allreduce.recursive_doubling",
        machine="switch:ranks=8",
        size="16MiB",
        fault=LATE.format(late / ms),
        against="fault=",
    )
    return LessonStep(
        plan, Ask(_longer, within=0.05, unit="ms", facts=lambda runs: {"late": fmt_time(late)}), view="time"
    )


@lesson(order=100)
def late() -> Iterator[LessonStep]:
    """One rank of eight comes 2 ms later than the others."""
    barrier = Plan(algorithm="barrier.dissemination", machine="switch:ranks=8", fault=LATE.format(2))
    yield LessonStep(barrier, Ask(_kept_waiting, unit="ranks"), view="time")
    yield replace(_sums(2 * ms), again=(_sums(5 * ms),))
    tree = Plan(algorithm="broadcast.binomial", machine="switch:ranks=8", size="1MiB", fault=LATE.format(2))
    yield LessonStep(tree, Ask(_kept_waiting, unit="ranks"), view="time")
