"""Direct algorithms: everyone sends straight to whom it concerns, all at once.

Peers rotate: message i of rank r goes to r + i, otherwise rank 0 would be everyone's first target.
"""

from typing import Any

import numpy as np

from ops.collectives import allgather, allreduce, alltoall, barrier, sendrecv
from ops.patterns import NO_LIMIT, Group, Window, node_size, rounds, runs, whole_nodes
from ops.registry import algorithm
from sim.errors import Message
from sim.registry import titled
from sim.schedule import Steps, copy, every_rank, reduce
from sim.symmetry.renamings import STAYS, Symmetry, rotation, rotation_of_pairs, standing
from sim.topology import Ints


def everyone(n: int) -> tuple[Ints, Ints]:
    """All pairs of different ranks, peers rotated: 0 to 1, 1 to 2 and so on, then 0 to 2, 1 to 3 and so on."""
    r, i = every_rank(n).astype(np.int32), np.arange(1, n, dtype=np.int32).reshape(-1, 1)
    return np.broadcast_to(r, (n - 1, len(r))).reshape(-1), ((r + i) % n).reshape(-1)


@algorithm(
    allgather,
    name="linear",
    cost=lambda n: (1, (n - 1) / n),
    symmetry=rotation,
    ids={"openmpi": "8", "ucc": "linear", "oneccl": "direct"},
    v={"kucg": "4", "ucc": "linear"},
)
def linear_allgather(n: int) -> Steps:
    """Everyone sends its block to everyone, all at once."""
    src, dst = everyone(n)
    yield copy(src, dst, slot=src)


@algorithm(
    alltoall,
    name="linear",
    cost=lambda n: (1, (n - 1) / n),
    symmetry=rotation_of_pairs,
    ids={"openmpi": "1", "mpich": "scattered", "oneccl": "scatter"},
    v={"openmpi": "1", "mpich": "scattered"},
)
def linear_alltoall(n: int) -> Steps:
    """Everyone sends every block to its receiver, all at once."""
    r = every_rank(n)
    src, dst = everyone(n)
    yield copy(r, r, slot=r, to=n + r), copy(src, dst, slot=dst, to=n + src)


@algorithm(
    sendrecv,
    name="direct",
    cost=lambda n: (1, 1),
    symmetry=lambda n: standing(n, slots=2),
    ids={"nccl": "SendRecv"},
)
def shift(n: int) -> Steps:
    """Everyone sends to its right neighbour at once."""
    r = every_rank(n)
    yield copy(r, (r + 1) % n, slot=0, to=1)


def two(n: int, **_: Any) -> Message | None:
    """A refusal for algorithms between two ranks."""
    return None if n == 2 else Message("ranks.two", n=n)


@algorithm(allgather, only=two, cost=lambda n: (1, 1 / 2), ids={"openmpi": "6"}, v={"openmpi": "5"})
def two_rank(n: int) -> Steps:
    """Two ranks swap their blocks."""
    yield copy([0, 1], [1, 0], slot=[0, 1])


@algorithm(
    alltoall,
    name="two_rank",
    only=two,
    cost=lambda n: (1, 1 / 2),
    ids={"openmpi": "5"},
    reference="Open MPI coll_base_alltoall.c, intra_two_procs",
)
def two_rank_alltoall(n: int) -> Steps:
    """Two ranks swap what each has for the other."""
    yield from linear_alltoall(n)


@algorithm(
    barrier,
    name="two_rank",
    only=two,
    cost=lambda n: (1, 0),
    ids={"openmpi": "5"},
    reference="Open MPI coll_base_barrier.c, intra_two_procs",
)
def two_rank_barrier(n: int) -> Steps:
    """Two ranks notify each other of their arrival."""
    yield reduce([0, 1], [1, 0], slot=0)


@algorithm(
    allreduce,
    cost=lambda n: (1, n - 1, n - 1),
    symmetry=lambda n: standing(n, slots=n),
    ids={"openmpi": "7", "msccl": "1step"},
)
@titled("all-gather, then reduce")
def allgather_reduce(n: int) -> Steps:
    """Everyone sends its whole buffer to everyone and adds up what arrives: one message's latency, n - 1 buffers."""
    r = every_rank(n)
    src, dst = everyone(n)
    yield "allgather"
    yield copy(src, dst, slot=0, to=1 + (dst - src - 1) % n)
    yield "reduce"
    yield reduce(r, r, slot=runs(1, n - 1), to=runs(0, 1))


@algorithm(
    allreduce,
    pieces=lambda n: n,
    cost=lambda n: (2, 2 * (n - 1) / n, (n - 1) / n),
    ids={"msccl": "allpairs"},
)
def all_pairs(n: int) -> Steps:
    """Everyone collects and adds up one share from everyone, then sends the total to everyone."""
    r = np.arange(n)
    src, dst = everyone(n)
    yield "reduce-scatter"
    yield copy(src, dst, slot=dst, to=n + (dst - src - 1) % n)
    yield reduce(r, r, slot=runs(n, n - 1), to=r.reshape(-1, 1))
    yield "allgather"
    yield copy(src, dst, slot=src)


@algorithm(
    alltoall,
    ordered=True,
    cost=lambda n, *, window: (-(-(n - 1) // window), (n - 1) / n),
    symmetry=lambda n, **_: rotation_of_pairs(n),
    ids={"openmpi": "4"},
    v={},
    presets={"openmpi:4": {"window": NO_LIMIT}},
)
def linear_window(n: int, *, window: Window = 4) -> Steps:
    """As linear, but each rank has at most `window` messages under way each way."""
    r = every_rank(n)
    src, dst = (peers.reshape(n - 1, -1) for peers in everyone(n))
    yield copy(r, r, slot=r, to=n + r)
    for i in range(0, n - 1, window):
        s, d = src[i : i + window].reshape(-1), dst[i : i + window].reshape(-1)
        yield copy(s, d, slot=d, to=n + s)


def _node_order(nodes: int) -> list[int]:
    """NCCL's order of distances between nodes: triangular numbers, so that neighbours in time are far in space.

    >>> _node_order(16)
    [0, 1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8]
    """
    ring = 1 << rounds(nodes)
    return [d for d in ((x * x + x) // 2 % ring for x in range(ring)) if d < nodes]


def _pairs_by_node(n: int, *, group: int, **_: Any) -> Symmetry:
    """Nodes and places in nodes turn each by itself; blocks are pairs of ranks."""
    g = node_size(n, group)
    rank = ((n // g, 0), (g, 1))
    return Symmetry((n // g, g), ((2, STAYS), *rank), (*rank, *rank))


@algorithm(
    alltoall,
    ordered=True,
    only=whole_nodes,
    cost=lambda n, *, group, window: (-(-(n - 1) // window), (n - 1) / n),
    symmetry=_pairs_by_node,
    ids={"nccl": "SendRecv"},
    v={"nccl": "SendRecv"},
    reference="NCCL src/init.cc, ncclP2pSchedule",
)
@titled("NCCL point-to-point")
def nccl_p2p(n: int, *, group: Group = 0, window: Window = 8) -> Steps:
    """NCCL's order of peers: node by node, rank by rank inside; `window` peers at a time."""
    g = node_size(n, group)
    r = np.arange(n)
    node, local = np.divmod(r, g)
    peer = np.array(
        [(node + far) % (n // g) * g + (local + near) % g for far in _node_order(n // g) for near in range(g)]
    )
    yield copy(r, r, slot=r, to=n + r)
    for i in range(1, n, window):
        d = peer[i : i + window].reshape(-1)
        s = np.resize(r, len(d))
        yield copy(s, d, slot=d, to=n + s)
