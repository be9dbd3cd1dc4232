"""A rank that is late, and who waits for it."""

from collections.abc import Iterator

import numpy as np

from ops.request import Request
from sim.units import ms
from ui.lessons import Ask, LessonStep, Runs, lesson

LATE = "straggler:rank=5,late=2ms"


def _kept_waiting(runs: Runs) -> float:
    """Ranks whose last message ends after the late one has begun to take part."""
    trace = runs[0].trace
    last = np.zeros(trace.schedule.n)
    for side in (trace.schedule.src, trace.schedule.dst):
        np.maximum.at(last, side, trace.end)
    return float(np.count_nonzero(last >= 2 * ms))


def _longer(runs: Runs) -> float:
    """Milliseconds by which the first run ends after the one beside it."""
    return (runs[0].trace.time - runs[1].trace.time) / ms


@lesson(order=100)
def late() -> Iterator[LessonStep]:
    """One rank of eight comes 2 ms later than the others."""
    barrier = Request(algorithm="barrier.dissemination", machine="switch:ranks=8", trouble=LATE)
    yield LessonStep(barrier, Ask(_kept_waiting, unit="ranks"), view="time")
    sums = Request(
        algorithm="allreduce.recursive_doubling",
        machine="switch:ranks=8",
        size="16MiB",
        trouble=LATE,
        against="trouble=",
    )
    yield LessonStep(sums, Ask(_longer, within=0.05, unit="ms"), view="time")
    tree = Request(algorithm="broadcast.binomial", machine="switch:ranks=8", size="1MiB", trouble=LATE)
    yield LessonStep(tree, Ask(_kept_waiting, unit="ranks"), view="time")
