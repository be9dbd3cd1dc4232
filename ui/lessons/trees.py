"""Trees, and cutting data into segments that follow each other."""

from collections.abc import Iterator
from dataclasses import replace

from ops.plan import Plan
from ui.drawing.holders import holders
from ui.lessons import Ask, LessonStep, fastest, lesson, ratio

N, ROUNDS = 16, 3
TREE = Plan(algorithm="broadcast.binomial", machine=f"switch:ranks={N}", size="64MiB")
PIPE = "algorithm=broadcast.chain&settings=segments=64"
PAIR = ("broadcast.binomial", "broadcast.chain")
DOUBLE = ("allreduce.ring", "allreduce.double_binary_tree")


@lesson(order=40)
def trees() -> Iterator[LessonStep]:
    """A tree reaches everyone in few rounds; a pipeline keeps all links busy; two trees do both."""
    yield LessonStep(
        TREE,
        Ask(
            lambda runs: float(len(holders(runs[0], 0, 1, step=ROUNDS))),
            unit="ranks",
            facts=lambda runs: {"rounds": ROUNDS},
        ),
        until=ROUNDS,
        view="shape",
    )
    rounds = LessonStep(TREE, Ask(lambda runs: float(runs[0].breakdown.messages)), view="time")
    yield replace(rounds, again=(replace(rounds, plan=replace(TREE, machine=f"switch:ranks={4 * N}")),))
    yield LessonStep(
        replace(TREE, against=PIPE),
        Ask(fastest(PAIR), PAIR, facts=lambda runs: {"times": max(ratio(runs), 1 / ratio(runs))}),
        view="time",
    )
    yield LessonStep(
        replace(TREE, algorithm=DOUBLE[0], size="256KiB", against=f"algorithm={DOUBLE[1]}"),
        Ask(
            fastest(DOUBLE),
            DOUBLE,
            facts=lambda runs: {"ring": runs[0].breakdown.messages, "tree": runs[1].breakdown.messages},
        ),
        view="shape",
    )
