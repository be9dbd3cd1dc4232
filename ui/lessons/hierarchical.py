"""Inside the node first, then between nodes."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ui.lessons import Ask, LessonStep, fastest, lesson, ratio

NAMES = ("allreduce.ring", "allreduce.hierarchical_2d")
NODES, GPUS = 4, 8
FLAT = Plan(algorithm=NAMES[0], machine=f"nodes:nodes={NODES},gpus={GPUS}", size="64KiB")
BOTH = replace(FLAT, against=f"algorithm={NAMES[1]}")


@lesson(order=60)
def hierarchical() -> Iterator[LessonStep]:
    """Two levels of links want two levels of algorithm."""
    flat = LessonStep(FLAT, Ask(lambda runs: float(runs[0].breakdown.messages), within=0.02))
    yield replace(flat, again=(replace(flat, plan=replace(FLAT, machine=f"nodes:nodes=2,gpus={GPUS}")),))
    yield LessonStep(BOTH, Ask(fastest(NAMES), NAMES, facts=lambda runs: {"times": ratio(runs)}), view="time")
    yield LessonStep(
        BOTH,
        Ask(
            lambda runs: float(runs[1].breakdown.messages),
            within=0.02,
            facts=lambda runs: {
                "flat": runs[0].breakdown.messages,
                "inside": GPUS - 1,
                "between": 2 * (NODES - 1),
            },
        ),
        view="shape",
    )
