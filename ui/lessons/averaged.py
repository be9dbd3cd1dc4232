"""DDP averages gradients: where a factor of the number of ranks is lost, and where it is not."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from ops.training.losses import numbers
from ui.lessons import Ask, LessonStep, TrainingRuns, lesson, program


def _plan(gradient: str, n: int = 4) -> WorkloadPlan:
    return WorkloadPlan("contrastive", (("gradient", gradient),), Plan(machine=f"switch:ranks={n}"))


def _too_small(gathered: np.ndarray) -> float:
    """How many times too small DDP's average is; `gathered[rank]` is what each rank's backward pass leaves."""
    n = len(gathered)
    averaged = numbers.allreduce(gathered)[0] / n
    return float(_parts(n).sum() / averaged.sum())


def _parts(n: int) -> np.ndarray:
    """The share in the whole gradient that goes through each rank's own features."""
    return np.arange(1.0, n + 1)[:, None] * np.ones(3)


def _own(runs: TrainingRuns) -> float:
    """Every rank computes the same loss, and its own features alone have a gradient."""
    return _too_small(_parts(runs[0].ranks))


def _through(runs: TrainingRuns) -> float:
    """Every rank computes the same loss, and each gets from all of them what goes through its features."""
    n = runs[0].ranks
    return _too_small(numbers.reduce_scatter(np.broadcast_to(_parts(n), (n, n, 3)).copy()))


@lesson(order=83)
def averaged() -> Iterator[LessonStep]:
    """Every rank gathers all features, puts its own block back where it has a gradient, and computes the whole loss."""
    own = LessonStep(_plan("own"), Ask(_own, within=0.01), reads=program("average"), rows=2)
    yield replace(own, again=(replace(own, plan=_plan("own", 8)),))
    yield LessonStep(_plan("reduce_scatter"), Ask(_through, within=0.01), reads=program("average"), rows=2)
