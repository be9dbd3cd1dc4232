"""Tensor, pipeline and data parallelism at once: how the largest models are trained."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.blocks import TransformerBlock, degree_of, transformer_block
from ops.training.folded import PlannedCall, Replicas
from ops.training.options import WIDTHS, Type
from ops.training.step import COMPUTE, TrainingStep
from ops.training.world import Process, Stream, World, ranks_at_work
from ops.workloads import workload
from ops.workloads.pipeline_parallel import FORWARD, order
from ops.workloads.tensor_parallel import Degree, Depth, Hidden, Length, Samples
from sim.errors import InputError
from sim.parameters import Bounds, Choice
from sim.topology import Topology

Many = Annotated[int, Bounds(0, 1 << 22)]
Stages = Annotated[int, Bounds(0, 1 << 12)]
"""0 stands for two where the ranks are enough, else one."""


@dataclass(frozen=True)
class ParallelGrid:
    """How ranks are dealt: neighbours share matrices, replicas follow each other, stages come last."""

    tensor: int
    data: int
    stages: int

    def stage(self, rank: int) -> int:
        """The stage of a rank."""
        return rank // (self.tensor * self.data)

    def near(self, rank: int) -> range:
        """The ranks that hold parts of the same matrices."""
        first = rank - rank % self.tensor
        return range(first, first + self.tensor)

    def far(self, rank: int) -> range:
        """The ranks that hold the same part, one in every replica.

        >>> list(ParallelGrid(2, 3, 4).far(9))
        [7, 9, 11]
        """
        width = self.tensor * self.data
        first = rank // width * width + rank % self.tensor
        return range(first, first + width, self.tensor)

    def neighbours(self, rank: int) -> tuple[int | None, int | None]:
        """The ranks of the same part and replica on the stages before and after, where there are any."""
        width = self.tensor * self.data
        before, after = rank - width, rank + width
        return before if before >= 0 else None, after if after < width * self.stages else None

    def classes(self, *, tensor: bool) -> np.ndarray:
        """Ranks that do the same, a row each: those of a stage, or those of one part of its matrices."""
        ranks = np.arange(self.tensor * self.data * self.stages, dtype=np.int64)
        if tensor:
            return ranks.reshape(self.stages, -1)
        return ranks.reshape(self.stages, self.data, self.tensor).transpose(0, 2, 1).reshape(-1, self.data)


@dataclass(frozen=True)
class _HybridStep:
    """One step: `depth` equal blocks a stage, `micros` micro-batches a replica."""

    grid: ParallelGrid
    block: TransformerBlock
    depth: int
    micros: int
    schedule: str

    @property
    def weights(self) -> float:
        """Bytes of one rank's part of its stage's parameters."""
        return self.depth * self.block.parameters * self.block.width / self.grid.tensor

    @property
    def halves(self) -> tuple[tuple[str, float], ...]:
        """Seconds of a rank's part of a block, forward."""
        block, t = self.block, self.grid.tensor
        return ("attention", block.attention / t), ("mlp", block.feedforward / t)

    def rank(self, world: World, rank: int, near: Stream, far: Stream) -> Process:
        grid, size = self.grid, self.block.activation
        world.hold(rank, "parameters", self.weights)
        world.hold(rank, "gradients", self.weights)
        before, after = grid.neighbours(rank)
        turns = list(order(self.schedule, grid.stage(rank), grid.stages, self.micros))
        arrivals = {
            (what, k): world.message(rank, source, rank, size, f"{called} {k}")
            for what, k in turns
            for source, called in [(before, "activations") if what == FORWARD else (after, "gradients")]
            if source is not None
        }
        for what, k in turns:
            if (what, k) in arrivals:
                yield arrivals[what, k]
            yield from self.turn(world, rank, near, what, k)
            target = after if what == FORWARD else before
            if target is not None:
                world.message(rank, rank, target, size, f"{'activations' if what == FORWARD else 'gradients'} {k}")
        if grid.data > 1:
            yield far.post(rank, "allreduce", self.weights, "gradients of the stage")

    def turn(self, world: World, rank: int, near: Stream, what: str, k: int) -> Process:
        """A micro-batch through the stage's blocks, forward or backward."""
        forward, kept = what == FORWARD, 2 * self.block.activation
        halves = self.halves if forward else self.halves[::-1]
        for _ in range(self.depth):
            for name, seconds in halves:
                said = f"{name} {k}" if forward else f"{name} backward {k}"
                yield from world.compute(rank, seconds if forward else 2 * seconds, said)
                if self.grid.tensor > 1:
                    yield near.post(rank, "allreduce", self.block.activation, f"sum {said}")
        world.hold(rank, "activations", self.depth * (kept if forward else -kept))

    def replicas(self, *, tensor: bool) -> Replicas:
        """What the step calls, told of one rank for all that do the same."""
        grid, members = self.grid, self.grid.classes(tensor=tensor)
        calls = dict.fromkeys(call for rank in members[:, 0].tolist() for call in self._calls(rank))
        pairs = [
            (rank, other) for rank in members[:, 0].tolist() for other in grid.neighbours(rank) if other is not None
        ]
        return Replicas(members, list(calls), pairs)

    def _calls(self, rank: int) -> Iterator[PlannedCall]:
        if self.grid.tensor > 1:
            yield PlannedCall(self.grid.near(rank), "allreduce", self.block.activation)
        if self.grid.data > 1:
            yield PlannedCall(self.grid.far(rank), "allreduce", self.weights)

    def world(self, topology: Topology, transport: BackendChoice, *, unfolded: bool) -> World:
        """All ranks, or one for as many as the machine lets be alike."""
        n = self.grid.tensor * self.grid.data * self.grid.stages
        for tensor in () if unfolded else (True, False):
            alike = self.replicas(tensor=tensor)
            world = world_of(topology, n, transport, alike=alike)
            if world.copies > 1:
                return world
        return world_of(topology, n, transport)

    def run(self, world: World) -> TrainingStep:
        groups: dict[range, Stream] = {}

        def stream(ranks: range) -> Stream:
            return groups.setdefault(ranks, groups.get(ranks) or world.group(ranks))

        grid = self.grid
        return world.step(
            world.run(lambda rank: self.rank(world, rank, stream(grid.near(rank)), stream(grid.far(rank))))
        )


