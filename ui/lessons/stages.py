"""ZeRO's three stages: who keeps which part of a model's state, and what that makes move."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from sim.units import GB
from ui.lessons import Ask, LessonStep, TrainingRuns, lesson

MACHINE = Plan(machine="switch:ranks=4,bandwidth=25GBps")


def _stage(number: int, machine: Plan = MACHINE) -> WorkloadPlan:
    return WorkloadPlan("zero", (("stage", str(number)), ("model", "gpt2_xl")), machine)


def _state(runs: TrainingRuns) -> float:
    """GB of parameters, gradients and optimizer that a rank keeps."""
    return float(runs[0].facts["state_bytes"] / GB)


def _facts(runs: TrainingRuns) -> dict[str, Any]:
    step, facts = runs[0], runs[0].facts
    width, optimizer = round(facts["model_bytes"] / facts["parameters"]), step.settings["state"]
    return {
        "billions": f"{facts['parameters'] / 1e9:.3g}",
        "width": width,
        "optimizer": optimizer,
        "each": 2 * width + optimizer,
        "rest": 2 * width,
        "volume": f"{facts['volume_in_models']:.3g}",
        "usual": f"{runs[-1].facts['volume_in_models']:.3g}",
        "whole": f"{runs[-1].facts['state_bytes'] / GB:.3g}",
    }


@lesson(order=82)
def stages() -> Iterator[LessonStep]:
    """Everyone keeps the same state: sharing it out saves memory and costs messages."""
    ask = Ask(_state, within=0.06, unit="GB", facts=_facts)
    yield LessonStep(_stage(0), ask, before=0.0, rows=1, memory=True)
    yield LessonStep(_stage(1), ask, beside=(_stage(0),), before=0.0, rows=1, memory=True)
    third = LessonStep(_stage(3), ask, beside=(_stage(0),), before=0.0, rows=1, memory=True)
    more = Plan(machine="switch:ranks=8,bandwidth=25GBps")
    yield replace(third, again=(replace(third, plan=_stage(3, more), beside=(_stage(0, more),)),))
    volume = Ask(lambda runs: float(runs[0].facts["volume_in_models"]), within=0.05, facts=_facts)
    yield LessonStep(_stage(3), volume, beside=(_stage(2),), before=0.0, rows=1, memory=True)
