"""What flows that share a link do to each other."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ops.plan import Plan
from sim.units import GBps, fmt_bandwidth
from ui.lessons import Ask, LessonStep, Runs, lesson, ratio, times

NAMES = ("alltoall.linear", "alltoall.pairwise")
CROWD = Plan(algorithm=NAMES[0], machine="nodes:nodes=2,gpus=4,nics=1", size="64MiB")


def _crossing(runs: Runs) -> float:
    """How many flows are on the busiest link when it is busiest."""
    trace = runs[0].trace
    worst = runs[0].bottleneck
    assert worst is not None, "an alltoall moves something"
    on_it = [i for i in range(trace.schedule.transfers) if worst.link in trace.route_of(i)]
    middle = (trace.start[on_it].max() + trace.arrived[on_it].min()) / 2
    return float(np.count_nonzero((trace.start[on_it] <= middle) & (middle < trace.arrived[on_it])))


def _share(runs: Runs) -> float:
    """GB/s of each of them."""
    worst = runs[0].bottleneck
    assert worst is not None, "an alltoall moves something"
    return worst.bandwidth / _crossing(runs) / GBps


def _facts(runs: Runs) -> dict[str, str]:
    worst = runs[0].bottleneck
    assert worst is not None, "an alltoall moves something"
    return {"flows": f"{_crossing(runs):g}", "rate": fmt_bandwidth(worst.bandwidth)}


@lesson(order=90)
def contention() -> Iterator[LessonStep]:
    """A link is shared fairly, and whoever crosses a crowded one is late everywhere."""
    flows = LessonStep(CROWD, Ask(_crossing))
    yield replace(flows, again=(replace(flows, plan=replace(CROWD, machine="nodes:nodes=2,gpus=3,nics=1")),))
    yield LessonStep(CROWD, Ask(_share, within=0.02, unit="GB/s", facts=_facts))
    yield LessonStep(
        replace(CROWD, against=f"algorithm={NAMES[1]}"),
        Ask(
            lambda runs: times(1 / ratio(runs)),
            ("half", "same", "twice", "four"),
            facts=lambda runs: {"times": 1 / ratio(runs)},
        ),
        view="time",
    )
