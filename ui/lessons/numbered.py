"""UCG's `I:4`: an algorithm by its number, and what it means for the cables between hosts."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ops.run import Run
from sim.units import MiB
from ui.lessons import Ask, LessonStep, Runs, fastest, lesson, program

MACHINE = "nodes:nodes=4,gpus=4,nic=12.5GBps"
BLOCKS = ",".join(f"{(r % 4 + 1) * 64}KiB" for r in range(16))
FOURTH = Plan(algorithm="allgatherv.kucg:I:4", machine=MACHINE, counts=BLOCKS)
REPORT = 128
"""Ranks on a host in the report."""
NAMES = ("linear", "ring", "neighbor_exchange", "bruck")
BOTH = ("I:4", "I:2")
CABLE = "H0.NIC0 → SPINE"


def _name(runs: Runs) -> str:
    return runs[0].work.name.partition(".")[2]


def _leaves(outcome: Run) -> float:
    """MiB that leave the first host."""
    trace = outcome.trace
    links = [f"{link.src} → {link.dst}" for link in trace.topology.links]
    return float(trace.link_bytes[links.index(CABLE)]) / MiB


@lesson(order=112)
def numbered() -> Iterator[LessonStep]:
    """An MPI of Huawei's is told `UCG_PLANC_UCX_ALLGATHERV_ATTR=I:4`: a number stands for an algorithm."""
    yield LessonStep(FOURTH, Ask(_name, NAMES), reads=program("allgatherv"), view="time")
    crosses = LessonStep(
        FOURTH,
        Ask(
            lambda runs: _leaves(runs[0]),
            within=0.02,
            unit="MiB",
            facts=lambda runs: {
                "blocks": f"{sum(runs[0].blocks or []) / 4 / MiB:g}",
                "elsewhere": 12,
                "hosts": 4,
                "report": REPORT,
            },
        ),
    )
    yield replace(crosses, again=(replace(crosses, plan=replace(FOURTH, counts=",".join(["256KiB"] * 16))),))
    yield LessonStep(
        replace(FOURTH, against="algorithm=allgatherv.kucg:I:2"),
        Ask(
            fastest(BOTH),
            BOTH,
            facts=lambda runs: {
                "fourth": f"{_leaves(runs[0]):.3g}",
                "second": f"{_leaves(runs[1]):.3g}",
                "times": f"{max(run.time for run in runs) / min(run.time for run in runs):.1f}",
            },
        ),
    )
