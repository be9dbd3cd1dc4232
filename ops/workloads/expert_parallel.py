"""Expert parallelism: tokens travel to the ranks that keep their experts, and back."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ops.training.backends import BackendName, world
from ops.training.blocks import TransformerBlock, block, degree_of, neighbours
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

    def rank(self, there: World, rank: int, mine: Stream, place: int) -> Process:
        one = self.block
        token = one.hidden * one.width
        there_and_back = [(self.sent * token).reshape(-1).tolist(), (self.sent.T * token).reshape(-1).tolist()]
        received = int(self.sent[:, place].sum())
        expert = 16.0 * received * one.hidden**2 / one.speed
        for name, times, sign in (("", 1, 1), (" backward", 2, -1)):
            for _ in range(self.depth):
                yield from there.compute(rank, times * one.attention, f"attention{name}")
                yield mine.post(rank, "alltoallv", there_and_back[0], f"dispatch{name}")
                there.hold(rank, "dispatched tokens", float(sign * received * token))
                yield from there.compute(rank, times * expert, f"experts{name}")
                yield mine.post(rank, "alltoallv", there_and_back[1], f"combine{name}")


@workload
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
    backend: BackendName = "nccl",
) -> TrainingStep:
    """Mixture of experts: dispatch and combine as alltoallv with uneven load, experts over `degree` neighbours.

    Every rank sends each of its `tokens` to `chosen` of the `experts`; expert e is chosen in proportion to
    (e + 1)^-skew. With a `capacity` factor above zero an expert takes that many times its fair share of tokens, and
    the rest is dropped (GShard, Lepikhin et al. 2020). Groups beside each other share the links.
    """
    check(skew, 0.0, 16.0, "expert_parallel: skew")
    check(capacity, 0.0, 1e6, "expert_parallel: capacity")
    one = block(hidden, tokens, 1, WIDTHS[dtype], tflops, "expert_parallel")
    there = world(topology, ranks, backend)
    size = degree_of(topology, there.ranks, degree, "expert_parallel")
    if experts % size or chosen > experts:
        raise InputError(
            f"expert_parallel: {experts} experts, {chosen} chosen, cannot be kept by {size} ranks each with as many:"
            f" choose a multiple of {size}, and at least {chosen}"
        )
    wanted = routed(tokens, experts, chosen, skew)
    limit = int(capacity * tokens * chosen / experts) if capacity else int(wanted.max())
    taken = np.minimum(wanted, limit)
    per_rank = taken.reshape(size, -1).sum(axis=1)
    loop = _ExpertStep(one, depth, np.tile(per_rank, (size, 1)))
    groups = [there.group(group) for group in neighbours(there.ranks, size)]
    step = there.step(there.run(lambda rank: loop.rank(there, rank, groups[rank // size], rank % size)))
    received = per_rank * size
    step.facts.update(
        expert_groups=len(groups), ranks_per_expert_group=size, experts_per_rank=experts // size,
        tokens_by_rank=received.tolist(), load_imbalance=float(received.max() / received.mean()) if tokens else 1.0,
        dropped_share=float(1 - taken.sum() / wanted.sum())
    )  # fmt: skip
    return step
