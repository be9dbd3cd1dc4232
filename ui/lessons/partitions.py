"""DeepSpeed's `allgather_partitions`: how updated parameters come back to all ranks."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from ops.training.step import TrainingStep
from sim.units import fmt_size, fmt_time
from ui.lessons import Ask, LessonStep, TrainingRuns, lesson, program

WAYS = ("an all-gather", "a broadcast from every owner")
MACHINE = Plan(machine="switch:ranks=4,bandwidth=10GBps")


def _zero(machine: Plan = MACHINE, **settings: str) -> WorkloadPlan:
    return WorkloadPlan("zero", (("stage", "1"), ("model", "gpt2"), *settings.items()), machine)


def _way_back(step: TrainingStep) -> float:
    """Seconds from the first collective of parameters to the end of the last."""
    calls = [call for call in step.calls if "reduce" not in call.algorithm]
    return max(call.end for call in calls) - min(call.start for call in calls)


def _faster(runs: TrainingRuns) -> str:
    return min(zip(map(_way_back, runs), WAYS, strict=True))[1]


def _gathers(runs: TrainingRuns) -> float:
    return float(sum(call.algorithm.startswith("allgather.") for call in runs[0].calls))


@lesson(order=86)
def partitions() -> Iterator[LessonStep]:
    """ZeRO's stage 1: every rank updates one partition of the parameters, and all ranks need all of them."""
    yield LessonStep(
        _zero(),
        Ask(
            _faster,
            WAYS,
            facts=lambda runs: {"gather": fmt_time(_way_back(runs[0])), "broadcasts": fmt_time(_way_back(runs[1]))},
        ),
        reads=program("partitions"),
        beside=(_zero(allgather_partitions="no"),),
        before=0.5,
        rows=1,
    )
    buckets = LessonStep(
        _zero(allgather_bucket_size="50MB"),
        Ask(
            _gathers,
            facts=lambda runs: {
                "bucket": fmt_size(runs[0].settings["allgather_bucket_size"]),
                "model": fmt_size(runs[0].facts["model_bytes"]),
            },
        ),
        before=0.5,
        rows=1,
        memory=True,
    )
    yield replace(buckets, again=(replace(buckets, plan=_zero(allgather_bucket_size="100MB")),))
