"""Recursive halving: pairs at distance p/2, p/4 … 1 swap the half that the other is responsible for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.algorithms.doubling import cores
from ops.collectives import COLLECTIVES, allreduce, reduce_scatter
from ops.registry import algorithm
from ops.shapes import power_below, rounds, runs
from sim.schedule import NOTHING, Steps, copy, reduce
from sim.topology import Ints


def _halvings(n: int) -> list[int]:
    """The largest share, in blocks, that a rank passes on in each round of recursive halving."""
    p = power_below(n)
    return [d + min(d, n - p) for d in (p >> k for k in range(1, rounds(p) + 1))]


def _halving_cost(n: int) -> tuple[float, float, float]:
    p, passed = power_below(n), sum(_halvings(n))
    folds = n > p
    return rounds(p) + 2 * folds, (passed + folds * (n + 1)) / n, passed / n + folds


@algorithm(
    reduce_scatter,
    name="recursive_halving",
    cost=_halving_cost,
    ids={"openmpi": "2", "mpich": "recursive_halving"},
)
@algorithm(
    COLLECTIVES["reduce_scatterv"],
    name="recursive_halving",
    ids={"openmpi": "2", "mpich": "recursive_halving"},
)
def halving_reduce_scatter(n: int) -> Steps:
    """Pairs at distance p/2 … 1 swap and add the half of their data that the other must end with.

    Where n is no power of two, two more messages, one of them the whole buffer: some ranks hand theirs to a
    neighbour and get their block back.
    """
    rank = cores(n)
    p = len(rank)
    c, folded = np.arange(p), 2 * np.arange(n - p)
    blocks = np.stack([np.where(c < n - p, rank - 1, NOTHING), rank], axis=1)
    if len(folded):
        yield "fold"
        yield reduce(folded, folded + 1, slot=np.broadcast_to(np.arange(n), (len(folded), n)))
        yield "halving"
    for k in reversed(range(rounds(p))):
        d = 1 << k
        yield reduce(rank, rank[c ^ d], slot=blocks[_half(c ^ d, d)].reshape(p, -1))
    if len(folded):
        yield "unfold"
        yield copy(folded + 1, folded, slot=folded)


def _half(c: NDArray[Any], d: int) -> Ints:
    """The d neighbours among which c stands."""
    return runs(c // d * d, d)


def _rabenseifner_cost(n: int) -> tuple[float, float, float]:
    p = power_below(n)
    folds = n > p
    return 2 * rounds(p) + 3 * folds, 2 * (p - 1) / p + 2 * folds, (p - 1) / p + folds / 2


@algorithm(
    allreduce,
    pieces=power_below,
    cost=_rabenseifner_cost,
    ids={"openmpi": "6", "mpich": "reduce_scatter_allgather", "ucc": "1", "kucg": "12", "oneccl": "rabenseifner"},
    reference="Rabenseifner, ICCS 2004",
)
def rabenseifner(n: int) -> Steps:
    """Recursive halving leaves each rank one share of the sum, recursive doubling spreads the shares.

    Where n is no power of two, three more messages: neighbours first add half a buffer each for the other.
    """
    rank = cores(n)
    p = len(rank)
    c, folded = np.arange(p), 2 * np.arange(n - p)
    low, high = (np.broadcast_to(half, (len(folded), p // 2)) for half in np.arange(p).reshape(2, -1))
    if len(folded):
        yield "fold"
        yield reduce(folded, folded + 1, slot=high), reduce(folded + 1, folded, slot=low)
        yield copy(folded, folded + 1, slot=low)
    yield "reduce-scatter"
    for k in reversed(range(rounds(p))):
        yield reduce(rank, rank[c ^ (1 << k)], slot=_half(c ^ (1 << k), 1 << k))
    yield "allgather"
    for k in range(rounds(p)):
        yield copy(rank, rank[c ^ (1 << k)], slot=_half(c, 1 << k))
    if len(folded):
        yield "unfold"
        yield copy(folded + 1, folded, slot=np.broadcast_to(np.arange(p), (len(folded), p)))
