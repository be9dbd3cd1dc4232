"""Pipeline parallelism: stages that wait for each other, and what fills the gaps."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from sim.units import fmt_share
from ui.lessons import Ask, LessonStep, TrainingRuns, lesson

MACHINE = Plan(machine="switch:ranks=4,bandwidth=25GBps")
LAYERS = "; ".join(f"{name} 1000x1000 2ms 4ms 8MiB" for name in "abcd")
KINDS = ("gpipe", "1f1b")


def _pipeline(micro_batches: int, schedule: str = "gpipe") -> WorkloadPlan:
    settings = {"micro_batches": str(micro_batches), "schedule": schedule, "layers": LAYERS}
    return WorkloadPlan("pipeline_parallel", tuple(settings.items()), MACHINE)


def _idle(runs: TrainingRuns) -> float:
    return float(100 * runs[0].facts["bubble_share"])


def _leaner(runs: TrainingRuns) -> str:
    """The order of work in which the first stage needs least memory."""
    return KINDS[min(range(len(runs)), key=lambda k: runs[k].peaks[0])]


def _facts(runs: TrainingRuns) -> dict[str, Any]:
    count, parts = runs[0].facts["stages"], runs[0].settings["micro_batches"]
    return {
        "stages": count,
        "before": count - 1,
        "parts": parts,
        "slots": parts + count - 1,
        "ideal": fmt_share(runs[0].facts["ideal_bubble_share"]),
        "times": runs[0].peaks[0] / runs[-1].peaks[0],
    }


@lesson(order=120)
def bubbles() -> Iterator[LessonStep]:
    """A stage can begin only when the one before it has something for it."""
    ask = Ask(_idle, within=0.15, unit="%", facts=_facts)
    yield LessonStep(_pipeline(1), ask, before=0.2)
    cut = LessonStep(_pipeline(8), ask, before=0.12)
    yield replace(cut, again=(replace(cut, plan=_pipeline(4)), replace(cut, plan=_pipeline(16))))
    yield LessonStep(
        _pipeline(8),
        Ask(_leaner, KINDS, facts=_facts),
        beside=(_pipeline(8, KINDS[1]),),
        before=0.12,
        rows=2,
        memory=True,
    )
