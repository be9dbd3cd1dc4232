"""Tensor parallelism: every matrix cut over neighbours, two sums per block each way."""

from dataclasses import dataclass
from typing import Annotated

from ops.training.backends import BackendName, world
from ops.training.blocks import TransformerBlock, across, block, degree_of, neighbours
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

    def rank(self, there: World, rank: int, mine: Stream, others: Stream) -> Process:
        one, t = self.block, self.degree
        share = one.parameters * one.width / t
        kept = one.activation / (t if self.scattered else 1)
        there.hold(rank, "parameters", self.depth * share)
        halves = (("attention", one.attention / t), ("mlp", one.feedforward / t))
        for _ in range(self.depth):
            for name, seconds in halves:
                yield from self.part(there, rank, mine, seconds, name)
                there.hold(rank, "activations", kept)
        works = []
        for _ in range(self.depth):
            for name, seconds in reversed(halves):
                yield from self.part(there, rank, mine, 2 * seconds, f"{name} backward")
                there.hold(rank, "activations", -kept)
            there.hold(rank, "gradients", share)
            if self.gradients and len(others.ranks) > 1:
                works.append(others.post(rank, "allreduce", share, "gradients"))
        yield there.env.all_of(works)

    def part(self, there: World, rank: int, mine: Stream, seconds: float, name: str) -> Process:
        """Half a block. Where activations are scattered they are gathered before, and scattered as they are summed."""
        size = self.block.activation
        if self.scattered:
            yield mine.post(rank, "allgather", size, f"gather {name}")
            yield from there.compute(rank, seconds, name)
            yield mine.post(rank, "reduce_scatter", size, f"scatter {name}")
        else:
            yield from there.compute(rank, seconds, name)
            yield mine.post(rank, "allreduce", size, f"sum {name}")

    def run(self, there: World) -> TrainingStep:
        near = [there.group(group) for group in neighbours(there.ranks, self.degree)]
        far = [there.group(group) for group in across(there.ranks, self.degree)]

        def rank(rank: int) -> Process:
            return self.rank(there, rank, near[rank // self.degree], far[rank % self.degree])

        step = there.step(there.run(rank))
        step.facts.update(
            tensor_groups=len(near), ranks_per_tensor_group=self.degree, replicas=len(far[0].ranks),
            collectives_per_block=8 if self.scattered else 4,
            compute_s=3 * self.depth * (self.block.attention + self.block.feedforward) / self.degree
        )  # fmt: skip
        return step


@workload
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
    backend: BackendName = "nccl",
) -> TrainingStep:
    """Tensor parallel transformer blocks: matrices cut over `degree` neighbours, sums of activations between.

    Per block two allreduces forward and two backward (Shoeybi et al. 2019, Megatron-LM); with `scattered`
    activations (Korthikanti et al. 2022) each becomes an allgather and a reduce-scatter. The groups beside each other
    are replicas: with `gradients` each part's are summed over them behind the backward pass, over the same links.
    """
    one = block(hidden, length, batch, WIDTHS[dtype], tflops, "tensor_parallel")
    there = world(topology, ranks, backend)
    size = degree_of(topology, there.ranks, degree, "tensor_parallel")
    return _TensorStep(one, depth, size, scattered, gradients).run(there)
