"""Tensor parallelism: every matrix cut over neighbours, two sums per block each way."""

from dataclasses import dataclass
from typing import Annotated

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.blocks import TransformerBlock, across, degree_of, neighbours, transformer_block
from ops.training.options import WIDTHS, Ranks, Type
from ops.training.step import TrainingStep
from ops.training.world import Process, Stream, World
from ops.workloads import workload
from sim.parameters import Bounds
from sim.topology import Topology

Depth = Annotated[int, Bounds(1, 1000)]
Hidden = Annotated[int, Bounds(1, 1 << 17)]
Length = Annotated[int, Bounds(1, 1 << 24)]
Samples = Annotated[int, Bounds(1, 1 << 20)]
Degree = Annotated[int, Bounds(0, 1 << 16)]
"""Ranks per group; 0 stands for a host's, or a NUMA node's where there is one host."""


@dataclass(frozen=True)
class _TensorStep:
    """One step of `depth` equal blocks, gradients summed over the replicas of every part."""

    block: TransformerBlock
    depth: int
    degree: int
    scattered: bool
    gradients: bool

    def rank(self, world: World, rank: int, group: Stream, others: Stream) -> Process:
        block, t = self.block, self.degree
        share = block.parameters * block.width / t
        activation = block.activation / (t if self.scattered else 1)
        world.hold(rank, "parameters", self.depth * share)
        halves = (("attention", block.attention / t), ("mlp", block.feedforward / t))
        for _ in range(self.depth):
            for name, seconds in halves:
                yield from self.part(world, rank, group, seconds, name)
                world.hold(rank, "activations", activation)
        works = []
        for _ in range(self.depth):
            for name, seconds in reversed(halves):
                yield from self.part(world, rank, group, 2 * seconds, f"{name} backward")
                world.hold(rank, "activations", -activation)
            world.hold(rank, "gradients", share)
            if self.gradients and len(others.ranks) > 1:
                works.append(others.post(rank, "allreduce", share, "gradients"))
        yield world.env.all_of(works)

    def part(self, world: World, rank: int, group: Stream, seconds: float, name: str) -> Process:
        """Half a block. Where activations are scattered they are gathered before, and scattered as they are summed."""
        size = self.block.activation
        if self.scattered:
            yield group.post(rank, "allgather", size, f"gather {name}")
            yield from world.compute(rank, seconds, name)
            yield group.post(rank, "reduce_scatter", size, f"scatter {name}")
        else:
            yield from world.compute(rank, seconds, name)
            yield group.post(rank, "allreduce", size, f"sum {name}")

    def run(self, world: World) -> TrainingStep:
        near = [world.group(group) for group in neighbours(world.ranks, self.degree)]
        far = [world.group(group) for group in across(world.ranks, self.degree)]

        def rank(rank: int) -> Process:
            return self.rank(world, rank, near[rank // self.degree], far[rank % self.degree])

        step = world.step(world.run(rank))
        step.facts.update(
            tensor_groups=len(near), ranks_per_tensor_group=self.degree, replicas=len(far[0].ranks),
            collectives_per_block=8 if self.scattered else 4,
            compute_s=3 * self.depth * (self.block.attention + self.block.feedforward) / self.degree
        )  # fmt: skip
        return step


@workload
@communicates("nccl")
def tensor_parallel(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    degree: Degree = 0,
    depth: Depth = 8,
    hidden: Hidden = 4096,
    length: Length = 2048,
    batch: Samples = 1,
    dtype: Type = "float16",
    tflops: float = 100.0,
    scattered: bool = False,
    gradients: bool = True,
    transport: BackendChoice,
) -> TrainingStep:
    """Tensor parallel transformer blocks: matrices cut over `degree` neighbours, sums of activations between.

    Per block two allreduces forward and two backward (Shoeybi et al. 2019, Megatron-LM); with `scattered`
    activations (Korthikanti et al. 2022) each becomes an allgather and a reduce-scatter. The groups beside each other
    are replicas: with `gradients` each part's are summed over them behind the backward pass, over the same links.
    """
    block = transformer_block(hidden, length, batch, WIDTHS[dtype], tflops, "tensor_parallel")
    world = world_of(topology, ranks, transport)
    size = degree_of(topology, world.ranks, degree, "tensor_parallel")
    return _TensorStep(block, depth, size, scattered, gradients).run(world)
