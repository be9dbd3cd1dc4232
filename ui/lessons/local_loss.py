"""CLIP's local loss: every rank computes the rows of its own samples alone."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from sim.units import MiB
from ui.lessons import Ask, LessonStep, TrainingRuns, lesson, program

BATCH = 256


def _plan(n: int) -> WorkloadPlan:
    return WorkloadPlan("contrastive", (("batch", str(BATCH)),), Plan(machine=f"switch:ranks={n}"))


def _logits(runs: TrainingRuns) -> float:
    """MiB of logits that a rank holds."""
    return max(change.bytes for change in runs[0].changes if change.kind == "logits") / MiB


def _all_rows(runs: TrainingRuns) -> float:
    """MiB where every rank computes the rows of all."""
    return _logits(runs) * runs[0].ranks


@lesson(order=84)
def local_loss() -> Iterator[LessonStep]:
    """CLIP compares every image with every text of all ranks."""

    def facts(runs: TrainingRuns) -> dict[str, object]:
        n = runs[0].ranks
        return {"batch": BATCH, "samples": n * BATCH, "local": f"{_logits(runs):g}", "towers": 2, "width": 4}

    rows = LessonStep(
        _plan(8), Ask(_logits, within=0.01, unit="MiB", facts=facts), reads=program("local_loss"), before=0.3,
        rows=1, memory=True,
    )  # fmt: skip
    yield replace(rows, again=(replace(rows, plan=_plan(16)),))
    yield replace(rows, ask=Ask(_all_rows, within=0.01, unit="MiB", facts=facts), reads="")
