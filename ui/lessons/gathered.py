"""What an all-gather costs in memory, and how its gradient comes back."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ops.plan import Plan
from sim.units import MiB
from ui.drawing.frames import Film
from ui.lessons import Ask, LessonStep, Runs, fastest, lesson, ratio

GATHER = Plan(algorithm="allgather.ring", machine="switch:ranks=8", size="32MiB")
BACKWARD = ("allreduce.ring", "reduce_scatter.ring")


def _memory(runs: Runs) -> float:
    """MiB in the slots of one rank when all is over."""
    trace = runs[0].trace
    held = Film(trace).held(trace.ended)
    return float(np.count_nonzero(held.block[0] >= 0) * trace.bytes.max() / MiB)


@lesson(order=80)
def gathered() -> Iterator[LessonStep]:
    """Every rank ends with all ranks' features: memory grows with the world, and so does what flows back."""
    held = LessonStep(GATHER, Ask(_memory, within=0.01, unit="MiB"), view="matrix")
    more = replace(GATHER, machine="switch:ranks=16", size="64MiB")
    yield replace(held, again=(replace(held, plan=more),))
    wide = Plan(algorithm="allgather.ring", machine="switch:ranks=32", size="128MiB")
    yield LessonStep(wide, Ask(_memory, within=0.01, unit="MiB"), view="matrix")
    both = Plan(algorithm=BACKWARD[0], machine="switch:ranks=8", size="32MiB", against=f"algorithm={BACKWARD[1]}")
    yield LessonStep(both, Ask(fastest(BACKWARD), BACKWARD, facts=lambda runs: {"times": ratio(runs)}), view="time")
