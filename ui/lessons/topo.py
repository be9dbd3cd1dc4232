"""Reading the table that `nvidia-smi topo -m` prints."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from textwrap import dedent

from ops.plan import Plan
from ops.plan.examples import example_captures
from ui.lessons import Ask, LessonStep, Runs, lesson

TEXT = example_captures()["dgx-1v"]
TABLE = dedent(TEXT.split("\n\n")[0])
BOX = Plan(algorithm="allreduce.ring", capture=TEXT, size="64MiB")
GPUS = [f"GPU{k}" for k in range(8)]
HOPS = ("GPU1 → GPU2", "GPU3 → GPU4", "GPU5 → GPU6")
NICS = [f"mlx5_{k}" for k in range(4)]
FIRST, SECOND, NEAR = "GPU0", "GPU3", "GPU4"


def _label(runs: Runs, a: str, b: str) -> str:
    return runs[0].topology.pairs[a][b]


def _joined(a: str, b: str) -> LessonStep:
    """The question how many NVLinks join two GPUs."""

    def nvlinks(runs: Runs) -> float:
        return float(_label(runs, a, b).removeprefix("NV"))

    return LessonStep(BOX, Ask(nvlinks, facts=lambda runs: {"a": a, "b": b, "label": _label(runs, a, b)}), reads=TABLE)


def _nearest(runs: Runs) -> str:
    """The NIC behind the same PCIe switch."""
    return next(nic for nic in NICS if _label(runs, NEAR, nic) == "PIX")


def _without(runs: Runs) -> str:
    """The hop of a ring in the order of ranks that has no NVLink."""
    bare = {f"{a} → {b}" for a, b in pairwise(GPUS) if not _label(runs, a, b).startswith("NV")}
    return next(hop for hop in HOPS if hop in bare)


def _faster(runs: Runs) -> float:
    return runs[0].time / runs[1].time


@lesson(order=55)
def topo() -> Iterator[LessonStep]:
    """A row and a column for every device: what stands where they cross is how the two are joined."""
    yield replace(_joined(FIRST, SECOND), again=(_joined("GPU2", "GPU6"),))
    yield LessonStep(BOX, Ask(_nearest, NICS, facts=lambda runs: {"near": NEAR}), reads=TABLE)
    yield LessonStep(
        BOX, Ask(_without, HOPS, facts=lambda runs: {"label": _label(runs, *_without(runs).split(" → "))}), reads=TABLE
    )
    yield LessonStep(replace(BOX, against="algorithm=nccl.allreduce"), Ask(_faster, within=0.5), view="time")