@workload
@communicates("ideal")
def hybrid_parallel(
    topology: Topology,
    *,
    ranks: Many = 0,
    tensor: Degree = 0,
    stages: Stages = 0,
    micro_batches: Annotated[int, Bounds(1, 4096)] = 8,
    schedule: Annotated[str, Choice(("1f1b", "gpipe"))] = "1f1b",
    depth: Depth = 8,
    hidden: Hidden = 4096,
    length: Length = 2048,
    batch: Samples = 1,
    dtype: Type = "float16",
    tflops: float = 100.0,
    unfolded: bool = False,
    transport: BackendChoice,
) -> TrainingStep:
    """Tensor, pipeline and data parallel transformer blocks: matrices cut over neighbours, stages, replicas of it all.

    As many replicas as ranks are left for: ranks / (tensor * stages). Ranks are dealt as in Megatron-LM (Narayanan et
    al. 2021): first `tensor` neighbours, those of a host if left out, then replicas, then stages. `depth` blocks are
    shared out among the stages, `batch` is one micro-batch. Each micro-batch is summed twice per block each way, goes
    from every rank of a stage to its counterpart on the next, and gradients are summed over the replicas in the end.
    Ranks that do and see the same are simulated once, unless `unfolded`: the times are those of the run of them all.
    """
    n = ranks_at_work(topology, ranks)
    tensor = tensor or degree_of(topology, n, 0, "hybrid_parallel")
    stages = stages or 2 - (n % (2 * tensor) > 0 or depth % 2 > 0)
    if n % (tensor * stages):
        raise InputError("hybrid_parallel.ranks", n=n, stages=stages, tensor=tensor)
    if depth % stages:
        raise InputError("hybrid_parallel.blocks", depth=depth, stages=stages)
    block = transformer_block(hidden, length, batch, WIDTHS[dtype], tflops, "hybrid_parallel")
    grid = ParallelGrid(tensor, n // (tensor * stages), stages)
    plan = _HybridStep(grid, block, depth // stages, micro_batches, schedule)
    world = plan.world(topology, transport, unfolded=unfolded)
    step = plan.run(world)
    busy = [step.busy(rank, COMPUTE) for rank in step.stands_for]
    step.facts.update(
        replicas=grid.data, stages=stages, ranks_per_tensor_group=tensor,
        transfers=world.copies * world.transfers, simulated_transfers=world.transfers,
        simulated_ranks=len(step.stands_for),
        compute_s=micro_batches * 3 * plan.depth * sum(seconds for _, seconds in plan.halves),
        bubble_share=1 - sum(busy) / (len(busy) * step.time) if step.time else 0.0,
        ideal_bubble_share=(stages - 1) / (micro_batches + stages - 1)
    )  # fmt: skip
    return step
