"""One rank that adds for all, against a ring."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ui.lessons import Ask, LessonStep, busiest, lesson, ratio, times

SERVER = Plan(algorithm="allreduce.linear", machine="switch:ranks=8", size="64MiB")
BOTH = replace(SERVER, against="algorithm=allreduce.ring")


@lesson(order=70)
def server() -> Iterator[LessonStep]:
    """A parameter server's link carries what all the others' do together."""
    yield LessonStep(SERVER, Ask(lambda runs: busiest(runs[0]), ("GPU0 → SW", "GPU3 → SW", "SW → GPU7")))
    beside = LessonStep(
        BOTH,
        Ask(
            lambda runs: times(ratio(runs)),
            ("same", "twice", "four", "eight"),
            facts=lambda runs: {"times": ratio(runs)},
        ),
    )
    yield replace(beside, again=(replace(beside, plan=replace(BOTH, machine="switch:ranks=4")),))
    yield LessonStep(
        replace(SERVER, machine="switch:ranks=16", against="machine=switch:ranks=8"),
        Ask(
            lambda runs: times(ratio(runs)),
            ("same", "twice", "four", "eight"),
            facts=lambda runs: {"times": ratio(runs)},
        ),
    )
