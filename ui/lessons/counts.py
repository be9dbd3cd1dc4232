"""MPI_Allgatherv: blocks of unequal size, and where they stand in the buffer."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from sim.units import MiB
from ui.lessons import Ask, LessonStep, Runs, lesson, ranks, ratio, times

RAGGED = Plan(
    algorithm="allgatherv.ring",
    machine="switch:ranks=4",
    counts="1MiB,2MiB,1MiB,4MiB",
)


def _begins(runs: Runs) -> float:
    """MiB before the last rank's block where blocks stand one behind the other."""
    return sum(list(runs[0].blocks or [])[:3]) / MiB


def _sum(runs: Runs) -> dict[str, str]:
    """The blocks' sizes in MiB, and those before the last one added up, in words."""
    sizes = [f"{size / MiB:g}" for size in list(runs[0].blocks or [])]
    return {"blocks": ", ".join(sizes), "sum": " + ".join(sizes[:3])}


def _largest(runs: Runs) -> str:
    """The rank whose block is on the way longest."""
    trace = runs[0].trace
    return f"rank {int(trace.schedule.src[(trace.end - trace.start).argmax()])}"


@lesson(order=110)
def counts() -> Iterator[LessonStep]:
    """Every rank brings a block of another size: counts say how large, displacements where each begins."""
    begins = LessonStep(RAGGED, Ask(_begins, within=0.01, unit="MiB", facts=_sum), view="matrix")
    yield replace(begins, again=(replace(begins, plan=replace(RAGGED, counts="2MiB,1MiB,4MiB,1MiB")),))
    yield LessonStep(RAGGED, Ask(_largest, ranks(4)), view="time", until=1)
    even = "algorithm=allgather.ring;size=8MiB;counts="
    yield LessonStep(
        replace(RAGGED, against=even),
        Ask(lambda runs: times(ratio(runs)), ("same", "twice", "four"), facts=lambda runs: {"times": ratio(runs)}),
        view="time",
    )
