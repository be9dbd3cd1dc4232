"""MPICH's recursive exchange: a power of k of ranks takes part, spread so that neighbours stand for those left out.

The first ranks form sets of k, whose last takes part for all of its set; those after them take part for themselves.
"""

from typing import NamedTuple

import numpy as np

from ops.collectives import allreduce
from ops.patterns import Radix, power_below, rounds, runs
from ops.registry import algorithm
from sim.schedule import NOTHING, Steps, copy, reduce
from sim.topology import Ints

SOURCE = "MPICH src/mpi/coll/algorithms/recexchalgo/recexchalgo.c"


class RecursiveExchange(NamedTuple):
    """`radix` as far as there are ranks, those that take part, and whom each of the others hands its data to.

    `turn` says the how-manieth each of the others is, from 0, nearest first.
    """

    radix: int
    rank: Ints
    extra: Ints
    proxy: Ints

    @property
    def turn(self) -> Ints:
        """Of every extra rank."""
        return self.proxy - self.extra - 1

    @property
    def each(self) -> int:
        """How many a rank stands for besides itself, at most."""
        return int(self.turn.max(initial=-1)) + 1


def _exchange(n: int, radix: int) -> RecursiveExchange:
    k = max(2, min(radix, n))
    p = power_below(n, k)
    left = n - p
    place = np.arange(p, dtype=np.int32)
    rank = np.where(place < left // (k - 1), place * k + k - 1, place + left).astype(np.int32)
    extra = np.setdiff1d(np.arange(n, dtype=np.int32), rank)
    proxy: Ints = rank[np.searchsorted(rank, extra)]
    return RecursiveExchange(k, rank, extra, proxy)


def _peers(p: int, k: int, d: int) -> list[Ints]:
    """The k - 1 places that differ in the digit of weight d alone, lowest first."""
    place = np.arange(p, dtype=np.int32)
    digit = place // d % k
    others = [np.where(i < digit, i, i + 1) for i in range(k - 1)]
    return [place + (other - digit) * d for other in others]


def _reversed(p: int, k: int) -> Ints:
    """Places with their digits in base k the other way round."""
    place, mirror = np.arange(p, dtype=np.int32), np.zeros(p, np.int32)
    for _ in range(rounds(p, k)):
        mirror, place = mirror * k + place % k, place // k
    return mirror


def _cost(n: int, *, radix: int) -> tuple[float, float, float]:
    of = _exchange(n, radix)
    count = rounds(len(of.rank), of.radix)
    swaps, folds = count * (of.radix - 1), len(of.extra) > 0
    return count + 2 * folds, swaps + 2 * of.each, swaps + of.each


@algorithm(
    allreduce,
    ordered=True,
    cost=_cost,
    ids={"mpich": "recexch"},
    presets={"mpich:recexch": {"radix": 2}},
    reference=f"{SOURCE}; src/mpi/coll/allreduce/allreduce_intra_recexch.c",
)
def recursive_exchange(n: int, *, radix: Radix = 4) -> Steps:
    """Groups of `radix` ranks that take part, at distance 1, k, k² …, exchange their sums and add them up.

    The others hand their data to the next rank that takes part, and hear the total last.
    """
    of = _exchange(n, radix)
    k, rank = of.radix, of.rank
    if len(of.extra):
        yield "fold"
        yield copy(of.extra, of.proxy, slot=0, to=1 + of.turn)
        proxy, counts = np.unique(of.proxy, return_counts=True)
        waiting = runs(np.ones(len(proxy)), of.each)
        waiting[waiting > counts.reshape(-1, 1)] = NOTHING
        yield reduce(proxy, proxy, slot=waiting, to=np.where(waiting == NOTHING, NOTHING, 0))
        yield "exchange"
    for t in range(rounds(len(rank), k)):
        place, d = np.arange(len(rank)), k**t
        peers = _peers(len(rank), k, d)
        yield tuple(copy(rank, rank[peer], slot=0, to=(place // d - peer // d) % k) for peer in peers)
        yield reduce(rank, rank, slot=runs(1, k - 1), to=runs(0, 1))
    if len(of.extra):
        yield "unfold"
        yield copy(of.proxy, of.extra, slot=0)


def _shares(n: int, *, radix: int) -> int:
    return len(_exchange(n, radix).rank)


def _shared_cost(n: int, *, radix: int) -> tuple[float, float, float]:
    of = _exchange(n, radix)
    p, count = len(of.rank), rounds(len(of.rank), of.radix)
    folds = len(of.extra) > 0
    passed = (p - 1) / p
    crowded = (of.radix - 1) * passed  # all of a group send to its first rank, then to its second …
    return of.radix * count + of.each + folds, crowded + passed + 2 * of.each, crowded + of.each


@algorithm(
    allreduce,
    ordered=True,
    exact=False,
    pieces=_shares,
    cost=_shared_cost,
    ids={"mpich": "k_reduce_scatter_allgather"},
    presets={"mpich:k_reduce_scatter_allgather": {"radix": 2}},
    reference=f"{SOURCE}; src/mpi/coll/allreduce/allreduce_intra_k_reduce_scatter_allgather.c",
)
def recursive_exchange_shares(n: int, *, radix: Radix = 4) -> Steps:
    """Groups of `radix` ranks share the sum out among themselves, nearest first, then collect it again, farthest first.

    In the first half a rank swaps with one of its group after the other, in the second half with all at once. The
    others hand their data to the next rank that takes part, one by one, and hear the total last. The claim is a bound.
    """
    of = _exchange(n, radix)
    k, rank, p = of.radix, of.rank, len(of.rank)
    share, count = _reversed(p, k), rounds(p, k)
    if len(of.extra):
        yield "fold"
        for turn in range(of.each):
            now = of.turn == turn
            yield reduce(of.extra[now], of.proxy[now], slot=runs(0, p))
    yield "reduce-scatter"
    for t in range(count):
        width = k ** (count - 1 - t)
        for peer in _peers(p, k, k**t):
            yield reduce(rank, rank[peer], slot=runs(share[peer] // width * width, width))
    yield "allgather"
    for t in reversed(range(count)):
        width = k ** (count - 1 - t)
        held = runs(share // width * width, width)
        yield tuple(copy(rank, rank[peer], slot=held) for peer in _peers(p, k, k**t))
    if len(of.extra):
        yield "unfold"
        yield copy(of.proxy, of.extra, slot=runs(0, p))
