"""A ring all-reduce on four short rows of numbers: what arrives, what it becomes, and other operations."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ops.run.values import Values, values_of
from sim.schedule import NOTHING
from ui.drawing.holders import holders
from ui.lessons import Ask, LessonStep, Runs, lesson, ranks

N = 4
RING = Plan(
    algorithm="allreduce.ring", machine=f"switch:ranks={N}", size="4MiB", values="2,7,1,8,2,8,1,8,2,8,4,5,9,0,4,5"
)


def _values(runs: Runs, op: str = "") -> Values:
    return values_of(runs[0].trace.schedule, RING.values, op)


def _first(runs: Runs) -> dict[str, int]:
    """The first move to rank 0 and what it does: its block, what was there, what arrives, and what they become."""
    values, schedule = _values(runs), runs[0].trace.schedule
    move = next(m for m in range(N) if schedule.dst[m] == 0)
    was, came, left = (int(column[move]) for column in (values.before, values.arrived, values.left))
    return {"block": int(schedule.to_slot[move]), "was": was, "came": came, "left": left}


def _column(runs: Runs, block: int) -> list[int]:
    return [int(x) for x in _values(runs).states[0][:, block] if x != NOTHING]


@lesson(order=21)
def ring_numbers() -> Iterator[LessonStep]:
    """Four rows of four numbers, added up in a ring: every step is arithmetic that you can check by hand."""
    yield LessonStep(RING, view="matrix")
    yield LessonStep(
        RING,
        Ask(lambda runs: float(_first(runs)["left"]), facts=_first),
        until=1,
        view="shape",
    )
    yield LessonStep(
        RING,
        Ask(
            lambda runs: f"rank {holders(runs[0], 0, N, step=N - 1)[0]}",
            ranks(N),
            facts=lambda runs: {"terms": " + ".join(map(str, _column(runs, 0))), "sum": sum(_column(runs, 0))},
        ),
        at=1,
        until=N - 1,
        view="shape",
    )
    yield LessonStep(
        replace(RING, op="max"),
        Ask(
            lambda runs: float(_values(runs, "max").final[0, 1]),
            facts=lambda runs: {"column": ", ".join(map(str, _column(runs, 1)))},
        ),
        view="matrix",
    )
