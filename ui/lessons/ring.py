"""Why the ring is bandwidth-optimal."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from sim.units import MiB
from ui.drawing.holders import holders
from ui.lessons import Ask, LessonStep, lesson, ranks, ratio, sent, times

N = 8
RING = Plan(algorithm="allreduce.ring", machine=f"switch:ranks={N}", size="64MiB")


@lesson(order=20)
def ring() -> Iterator[LessonStep]:
    """Two laps of an eighth each: everyone sends and receives all the time, and no more than must be."""
    yield LessonStep(RING, view="shape")
    yield LessonStep(
        RING,
        Ask(lambda runs: f"rank {holders(runs[0], 3, N, step=N - 1)[0]}", ranks(N)),
        at=4,
        until=N - 1,
        view="shape",
    )
    sums = LessonStep(RING, Ask(lambda runs: sent(runs[0], 0) / MiB, within=0.02, unit="MiB"), view="matrix")
    few, many = (
        replace(RING, machine=f"switch:ranks={n}", size=size) for n, size in ((N // 2, "32MiB"), (2 * N, "16MiB"))
    )
    yield replace(sums, again=(replace(sums, plan=few), replace(sums, plan=many)))
    yield LessonStep(RING, Ask(lambda runs: 100 * runs[0].bound / runs[0].time, within=0.1, unit="%"), view="time")
    double = Plan(algorithm="allreduce.ring", machine=f"switch:ranks={2 * N}", size="64MiB")
    yield LessonStep(
        replace(double, against=f"machine=switch:ranks={N}"),
        Ask(
            lambda runs: times(ratio(runs)),
            ("half", "same", "twice", "four"),
            facts=lambda runs: {"times": ratio(runs), "more": 2 * N, "fewer": N - 1, "few": N},
        ),
    )
