"""NUMA, and what one slow hop costs everyone."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ops.plan.examples import example_captures
from sim.units import fmt_share
from ui.lessons import Ask, LessonStep, Runs, busiest, lesson, ratio, times

BOX = Plan(algorithm="allreduce.ring", machine="dual_socket_pcie", size="64MiB")
LINKS = ("CPU0 → CPU1", "GPU0 → PCI0", "PCI0 → CPU0", "NIC0 → PCI0")


def _kind(runs: Runs) -> str:
    worst = runs[0].bottleneck
    assert worst is not None, "the ring moves something"
    return worst.kind


def _slower(share: float) -> LessonStep:
    """The link between the sockets at a share of its bandwidth, beside what it was."""
    return LessonStep(
        replace(BOX, fault=f"slow_link:src=CPU0,dst=CPU1,share={share}", against="fault="),
        Ask(
            lambda runs: times(ratio(runs)),
            ("same", "twice", "four", "eight"),
            facts=lambda runs: {"times": ratio(runs), "share": fmt_share(share)},
        ),
    )


@lesson(order=50)
def numa() -> Iterator[LessonStep]:
    """A ring is as fast as its slowest hop."""
    yield LessonStep(BOX)
    yield LessonStep(BOX, Ask(lambda runs: busiest(runs[0]), LINKS), view="machine")
    yield replace(_slower(0.5), again=(_slower(0.25),))
    yield LessonStep(
        Plan(algorithm="allreduce.ring", capture=example_captures()["dgx-1v"], size="16MiB"),
        Ask(_kind, ("NVL", "PCI", "SYS"), facts=lambda runs: {"link": busiest(runs[0])}),
    )
