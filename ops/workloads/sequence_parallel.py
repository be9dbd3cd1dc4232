"""Sequence parallelism: every rank has some tokens of each sample, and attention needs all of them."""

from typing import Annotated

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.blocks import TransformerBlock, degree_of, neighbours, transformer_block
from ops.training.options import WIDTHS, Ranks, Type
from ops.training.step import TrainingStep
from ops.training.world import Process, Stream, World
from ops.workloads import workload
from ops.workloads.tensor_parallel import Degree, Depth, Hidden, Length, Samples
from sim.parameters import Choice
from sim.topology import Topology


class _Ulysses:
    """Before attention every rank swaps its tokens of all heads for all tokens of its heads, afterwards back."""

    def __init__(self, block: TransformerBlock, size: int) -> None:
        self.block, self.size = block, size

    def attention(self, world: World, rank: int, group: Stream, times: int, name: str) -> Process:
        swapped = self.block.activation / self.size
        for what in ("queries", "keys", "values"):
            yield group.post(rank, "alltoall", swapped, f"{what} {name}")
        yield from world.compute(rank, times * self.block.attention / self.size, name)
        yield group.post(rank, "alltoall", swapped, f"outputs {name}")


class _Ring(_Ulysses):
    """Keys and values go round the ring; each rank attends to those it has while the next ones come."""

    def attention(self, world: World, rank: int, group: Stream, times: int, name: str) -> Process:
        passed = 2 * self.block.activation / self.size
        for turn in range(self.size):
            coming = []
            if turn < self.size - 1:
                coming = [group.post(rank, "sendrecv", passed, f"pass keys {name}", algorithm="sendrecv.direct")]
            yield from world.compute(rank, times * self.block.attention / self.size**2, name)
            yield world.env.all_of(coming)


class _Gathered(_Ulysses):
    """Keys and values of all tokens are gathered; backward, their gradients are summed and scattered."""

    def attention(self, world: World, rank: int, group: Stream, times: int, name: str) -> Process:
        both = 2 * self.block.activation
        yield group.post(rank, "allgather", both, f"gather keys {name}")
        yield from world.compute(rank, times * self.block.attention / self.size, name)
        if times > 1:
            yield group.post(rank, "reduce_scatter", both, f"scatter gradients of keys {name}")


KINDS = {"ulysses": _Ulysses, "ring": _Ring, "gather": _Gathered}


@workload
@communicates("nccl")
def sequence_parallel(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    degree: Degree = 0,
    how: Annotated[str, Choice(tuple(KINDS))] = "ulysses",
    depth: Depth = 8,
    hidden: Hidden = 4096,
    length: Length = 16384,
    batch: Samples = 1,
    dtype: Type = "float16",
    tflops: float = 100.0,
    gradients: bool = True,
    transport: BackendChoice,
) -> TrainingStep:
    """Sequence parallel attention over `degree` neighbours: all-to-all, ring, or gathered keys and values.

    `ulysses` swaps tokens for heads by four alltoalls per attention (Jacobs et al. 2023), `ring` passes keys and
    values on while it computes (Liu et al. 2023), `gather` gathers them. Backward computes twice as much and moves
    the same again. With `gradients` all ranks sum theirs, which are whole on each, behind the backward pass.
    """
    block = transformer_block(hidden, length, batch, WIDTHS[dtype], tflops, "sequence_parallel")
    world = world_of(topology, ranks, transport)
    size = degree_of(topology, world.ranks, degree, "sequence_parallel")
    groups = [world.group(group) for group in neighbours(world.ranks, size)]
    kind = KINDS[how](block, size)
    weights = float(block.parameters * block.width)

    def rank(rank: int) -> Process:
        group, works = groups[rank // size], []
        world.hold(rank, "parameters", depth * weights)
        for _ in range(depth):
            yield from kind.attention(world, rank, group, 1, "attention")
            yield from world.compute(rank, block.feedforward / size, "mlp")
            world.hold(rank, "activations", 2 * block.activation / size)
        for _ in range(depth):
            yield from world.compute(rank, 2 * block.feedforward / size, "mlp backward")
            yield from kind.attention(world, rank, group, 2, "attention backward")
            world.hold(rank, "activations", -2 * block.activation / size)
            world.hold(rank, "gradients", weights)
            if gradients:
                works.append(world.everyone.post(rank, "allreduce", weights, "gradients"))
        yield world.env.all_of(works)

    step = world.step(world.run(rank))
    step.facts.update(
        sequence_groups=len(groups), ranks_per_sequence_group=size, tokens_per_rank=-(-length // size),
        compute_s=3 * depth * (block.attention + block.feedforward) / size
    )  # fmt: skip
    return step
