"""Tensor-parallel decoding: a token a sequence at a time, all weights read for each, two sums a block."""

from typing import Annotated

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.blocks import degree_of, neighbours
from ops.training.models import TFLOPS
from ops.training.options import WIDTHS, Ranks, Type, positive
from ops.training.step import TrainingStep
from ops.training.world import Process
from ops.workloads import workload
from ops.workloads.tensor_parallel import Degree, Depth, Hidden, Length, Samples
from sim.parameters import Bounds
from sim.topology import Topology
from sim.units import Bandwidth, GBps

A100_MEMORY = 2039 * GBps
"""HBM2e of an A100 80GB SXM (NVIDIA A100 datasheet)."""


@workload
@communicates("nccl")
def decode(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    degree: Degree = 0,
    depth: Depth = 32,
    hidden: Hidden = 4096,
    length: Length = 2048,
    batch: Samples = 8,
    tokens: Annotated[int, Bounds(1, 1024)] = 2,
    dtype: Type = "float16",
    tflops: float = 312.0,
    memory: Bandwidth = A100_MEMORY,
    transport: BackendChoice,
) -> TrainingStep:
    """Tensor-parallel decoding: `batch` sequences get their next token, blocks cut over `degree` neighbours.

    A half of a block takes what its operations take at `tflops` or what reading takes at the `memory`'s bandwidth,
    whichever is longer (Pope et al. 2022, section 2): attention reads 4 h² weights and the keys and values of `length`
    tokens a sequence, feed-forward 8 h² weights. After each half the ranks of a group sum one token's activations a
    sequence, and nothing hides it. Groups beside each other serve sequences of their own. Speeds are an A100's.
    """
    positive(tflops, "decode: tflops")
    positive(memory, "decode: memory")
    world = world_of(topology, ranks, transport)
    size = degree_of(topology, world.ranks, degree, "decode")
    groups = [world.group(group) for group in neighbours(world.ranks, size)]
    width = WIDTHS[dtype]
    cache = 2.0 * batch * length * hidden * width / size

    def seconds(weights: float, operations: float, read: float) -> float:
        reading = (weights * width / size + read) / memory
        return max((2.0 * batch * weights + operations) / size / (tflops * TFLOPS), reading)

    halves = (
        ("attention", seconds(4.0 * hidden**2, 4.0 * batch * length * hidden, cache)),
        ("mlp", seconds(8.0 * hidden**2, 0.0, 0.0)),
    )
    summed = float(batch * hidden * width)

    def rank(rank: int) -> Process:
        world.hold(rank, "parameters", depth * 12.0 * hidden**2 * width / size)
        world.hold(rank, "keys and values", depth * cache)
        for token in range(tokens):
            for _ in range(depth):
                for name, time in halves:
                    yield from world.compute(rank, time, f"{name} {token}")
                    if size > 1:
                        yield groups[rank // size].post(rank, "allreduce", summed, f"sum {name} {token}")

    step = world.step(world.run(rank))
    step.facts.update(
        tensor_groups=len(groups), ranks_per_tensor_group=size, token_s=step.time / tokens,
        tokens_per_second=len(groups) * batch * tokens / step.time,
        compute_s=tokens * depth * sum(time for _, time in halves),
    )  # fmt: skip
    return step
