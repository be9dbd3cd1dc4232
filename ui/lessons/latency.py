"""Latency against bandwidth, and the size at which they change places."""

from collections.abc import Iterator
from dataclasses import replace

from ops.lab.crossovers import crossovers
from ops.plan import Plan
from sim.units import KiB
from ui.lessons import Ask, LessonStep, Runs, fastest, lesson

NAMES = ("allreduce.ring", "allreduce.recursive_doubling")
SMALL = Plan(algorithm=NAMES[0], machine="switch:ranks=8,latency=5us", size="1KiB", against=f"algorithm={NAMES[1]}")


def _crossing(runs: Runs) -> float:
    prepared = {run.work.name: SMALL.of(run.work.name).prepare(run.topology) for run in runs}
    return crossovers(prepared)[0].size / KiB


@lesson(order=30)
def latency() -> Iterator[LessonStep]:
    """Few messages for little data, few bytes for much."""
    yield LessonStep(SMALL, Ask(fastest(NAMES), NAMES), view="time")
    row = LessonStep(
        SMALL,
        Ask(
            lambda runs: float(runs[0].breakdown.messages),
            facts=lambda runs: {"other": runs[1].breakdown.messages},
        ),
        view="time",
    )
    yield replace(row, again=(replace(row, plan=replace(SMALL, machine="switch:ranks=16,latency=5us")),))
    yield LessonStep(replace(SMALL, size="64MiB"), Ask(fastest(NAMES), NAMES), view="time")
    yield LessonStep(replace(SMALL, size="256KiB"), Ask(_crossing, within=0.6, unit="KiB"), view="time")
