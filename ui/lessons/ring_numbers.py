"""A ring all-reduce on four short rows of numbers: what arrives, what it becomes, and other operations."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ops.run.values import Values, values_of
from ui.drawing.holders import holders
from ui.lessons import Ask, LessonStep, Runs, lesson, ranks

N = 4
ROWS, OTHER_ROWS = "2,7,1,8,2,8,1,8,2,8,4,5,9,0,4,5", "3,1,4,1,5,9,2,6,5,3,5,8,9,7,9,3"
RING = Plan(algorithm="allreduce.ring", machine=f"switch:ranks={N}", size="4MiB", values=ROWS)


def _values(runs: Runs, rows: str, op: str = "") -> Values:
    return values_of(runs[0].trace.schedule, rows, op)


def _first(runs: Runs, rows: str) -> dict[str, int]:
    """The first move to rank 0 and what it does: its block, what was there, what arrives, and what they become."""
    values, schedule = _values(runs, rows), runs[0].trace.schedule
    move = next(m for m in range(N) if schedule.dst[m] == 0)
    was, came, left = (int(column[move]) for column in (values.before, values.arrived, values.left))
    return {"block": int(schedule.to_slot[move]), "was": was, "came": came, "left": left}


def _column(runs: Runs, block: int) -> list[int]:
    return [int(x) for x in _values(runs, ROWS).states[0][:, block]]


def _arrival(rows: str) -> LessonStep:
    """What becomes of the first number that reaches rank 0."""
    ask = Ask(lambda runs: float(_first(runs, rows)["left"]), facts=lambda runs: _first(runs, rows))
    return LessonStep(replace(RING, values=rows), ask, until=1, view="shape")


@lesson(order=21)
def ring_numbers() -> Iterator[LessonStep]:
    """Four rows of four numbers, added up in a ring: every step is arithmetic that you can check by hand."""
    yield LessonStep(RING, view="matrix")
    yield replace(_arrival(ROWS), again=(_arrival(OTHER_ROWS),))
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
            lambda runs: float(_values(runs, ROWS, "max").final[0, 1]),
            facts=lambda runs: {"column": ", ".join(map(str, _column(runs, 1)))},
        ),
        view="matrix",
    )
