"""Features of all ranks in one loss: the all-gather, and what its backward pass owes."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.losses import GRADIENTS, error, example
from ops.training.models import TFLOPS
from ops.training.options import WIDTHS, Ranks, Type, positive
from ops.training.step import TrainingStep
from ops.training.world import Process, World
from ops.workloads import workload
from sim.parameters import Bounds, Choice
from sim.topology import Topology
from sim.units import Time, ms

CHECKED = {"ranks": 16, "batch": 4, "features": 8, "classes": 5}
"""The largest tensors whose gradients are computed with real numbers."""
EQUAL = 1e-12


@dataclass(frozen=True)
class _Loss:
    """Sizes of one step's loss; `batch` per rank, `classes` over all ranks."""

    loss: str
    gradient: str
    batch: int
    features: int
    classes: int
    width: int
    speed: float
    forward: float
    backward: float

    @property
    def towers(self) -> tuple[str, ...]:
        """Whose features are gathered."""
        return {"clip": ("images", "texts"), "infonce": ("texts",), "faces": ("faces",)}[self.loss]

    def gathered(self, n: int) -> float:
        """Bytes of one tower's features, all ranks together."""
        return float(n * self.batch * self.features * self.width)

    def logits(self, n: int) -> float:
        """How many logits a rank computes."""
        if self.loss == "faces":
            return n * self.batch * self.classes / n
        return float(len(self.towers) * self.batch * n * self.batch)

    def memory(self, n: int) -> float:
        """Bytes a rank needs for gathered features, logits and the gradients by them."""
        features = len(self.towers) * self.gathered(n)
        back = features if self.gradient not in ("none", "own") else 0.0
        return features + self.logits(n) * self.width + back

    def rank(self, world: World, rank: int) -> Process:
        n, post = world.ranks, world.everyone.post
        size, logits = self.gathered(n), self.logits(n)
        product = 2 * logits * self.features / self.speed
        yield from world.compute(rank, self.forward, "forward")
        world.hold(rank, "gathered features", size * len(self.towers))
        yield world.env.all_of([post(rank, "allgather", size, f"gather {tower}") for tower in self.towers])
        world.hold(rank, "logits", logits * self.width)
        yield from world.compute(rank, product, "logits and loss")
        if self.loss == "faces":
            for what in ("largest logits", "sums"):
                yield post(rank, "allreduce", n * self.batch * 4.0, what)
        yield from world.compute(rank, 2 * product, "gradients of the logits")
        for tower in self.towers if self.gradient in ("allreduce", "reduce_scatter") else ():
            world.hold(rank, "gradients of gathered", size)
            yield post(rank, self.gradient, size, f"gradients of {tower}")
        back = size if self.gradient in ("allreduce", "reduce_scatter") else 0.0
        world.hold(rank, "gathered features", -size * len(self.towers))
        world.hold(rank, "gradients of gathered", -back * len(self.towers))
        world.hold(rank, "logits", -logits * self.width)
        yield from world.compute(rank, self.backward, "backward")

    def run(self, topology: Topology, ranks: int, transport: BackendChoice) -> TrainingStep:
        world = world_of(topology, ranks, transport)
        return world.step(world.run(lambda rank: self.rank(world, rank)))


@workload
@communicates("nccl")
def contrastive(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    loss: Annotated[str, Choice(("clip", "infonce", "faces"))] = "clip",
    gradient: Annotated[str, Choice(GRADIENTS)] = "reduce_scatter",
    batch: Annotated[int, Bounds(1, 1 << 20)] = 256,
    features: Annotated[int, Bounds(1, 1 << 20)] = 512,
    classes: Annotated[int, Bounds(1, 1 << 30)] = 1_000_000,
    dtype: Type = "float32",
    tflops: float = 10.0,
    forward: Time = 20 * ms,
    backward: Time = 40 * ms,
    transport: BackendChoice,
) -> TrainingStep:
    """All-gather of features for a loss over all ranks (CLIP, InfoNCE, faces), with or without its gradient.

    `gradient` is what comes back through the gather: `none`, as plain `all_gather` gives it; the rank's `own` part,
    where its block is put back into the gathered tensor; all of it by `allreduce` and a slice, or by
    `reduce_scatter`, which sends half the bytes because nobody gets what it would throw away. The figures say for
    each whether it equals the gradient of the same loss on one device, computed with small tensors in float64.
    `faces` shares `classes` class weights out over the ranks. `batch` is per rank; `forward` and `backward` are the
    encoder's times.
    """
    positive(tflops, "contrastive: tflops")
    case = _Loss(loss, gradient, batch, features, classes, WIDTHS[dtype], tflops * TFLOPS, forward, backward)
    step = case.run(topology, ranks, transport)
    n = step.ranks
    small = example(
        loss, min(n, CHECKED["ranks"]), min(batch, CHECKED["batch"]), min(features, CHECKED["features"]),
        CHECKED["classes"],
    )  # fmt: skip
    rows: list[dict[str, Any]] = []
    for how in GRADIENTS:
        off = error(loss, small, how)
        other = step if how == gradient else replace(case, gradient=how).run(topology, ranks, transport)
        rows.append({"gradient": how, "step_time_s": other.time, "gradient_error": off, "equal": off <= EQUAL})
    chosen = rows[GRADIENTS.index(gradient)]
    return replace(
        step,
        facts={
            "gradient_error": chosen["gradient_error"],
            "gradients_equal": chosen["equal"],
            "by_gradient": rows,
            "global_batch": n * batch,
            "memory_by_ranks": [{"ranks": 1 << k, "memory_bytes": case.memory(1 << k)} for k in range(11)],
        },
    )
