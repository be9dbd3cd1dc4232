"""The runs that answer a lesson's question, and the figures that its words may tell of them."""

from collections.abc import Sequence
from typing import Any

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from ops.run import Run
from ops.training.step import TrainingStep
from sim.trace.breakdown import breakdown
from sim.units import fmt_size, fmt_time
from ui.lessons import AnyPlan
from ui.plan.picture import carried_out


def runs_of(plans: Sequence[AnyPlan]) -> list[Any]:
    """The runs of a step's plans: outcomes, or training steps. Raises InputError and StalledError."""
    return [carried_out(plan) if isinstance(plan, Plan) else plan.run() for plan in plans]


def titles(plans: Sequence[WorkloadPlan]) -> list[str]:
    """What training steps that stand below each other are called: the parameters in which they differ."""
    settings = [dict(plan.settings) for plan in plans]
    usual = plans[0].entry.params
    named = dict.fromkeys(key for words in settings for key in words)
    rows = {key: [words.get(key, usual[key].typed) for words in settings] for key in named}
    differing = {key: words for key, words in rows.items() if len(set(words)) > 1}
    return [" · ".join(f"{key}={words[k]}" for key, words in differing.items()) for k in range(len(plans))]


def figures(runs: list[Any]) -> dict[str, Any]:
    """What every text of a lesson may tell of its runs, by the names that are filled in.

    Of a collective's run `ranks`, `others` (ranks less one), `half` (of the ranks), `doubled` (twice the
    others), `size`, `each` (a rank's share of the size), `steps` and `messages` in a row; of a training step `ranks`,
    `others` and `time`.
    """
    first = runs[0]
    if isinstance(first, TrainingStep):
        return {"ranks": first.ranks, "others": first.ranks - 1, "time": fmt_time(first.time)}
    return _of_outcome(first)


def _of_outcome(outcome: Run) -> dict[str, Any]:
    trace = outcome.trace
    n = trace.schedule.n
    return {
        "ranks": n,
        "others": n - 1,
        "half": n // 2,
        "doubled": 2 * (n - 1),
        "size": fmt_size(trace.size),
        "each": fmt_size(trace.size / n),
        "steps": trace.schedule.steps,
        "messages": breakdown(trace).messages,
    }
