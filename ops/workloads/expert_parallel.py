"""Expert parallelism: tokens travel to the ranks that keep their experts, and back."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ops.training.backends import BackendChoice, communicates, world_of
from ops.training.blocks import TransformerBlock, degree_of, transformer_block
from ops.training.options import SAME, WIDTHS, Ranks, Type, check
from ops.training.step import TrainingStep
from ops.training.world import Process, Stream, World
from ops.workloads import workload
from ops.workloads.tensor_parallel import Degree, Depth, Hidden, Length
from sim.errors import InputError
from sim.parameters import Bounds, Choice
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


def sent_once(tokens: int, shares: NDArray[np.float64], chosen: int) -> Tokens:
    """How many of a rank's tokens go to each place when every token goes there once, whatever it wants there.

    `shares` are the places' shares of the choices, each of which is made by itself: 1 - (1 - share)^chosen of the
    tokens want a place.

    >>> sent_once(100, np.array([0.5, 0.5]), 2).tolist(), sent_once(100, np.array([0.25] * 4), 1).tolist()
    ([75, 75], [25, 25, 25, 25])
    """
    counts: Tokens = np.rint(tokens * (1 - (1 - shares) ** chosen)).astype(np.int64)
    return counts


@dataclass(frozen=True)
class _Hop:
    """One alltoallv: `sent[src, dst]` tokens go from one place to another among every `step`-th of so many ranks."""

    sent: Tokens
    first: int
    step: int

    @property
    def ranks(self) -> range:
        """The ranks of the group."""
        return range(self.first, self.first + self.step * len(self.sent), self.step)


@dataclass(frozen=True)
class _ExpertStep:
    """`depth` layers of experts; tokens take the hops `ways[rank]` to their experts, and the same back.

    `received[rank]` tokens reach a rank's experts; a number of a token has `dispatch_width` bytes on its way there.
    """

    block: TransformerBlock
    depth: int
    ways: list[list[_Hop]]
    received: list[int]
    dispatch_width: int

    def rank(self, world: World, rank: int, streams: dict[range, Stream]) -> Process:
        block, hops = self.block, self.ways[rank]
        received = self.received[rank]
        expert = 16.0 * received * block.hidden**2 / block.speed
        for name, times, sign in (("", 1, 1), (" backward", 2, -1)):
            width = block.width if name else self.dispatch_width
            for _ in range(self.depth):
                yield from world.compute(rank, times * block.attention, f"attention{name}")
                for hop in hops:
                    size = (hop.sent * (block.hidden * width)).reshape(-1).tolist()
                    yield streams[hop.ranks].post(rank, "alltoallv", size, f"dispatch{name}")
                world.hold(rank, "dispatched tokens", float(sign * received * block.hidden * block.width))
                yield from world.compute(rank, times * expert, f"experts{name}")
                for hop in reversed(hops):
                    size = (hop.sent.T * (block.hidden * block.width)).reshape(-1).tolist()
                    yield streams[hop.ranks].post(rank, "alltoallv", size, f"combine{name}")


def _ways(per_rank: Tokens, tokens: int, chosen: int, once: str, node: int, n: int) -> list[list[_Hop]]:
    """The hops of every rank's tokens; `per_rank` are a rank's tokens for the experts of each of its group's ranks."""
    size = len(per_rank)
    shares = per_rank / max(1, tokens * chosen)
    if once == "node":
        nodes = shares.reshape(-1, node)
        between = np.tile(sent_once(tokens, nodes.sum(axis=1), chosen), (len(nodes), 1))
        inside = [np.tile(len(nodes) * sent_once(tokens, some, chosen), (node, 1)) for some in nodes]
    whole = np.tile(per_rank if once == "expert" else sent_once(tokens, shares, chosen), (size, 1))
    ways = []
    for rank in range(n):
        first = rank - rank % size
        if once == "node":
            host, place = divmod(rank - first, node)
            ways.append([_Hop(between, first + place, node), _Hop(inside[host], first + host * node, 1)])
        else:
            ways.append([_Hop(whole, first, 1)])
    return ways


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
    once: Annotated[str, Choice(("expert", "rank", "node"))] = "expert",
    depth: Depth = 4,
    hidden: Hidden = 4096,
    tokens: Length = 4096,
    dtype: Type = "float16",
    dispatch_dtype: Annotated[str, Choice((SAME, *WIDTHS))] = SAME,
    tflops: float = 100.0,
    transport: BackendChoice,
) -> TrainingStep:
    """Mixture of experts: dispatch and combine as alltoallv with uneven load, experts over `degree` neighbours.

    Every rank sends each of its `tokens` to `chosen` of the `experts`; expert e is chosen in proportion to
    (e + 1)^-skew. With a `capacity` factor above zero an expert takes that many times its fair share of tokens, and
    the rest is dropped (GShard, Lepikhin et al. 2020). A token travels `once` for every expert it has chosen, for every
    rank with such experts, or for every node, whose rank of the same place passes it on inside (DeepEP; DeepSeek-V3
    2024, section 3.2.2); what it wants where is drawn for each choice by itself. Tokens travel forward to experts as
    `dispatch_dtype`, everywhere else as `dtype`. Groups beside each other share the links.
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
    received = per_rank * size
    node = _node(world, size) if once == "node" else 1
    ways = _ways(per_rank, tokens, chosen, once, node, world.ranks)
    dispatch_width = block.width if dispatch_dtype == SAME else WIDTHS[dispatch_dtype]
    loop = _ExpertStep(block, depth, ways, np.tile(received, world.ranks // size).tolist(), dispatch_width)
    streams = {group: world.group(group) for group in dict.fromkeys(hop.ranks for way in ways for hop in way)}
    step = world.step(world.run(lambda rank: loop.rank(world, rank, streams)))
    step.facts.update(
        expert_groups=world.ranks // size, ranks_per_expert_group=size, experts_per_rank=experts // size,
        tokens_by_rank=received.tolist(), load_imbalance=float(received.max() / received.mean()) if tokens else 1.0,
        dropped_share=float(1 - taken.sum() / routes.sum())
    )  # fmt: skip
    return step


def _node(world: World, size: int) -> int:
    """How many ranks of a group share a host. Raises InputError where hosts do not hold runs of one length."""
    per_host = world.group(range(size)).per_host
    if size % per_host or per_host < 2:
        raise InputError("expert_parallel.node", size=size)
    return min(per_host, size)
