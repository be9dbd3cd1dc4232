"""The six basic collectives, and what is symmetric about them."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from sim.units import MiB
from ui.drawing.holders import holders
from ui.lessons import Ask, LessonStep, busiest, lesson, ranks, sent

N = 4
MACHINE = f"switch:ranks={N}"


def _plan(algorithm: str, against: str = "") -> Plan:
    return Plan(algorithm=algorithm, machine=MACHINE, size="4MiB", against=against)


@lesson(order=10)
def basics() -> Iterator[LessonStep]:
    """Broadcast, reduce, scatter, gather, allgather, allreduce, and which of them are mirrors of each other."""
    yield LessonStep(
        _plan("broadcast.binomial"),
        Ask(lambda runs: float(len(holders(runs[0], 0, 1, step=1))), unit="ranks"),
        until=1,
        view="shape",
    )
    yield LessonStep(
        _plan("reduce.binomial"),
        Ask(lambda runs: f"rank {holders(runs[0], 0, N, step=runs[0].trace.schedule.steps)[0]}", ranks(N)),
        view="shape",
    )
    scattered = LessonStep(_plan("scatter.linear"), Ask(lambda runs: sent(runs[0], 0) / MiB, unit="MiB"), view="shape")
    wider = Plan(algorithm="scatter.linear", machine=f"switch:ranks={2 * N}", size="16MiB")
    yield replace(scattered, again=(replace(scattered, plan=wider),))
    yield LessonStep(
        _plan("gather.linear"),
        Ask(lambda runs: busiest(runs[0]), ("GPU0 → SW", "SW → GPU0", "GPU1 → SW")),
    )
    yield LessonStep(
        _plan("allgather.ring"),
        Ask(lambda runs: float(sum(3 in holders(runs[0], b, 1, runs[0].trace.schedule.steps) for b in range(N)))),
        view="matrix",
    )
    yield LessonStep(
        _plan("allreduce.ring"),
        Ask(lambda runs: float(len(holders(runs[0], 0, N, step=N - 1))), unit="ranks"),
        until=N - 1,
        view="matrix",
    )
    names = ("reduce_scatter.ring", "allreduce.ring", "broadcast.binomial")
    yield LessonStep(
        _plan("allgather.ring", "|".join(f"algorithm={name}" for name in names)),
        Ask(
            lambda runs: names[min(range(3), key=lambda k: abs(runs[k + 1].time - runs[0].time))],
            names,
        ),
        view="time",
    )
