"""TFace's all-gather with a gradient: what has to come back, and how."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from ops.training.losses import GRADIENTS
from ops.training.step import TrainingStep
from sim.units import fmt_share, fmt_size, fmt_time
from ui.lessons import Ask, LessonStep, TrainingRuns, lesson, program

COMES_BACK = ("nothing", "what this rank's own loss has for it", "the sum of what all ranks' losses have for it")
MACHINE = Plan(machine="switch:ranks=8,bandwidth=3GBps")


def _faces(gradient: str, machine: Plan = MACHINE) -> WorkloadPlan:
    return WorkloadPlan("contrastive", (("loss", "faces"), ("gradient", gradient)), machine)


def _due(runs: TrainingRuns) -> str:
    """The least that has to come back for the gradient of one device."""
    equal = [row["equal"] for row in runs[0].facts["by_gradient"]]
    return COMES_BACK[equal.index(True)]


def _way_back(step: TrainingStep) -> float:
    """Seconds of the collective that brings gradients back."""
    return sum(call.end - call.start for call in step.calls if "gradients" in call.name)


def _times(runs: TrainingRuns) -> float:
    return _way_back(runs[0]) / _way_back(runs[1])


@lesson(order=81)
def face_gather() -> Iterator[LessonStep]:
    """Every rank has some of the classes, so that every rank's loss depends on the features of all."""
    yield LessonStep(
        _faces("none"),
        Ask(
            _due,
            COMES_BACK,
            facts=lambda runs: {
                f"off_{name}": fmt_share(row["gradient_error"])
                for name, row in zip(GRADIENTS, runs[0].facts["by_gradient"], strict=True)
            },
        ),
        reads=program("gather_gradient"),
        rows=2,
    )
    back = LessonStep(
        _faces("allreduce"),
        Ask(
            _times,
            within=0.1,
            facts=lambda runs: {
                "size": fmt_size(runs[0].calls[-1].size),
                "sum": fmt_time(_way_back(runs[0])),
                "scatter": fmt_time(_way_back(runs[1])),
            },
        ),
        beside=(_faces("reduce_scatter"),),
        rows=1,
    )
    more = Plan(machine="switch:ranks=16,bandwidth=3GBps")
    again = replace(back, plan=_faces("allreduce", more), beside=(_faces("reduce_scatter", more),))
    yield replace(back, again=(again,))
