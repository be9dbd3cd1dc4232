"""Why all-to-all needs a good network."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from sim.units import MiB
from ui.lessons import Ask, LessonStep, Runs, busiest, lesson, ratio, times

HOSTS = "nodes:nodes=2,gpus=4,nvlink=100GBps,nic=25GBps"
TOKENS = Plan(algorithm="alltoall.linear", machine=HOSTS, size="64MiB")
CABLE = "H0.NIC0 → SPINE"
OPTIONS = ("half", "same", "twice", "four", "eight")


def _crosses(runs: Runs) -> float:
    """MiB that leave the first host."""
    trace = runs[0].trace
    links = enumerate(trace.topology.links)
    return sum(float(trace.link_bytes[i]) for i, link in links if f"{link.src} → {link.dst}" == CABLE) / MiB


@lesson(order=90)
def experts() -> Iterator[LessonStep]:
    """Tokens go to the ranks of their experts: everyone sends everyone something else, and nothing can be added up."""
    inside = ("H0.GPU0 → H0.SW", CABLE, "H1.SW → H1.GPU3")
    yield LessonStep(TOKENS, Ask(lambda runs: busiest(runs[0]), inside))
    tokens = LessonStep(TOKENS, Ask(_crosses, within=0.02, unit="MiB"))
    yield replace(tokens, again=(replace(tokens, plan=replace(TOKENS, size="16MiB")),))
    sums = replace(TOKENS, algorithm="allreduce.hierarchical_2d")
    yield LessonStep(sums, Ask(_crosses, within=0.02, unit="MiB"))
    wide = replace(TOKENS, against=f"machine={HOSTS},nics=4")
    yield LessonStep(
        wide, Ask(lambda runs: times(ratio(runs)), OPTIONS, facts=lambda runs: {"times": ratio(runs)}), view="time"
    )
