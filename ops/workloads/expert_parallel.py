"""Expert parallelism: tokens travel to the ranks that keep their experts, and back."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.blocks import TransformerBlock, degree_of, neighbours, transformer_block
from ops.training.options import WIDTHS, Ranks, Type, check
from ops.training.step import TrainingStep
from ops.training.world import Process, Stream, World
from ops.workloads import workload
from ops.workloads.tensor_parallel import Degree, Depth, Hidden, Length
from sim.errors import InputError
from sim.parameters import Bounds
from sim.topology import Topology

Tokens = NDArray[np.int64]


def routed(tokens: int, experts: int, chosen: int, skew: float) -> Tokens:
    """How many of a rank's tokens each expert gets: expert e in proportion to (e + 1)^-skew, in whole tokens.

    >>> routed(100, 4, 1, 0).tolist(), routed(70, 3, 1, 1).tolist()
    ([25, 25, 25, 25], [38, 19, 13])
    """
    weight = np.arange(1, experts + 1, dtype=np.float64) ** -skew
    share = np.cumsum(weight) / weight.sum()
    ends = np.rint(share * tokens * chosen).astype(np.int64)
    counts: Tokens = np.diff(ends, prepend=0)
    return counts


@dataclass(frozen=True)
class _ExpertStep:
    """`depth` layers of experts; `sent[src, dst]` tokens go from one place of a group to another."""

    block: TransformerBlock
    depth: int
    sent: Tokens

    def rank(self, world: World, rank: int, group: Stream, place: int) -> Process:
        block = self.block
        token = block.hidden * block.width
        directions = [(self.sent * token).reshape(-1).tolist(), (self.sent.T * token).reshape(-1).tolist()]
        received = int(self.sent[:, place].sum())
        expert = 16.0 * received * block.hidden**2 / block.speed
        for name, times, sign in (("", 1, 1), (" backward", 2, -1)):
            for _ in range(self.depth):
                yield from world.compute(rank, times * block.attention, f"attention{name}")
                yield group.post(rank, "alltoallv", directions[0], f"dispatch{name}")
                world.hold(rank, "dispatched tokens", float(sign * received * token))
                yield from world.compute(rank, times * expert, f"experts{name}")
                yield group.post(rank, "alltoallv", directions[1], f"combine{name}")


@workload
@communicates("nccl")
def expert_parallel(
    topology: Topology,
    *,
    ranks: Ranks = 0,
    degree: Degree = 0,
    experts: Annotated[int, Bounds(1, 1 << 16)] = 64,
    chosen: Annotated[int, Bounds(1, 64)] = 2,
    skew: float = 0.5,
    capacity: float = 0.0,
    depth: Depth = 4,
    hidden: Hidden = 4096,
    tokens: Length = 4096,
    dtype: Type = "float16",
    tflops: float = 100.0,
    transport: BackendChoice,
) -> TrainingStep:
    """Mixture of experts: dispatch and combine as alltoallv with uneven load, experts over `degree` neighbours.

    Every rank sends each of its `tokens` to `chosen` of the `experts`; expert e is chosen in proportion to
    (e + 1)^-skew. With a `capacity` factor above zero an expert takes that many times its fair share of tokens, and
    the rest is dropped (GShard, Lepikhin et al. 2020). Groups beside each other share the links.
    """
    check(skew, 0.0, 16.0, "expert_parallel: skew")
    check(capacity, 0.0, 1e6, "expert_parallel: capacity")
    block = transformer_block(hidden, tokens, 1, WIDTHS[dtype], tflops, "expert_parallel")
    world = world_of(topology, ranks, transport)
    size = degree_of(topology, world.ranks, degree, "expert_parallel")
    if experts % size or chosen > experts:
        raise InputError("expert_parallel.experts", experts=experts, chosen=chosen, size=size)
    routes = routed(tokens, experts, chosen, skew)
    limit = int(capacity * tokens * chosen / experts) if capacity else int(routes.max())
    taken = np.minimum(routes, limit)
    per_rank = taken.reshape(size, -1).sum(axis=1)
    loop = _ExpertStep(block, depth, np.tile(per_rank, (size, 1)))
    groups = [world.group(group) for group in neighbours(world.ranks, size)]
    step = world.step(world.run(lambda rank: loop.rank(world, rank, groups[rank // size], rank % size)))
    received = per_rank * size
    step.facts.update(
        expert_groups=len(groups), ranks_per_expert_group=size, experts_per_rank=experts // size,
        tokens_by_rank=received.tolist(), load_imbalance=float(received.max() / received.mean()) if tokens else 1.0,
        dropped_share=float(1 - taken.sum() / routes.sum())
    )  # fmt: skip
    return step
