"""What NCCL runs when it is left to itself, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ops.libraries.nccl.choice import choose
from ops.plan import Plan
from ui.lessons import Ask, LessonStep, Runs, lesson

SHAPES, PROTOCOLS = ("Ring", "Tree"), ("LL", "LL128", "Simple")
SMALL = Plan(algorithm="nccl.allreduce", machine="nodes:nodes=4,gpus=4", size="1KiB")


def _forced(plan: Plan, what: str, words: Sequence[str]) -> Plan:
    """The plan with every word forced on NCCL, side by side."""
    first, *rest = (f"settings={what}={word}" for word in words)
    return replace(plan, settings=first.removeprefix("settings="), against="|".join(rest))


def _free(what: str) -> Any:
    """What NCCL takes where nothing is forced."""

    def chosen(runs: Runs) -> str:
        trace, machine = runs[0].trace, SMALL.topology()  # a run's own carries no more than its protocol leaves
        return str(getattr(choose(machine, "allreduce", round(trace.size), trace.schedule.n).chosen, what))

    return chosen


def _facts(runs: Runs) -> dict[str, Any]:
    """How long the longest takes against the shortest, and the messages in a row of the first and the last."""
    times = [run.time for run in runs]
    rows = [run.breakdown.messages for run in (runs[0], runs[-1])]
    return {"times": max(times) / min(times), "ring": rows[0], "tree": rows[1]}


@lesson(order=65)
def nccl() -> Iterator[LessonStep]:
    """NCCL works out for every size what each algorithm and protocol would take, and runs the shortest."""
    shapes = Ask(_free("algorithm"), SHAPES, facts=_facts)
    least = LessonStep(_forced(SMALL, "algorithm", SHAPES), shapes, view="shape")
    large = replace(SMALL, size="32MiB")
    yield replace(least, again=(replace(least, plan=_forced(large, "algorithm", SHAPES)),))
    yield LessonStep(
        _forced(SMALL, "protocol", PROTOCOLS), Ask(_free("protocol"), PROTOCOLS, facts=_facts), view="time"
    )
    yield LessonStep(_forced(replace(SMALL, size="64MiB"), "algorithm", SHAPES), shapes, view="shape")
