"""`torch_distributed_zero_first`: one rank prepares, the others wait at a barrier."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from sim.units import fmt_time
from ui.lessons import Ask, LessonStep, TrainingRuns, lesson, program, ranks

MACHINE = Plan(machine="switch:ranks=4")


def _plan(**settings: str) -> WorkloadPlan:
    return WorkloadPlan("zero_first", tuple(settings.items()), MACHINE)


def _waited_for(runs: TrainingRuns) -> str:
    return f"rank {runs[0].facts['waited_for_rank']}"


def _opens(runs: TrainingRuns) -> float:
    """Seconds until the barrier opens."""
    return float(runs[0].facts["barrier_opens_s"])


def _facts(runs: TrainingRuns) -> dict[str, object]:
    rows = runs[0].facts["per_rank"]
    return {
        "prepare": fmt_time(rows[0]["at_barrier_s"] - rows[0]["arrives_s"]),
        "waited": fmt_time(runs[0].facts["waited_in_all_s"]),
        "late": fmt_time(rows[-1]["arrives_s"]),
    }


@lesson(order=102)
def rank_zero_first() -> Iterator[LessonStep]:
    """The first rank of a host downloads what all ranks then read."""
    usual = _plan(prepare="2s", arrivals="0s,100ms,200ms,300ms")
    opens = LessonStep(usual, Ask(_opens, within=0.05, unit="s", facts=_facts), reads=program("zero_first"))
    sooner = replace(opens, plan=_plan(prepare="1s", arrivals="500ms,100ms,200ms,300ms"))
    yield replace(opens, again=(sooner,))
    late = _plan(prepare="2s", arrivals="0s,100ms,200ms,3s")
    yield LessonStep(late, Ask(_waited_for, ranks(4), facts=_facts))
