"""DDP's buckets: gradients leave while the backward pass goes on."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ops.plan.training import WorkloadPlan
from ops.training.step import COMM, COMPUTE, TrainingStep
from sim.units import fmt_size, fmt_time, parse_size
from ui.lessons import Ask, LessonStep, TrainingRuns, lesson

SIZES = ("100KiB", "25MiB", "1GiB")
WHEN = ("before the backward pass", "during the backward pass", "after the backward pass")
WHICH = ("first bucket", "a bucket in the middle", "last bucket")
STEP = WorkloadPlan("ddp", machine=Plan(machine="switch:ranks=8,bandwidth=3GBps,latency=20us"))


def _starts(runs: TrainingRuns) -> str:
    """When the first bucket leaves, against rank 0's backward pass."""
    spans = [span for span in runs[0].spans if span.rank == 0]
    first = min(span.start for span in spans if span.lane == COMM)
    backward = [span for span in spans if span.lane == COMPUTE and "backward" in span.name]
    began, ended = min(span.start for span in backward), max(span.end for span in backward)
    return WHEN[0] if first < began else WHEN[1] if first < ended else WHEN[2]


def _open(step: TrainingStep) -> list[float]:
    """Seconds of each bucket's way that no compute hides, in the order in which they leave."""
    computed = max(end for _, end in step.intervals(0, COMPUTE))
    return [max(0.0, call.end - max(call.start, computed)) for call in sorted(step.calls, key=lambda call: call.start)]


def _uncovered(runs: TrainingRuns) -> str:
    exposed = _open(runs[0])
    worst = exposed.index(max(exposed))
    return WHICH[0] if worst == 0 else WHICH[2] if worst == len(exposed) - 1 else WHICH[1]


def _shortest(runs: TrainingRuns) -> str:
    return SIZES[min(range(len(runs)), key=lambda k: runs[k].time)]


def _sizes(step: WorkloadPlan) -> LessonStep:
    """The step with each size of buckets."""
    sized = [replace(step, settings=(("bucket", size), ("first_bucket", size))) for size in SIZES]
    return LessonStep(
        sized[0],
        Ask(
            _shortest,
            SIZES,
            facts=lambda runs: {
                "small": fmt_time(runs[0].time),
                "middle": fmt_time(runs[1].time),
                "large": fmt_time(runs[2].time),
                "buckets": len(runs[0].calls),
                "latency": fmt_time(2 * runs[0].topology.links[0].latency),
                **dict(zip(("smallest", "usual", "largest"), map(fmt_size, map(parse_size, SIZES)), strict=True)),
            },
        ),
        beside=(sized[1], sized[2]),
        before=0.3,
        rows=1,
    )


@lesson(order=72)
def buckets() -> Iterator[LessonStep]:
    """Gradients of the last layers are on their way while those of the first are still being computed."""
    yield LessonStep(STEP, Ask(_starts, WHEN, facts=lambda runs: {"buckets": len(runs[0].calls)}), before=0.3, rows=2)
    yield LessonStep(
        STEP,
        Ask(
            _uncovered,
            WHICH,
            facts=lambda runs: {
                "exposed": fmt_time(runs[0].exposed_s),
                "saved": fmt_time(runs[1].time - runs[0].time),
            },
        ),
        beside=(replace(STEP, settings=(("overlap", "no"),)),),
        before=0.6,
        rows=1,
    )
    near = replace(STEP, machine=Plan(machine="switch:ranks=8,bandwidth=3GBps,latency=0s"))
    yield replace(_sizes(STEP), again=(_sizes(near),))
