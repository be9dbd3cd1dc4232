"""UCC's recursive k-nomial pattern: groups of up to `radix` ranks at distance 1, k, k² …, the last one of what is left.

Only ranks beyond the largest multiple of a power of `radix` take no part; an even neighbour stands for each of them.
"""

from typing import NamedTuple

import numpy as np

from ops.algorithms.butterfly import scatter_cost
from ops.collectives import allreduce, barrier, reduce_scatter
from ops.patterns import Radix, power_below, runs
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import NOTHING, Steps, copy, reduce
from sim.symmetry.renamings import by_digits
from sim.topology import Ints

SOURCE = "UCC src/coll_patterns/recursive_knomial.h"


class KnomialPattern(NamedTuple):
    """The ranks that take part, those that do not, and the peers of the former, a row per peer, round by round."""

    ranks: Ints
    extra: Ints
    peers: list[Ints]


def _pattern(n: int, radix: int) -> KnomialPattern:
    k = min(radix, n)
    whole = power_below(n, k)
    used = n // whole * whole
    v, left = np.arange(used, dtype=np.int32), n - used
    ranks = np.where(v < left, 2 * v, v + left)
    peers, d = [], 1
    while d < used:
        members = min(k, used // d)
        turn = np.arange(1, members, dtype=np.int32).reshape(-1, 1)
        peers.append(v // (d * k) * (d * k) + (v % (d * k) + turn * d) % (d * members))
        d *= k
    return KnomialPattern(ranks, 2 * np.arange(left, dtype=np.int32) + 1, peers)


def _with_neighbours(extra: Ints, exchange: Steps) -> Steps:
    """Before an exchange of sums ranks that take no part hand theirs to a neighbour, and hear the total after it."""
    if len(extra):
        yield "fold"
        yield reduce(extra, extra - 1, slot=0)
        yield "exchange"
    yield from exchange
    if len(extra):
        yield "unfold"
        yield copy(extra - 1, extra, slot=0)


def _cost(n: int, *, radix: int) -> tuple[float, float, float]:
    _, extra, peers = _pattern(n, radix)
    folds, swaps = len(extra) > 0, sum(len(group) for group in peers)
    return len(peers) + 2 * folds, swaps + 2 * folds, swaps + folds


@algorithm(
    allreduce,
    ordered=True,
    symmetry=lambda n, *, radix: by_digits(n, radix, slots=radix),
    cost=_cost,
    ids={"ucc": "0"},
    reference=f"{SOURCE}; src/components/tl/ucp/allreduce/allreduce_knomial.c",
)
@titled("recursive k-nomial")
def recursive_knomial(n: int, *, radix: Radix = 4) -> Steps:
    """Groups of up to `radix` ranks at distance 1, k, k² … exchange their sums and add them up.

    A rank that is left over hands its data to its neighbour first and hears the total last.
    """
    ranks, extra, peers = _pattern(n, radix)

    def exchange() -> Steps:
        for group in peers:
            yield tuple(copy(ranks, ranks[peer], slot=0, to=1 + turn) for turn, peer in enumerate(group))
            yield reduce(ranks, ranks, slot=runs(1, len(group)), to=runs(0, 1))

    yield from _with_neighbours(extra, exchange())


@algorithm(
    barrier,
    name="recursive_knomial",
    ordered=True,
    symmetry=lambda n, *, radix: by_digits(n, radix, slots=1),
    cost=lambda n, *, radix: (_cost(n, radix=radix)[0], 0),
    ids={"ucc": "knomial"},
    reference=f"{SOURCE}; src/components/tl/ucp/barrier/barrier_knomial.c",
)
@titled("recursive k-nomial")
def recursive_knomial_barrier(n: int, *, radix: Radix = 4) -> Steps:
    """Groups of up to `radix` ranks at distance 1, k, k² … exchange the arrivals they know of."""
    ranks, extra, peers = _pattern(n, radix)
    yield from _with_neighbours(extra, (tuple(reduce(ranks, ranks[peer], slot=0) for peer in group) for group in peers))


def _scatter_cost(n: int, *, radix: int) -> tuple[float, float, float]:
    return scatter_cost(n, [len(group) + 1 for group in reversed(_pattern(n, radix).peers)])


@algorithm(
    reduce_scatter,
    name="recursive_knomial",
    ordered=True,
    exact=False,
    symmetry=lambda n, *, radix: by_digits(n, radix),
    cost=_scatter_cost,
    ids={"ucc": "knomial"},
    reference=f"{SOURCE}, sra_knomial.h; src/components/tl/ucp/reduce_scatter/reduce_scatter_knomial.c",
)
@titled("recursive k-nomial")
def recursive_knomial_reduce_scatter(n: int, *, radix: Radix = 4) -> Steps:
    """Groups of up to `radix` ranks, those far apart first, share out among themselves what each still answers for.

    A rank that is left over hands its data to its neighbour first, who answers for both, and gets its block last. The
    claim is met where none is left over and is a bound otherwise.
    """
    ranks, extra, peers = _pattern(n, radix)
    v, d = np.arange(len(ranks)), len(ranks)
    blocks = np.stack([ranks, np.where(v < len(extra), ranks + 1, NOTHING)], axis=1)
    if len(extra):
        yield "fold"
        yield reduce(extra, extra - 1, slot=runs(0, n))
        yield "exchange"
    for group in reversed(peers):
        d //= len(group) + 1
        shares = blocks[runs(v // d * d, d)].reshape(len(v), -1)
        yield tuple(reduce(ranks, ranks[peer], slot=shares[peer]) for peer in group)
    if len(extra):
        yield "unfold"
        yield copy(extra - 1, extra, slot=extra)
