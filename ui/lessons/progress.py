"""Non-blocking collectives: what runs behind the compute, and who moves it on."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from ops.training.step import COMM, COMPUTE
from sim.units import fmt_time, ms
from ui.lessons import Ask, LessonStep, TrainingRuns, lesson

MACHINE = Plan(machine="switch:ranks=4,bandwidth=10GBps")


def _program(progress: str, tests: int, machine: Plan = MACHINE) -> WorkloadPlan:
    settings = {"progress": progress, "tests": str(tests), "size": "8MiB", "compute": "5ms"}
    return WorkloadPlan("iallgather", tuple(settings.items()), machine)


def _trials(ranks: int) -> LessonStep:
    """The program with no test, with one, and so on to as many as the ring has messages."""
    tried = [_program("calls", tests, Plan(machine=f"switch:ranks={ranks},bandwidth=10GBps")) for tests in range(ranks)]
    return LessonStep(tried[0], Ask(_enough, facts=_facts), beside=tuple(tried[1:]), before=0.1, rows=1)


def _whole(runs: TrainingRuns) -> float:
    return runs[0].time / ms


def _behind(runs: TrainingRuns) -> float:
    """Messages of rank 0 that have arrived when its compute ends."""
    step = runs[0]
    computed = max(end for _, end in step.intervals(0, COMPUTE))
    return float(sum(span.end <= computed for span in step.spans if span.rank == 0 and span.lane == COMM))


def _enough(runs: TrainingRuns) -> float:
    """The fewest tests with which nothing stands in the open."""
    return float(min(run.settings["tests"] for run in runs if run.exposed_s <= 1e-3 * run.time))


def _facts(runs: TrainingRuns) -> dict[str, Any]:
    facts = runs[0].facts
    return {
        "compute": fmt_time(runs[0].busy(0, COMPUTE)),
        "alone": fmt_time(facts["allgather_s"]),
        "blocking": fmt_time(facts["blocking_s"]),
        "exposed": fmt_time(runs[0].exposed_s),
        "tried": ", ".join(str(run.settings["tests"]) for run in runs),
    }


@lesson(order=105)
def progress() -> Iterator[LessonStep]:
    """A call that returns at once has only begun: somebody must move its messages on."""
    yield LessonStep(_program("hardware", 0), Ask(_whole, within=0.05, unit="ms", facts=_facts), before=0.1, rows=2)
    yield LessonStep(_program("calls", 0), Ask(_behind, facts=_facts), before=0.1, rows=2)
    yield replace(_trials(4), again=(_trials(5),))
