"""Swaps between neighbours in a ring of ranks: both directions of a link are used at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.collectives import allgather
from ops.patterns import Group, node_size, runs, whole_nodes
from ops.registry import algorithm, even
from sim.registry import titled
from sim.schedule import Steps, copy


@algorithm(
    allgather,
    only=even,
    ordered=True,
    cost=lambda n: (n // 2, (n - 1) / n),
    ids={"openmpi": "5", "ucc": "neighbor"},
    v={"openmpi": "4", "kucg": "1"},
    reference="Chen et al., HPC Asia 2005",
)
def neighbor_exchange(n: int) -> Steps:
    """Neighbours pair up, now to one side, now to the other, and swap the two blocks they heard last."""
    r = np.arange(n)
    right = 1 - 2 * (r % 2)
    yield copy(r, r + right, slot=r)
    pair = r // 2
    for k in range(1, n // 2):
        side = right if k % 2 == 0 else -right
        yield copy(r, (r + side) % n, slot=(2 * pair.reshape(-1, 1) + [0, 1]) % n)
        pair = pair[(r + side) % n]


def _swaps(n: int) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Who sends to whom, and whose block, at each moment of a ring of swaps.

    Place r turns to its right while r + k is even, else to its left, and passes on what came from the other
    side. An odd ring takes one moment more: the seam between its ends delays one place after the other.
    """
    moments = []
    for t in range(n - 1 + n % 2):
        r = np.arange(n)
        if n % 2:
            r = r[r != n - 1 - t]
        k = t - (n % 2) * (r + t >= n)
        r, k = r[k < n - 1], k[k < n - 1]
        side = np.where((r + k) % 2 == 0, 1, -1)
        moments.append((r, (r + side) % n, (r - side * (k // 2)) % n))
    return moments


def _moments(n: int) -> int:
    return n - 1 + n % 2 if n > 1 else 0


@algorithm(allgather, ordered=True, cost=lambda n: (_moments(n), _moments(n) / n), v={"kucg": "3"})
@titled("HPL ring")
def ring_hpl(n: int) -> Steps:
    """Neighbours swap blocks, each rank in turn with its right and its left one.

    n - 1 moments, or n where n is odd.
    """
    for src, dst, block in _swaps(n):
        yield copy(src, dst, slot=block)


def _rolling_cost(n: int, *, group: int) -> tuple[float, float]:
    g = node_size(n, group)
    between, inside = _moments(n // g), _moments(g)
    return between + inside, (between + inside * (n // g)) / n


@algorithm(allgather, ordered=True, only=whole_nodes, cost=_rolling_cost, v={"kucg": "6"})
def node_aware_rolling(n: int, *, group: Group = 0) -> Steps:
    """Ring-HPL between the nodes, one ring per local rank; then Ring-HPL inside each node with all it has."""
    g = node_size(n, group)
    nodes = n // g
    yield "between nodes"
    for src, dst, block in _swaps(nodes) if nodes > 1 else []:
        rank = runs(src * g, g).reshape(-1)
        yield copy(rank, np.repeat(dst * g, g) + rank % g, slot=np.repeat(block * g, g) + rank % g)
    yield "in the node"
    for src, dst, block in _swaps(g) if g > 1 else []:
        first = np.arange(nodes).reshape(-1, 1) * g
        column = np.tile(block, nodes).reshape(-1, 1)
        yield copy((first + src).reshape(-1), (first + dst).reshape(-1), slot=column + first.reshape(1, -1))
