"""Recursive doubling: in round k, rank r and rank r xor 2^k exchange all they have.

Where n is no power of two, the first 2·(n - p') ranks pair up and one of each pair takes part for both; p' is the
power of two below n. `cores(n)` are the ranks that take part.
"""

import numpy as np

from ops.collectives import COLLECTIVES, allgather, allreduce, barrier, reduce_scatter
from ops.patterns import Radix, power_below, rounds, runs
from ops.registry import algorithm, power_of_two
from sim.schedule import NOTHING, Steps, copy, reduce
from sim.topology import Ints


def cores(n: int) -> Ints:
    """The ranks that take part in a hypercube of p' ranks, in order: odd ones of the pairs, then the rest."""
    p = power_below(n)
    c = np.arange(p, dtype=np.int32)
    return np.where(c < n - p, 2 * c + 1, c + (n - p))


@algorithm(
    allgather,
    name="recursive_doubling",
    only=power_of_two,
    cost=lambda n: (rounds(n), (n - 1) / n),
    ids={"openmpi": "3", "mpich": "recursive_doubling"},
)
@algorithm(COLLECTIVES["allgatherv"], name="recursive_doubling", only=power_of_two, ids={"mpich": "recursive_doubling"})
def doubling_allgather(n: int) -> Steps:
    """Pairs at distance 1, 2, 4 … swap all blocks they have.

    Before round k rank r has the 2^k blocks of its group, which begins at r with the last k bits cleared.

    >>> from sim.schedule.picture import picture
    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["allgather.recursive_doubling"].schedule(4)))
            rank 0  rank 1  rank 2  rank 3
    before  0...    .1..    ..2.    ...3
    step 1  01..    01..    ..23    ..23
    step 2  0123    0123    0123    0123
    """
    r = np.arange(n)
    for k in range(rounds(n)):
        d = 1 << k
        yield copy(r, r ^ d, slot=runs(r // d * d, d))


def _doubling(n: int) -> Steps:
    rank = cores(n)
    p, folded = len(rank), 2 * np.arange(n - len(rank))
    c = np.arange(p)
    if len(folded):
        yield "fold"
        yield reduce(folded, folded + 1, slot=0)
        yield "exchange"
    for k in range(rounds(p)):
        yield reduce(rank, rank[c ^ (1 << k)], slot=0)
    if len(folded):
        yield "unfold"
        yield copy(folded + 1, folded, slot=0)


def doubling_cost(n: int) -> tuple[float, float, float]:
    """The claim of a recursive doubling allreduce; nothing for one rank."""
    p = power_below(n)
    folds = n > p
    return rounds(p) + 2 * folds, rounds(p) + 2 * folds, rounds(p) + folds


@algorithm(
    allreduce,
    name="recursive_doubling",
    cost=doubling_cost,
    ids={"openmpi": "3", "mpich": "recursive_doubling", "kucg": "1", "oneccl": "recursive_doubling"},
)
def doubling_allreduce(n: int) -> Steps:
    """Pairs at distance 1, 2, 4 … swap and add whole buffers.

    Where n is no power of two, two more messages: some ranks hand their buffer to a neighbour and get the
    total back.

    >>> from sim.schedule.picture import picture
    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["allreduce.recursive_doubling"].schedule(4)))
            rank 0  rank 1  rank 2  rank 3
    before  0...    .1..    ..2.    ...3
    step 1  01..    01..    ..23    ..23
    step 2  0123    0123    0123    0123
    """
    yield from _doubling(n)


@algorithm(
    barrier,
    name="recursive_doubling",
    cost=lambda n: (doubling_cost(n)[0], 0),
    ids={"openmpi": "3", "mpich": "recexch", "kucg": "1"},
)
def doubling_barrier(n: int) -> Steps:
    """Pairs at distance 1, 2, 4 … tell each other whom they have heard of."""
    yield from _doubling(n)


@algorithm(
    reduce_scatter,
    name="recursive_doubling",
    only=power_of_two,
    ordered=True,
    cost=lambda n: (rounds(n), rounds(n) - (n - 1) / n, rounds(n) - (n - 1) / n),
    ids={"mpich": "recursive_doubling"},
)
@algorithm(
    COLLECTIVES["reduce_scatterv"],
    name="recursive_doubling",
    only=power_of_two,
    ordered=True,
    ids={"mpich": "recursive_doubling"},
)
def doubling_reduce_scatter(n: int) -> Steps:
    """Pairs at distance 1, 2, 4 … swap and add everything but the blocks of their own group so far."""
    r = np.arange(n)
    for k in range(rounds(n)):
        d = 1 << k
        yield reduce(r, r ^ d, slot=runs(r // d * d + d, n - d) % n)


def _exchange_cost(n: int, *, radix: int) -> tuple[float, float]:
    p = power_below(n, radix)
    each, served = -(-n // p), -(-(n - p) // p)
    folds = n > p
    return rounds(p, radix) + 2 * folds, (served + (p - 1) * each + served * (n - 1)) / n


@algorithm(
    allgather,
    ordered=True,
    exact=False,
    cost=_exchange_cost,
    ids={"mpich": "recexch_doubling", "ucc": "knomial"},
)
@algorithm(COLLECTIVES["allgatherv"], ordered=True, ids={"ucc": "knomial"})
def recursive_exchange(n: int, *, radix: Radix = 4) -> Steps:
    """Groups of `radix` ranks at distance 1, k, k² … tell each other all they have.

    The ranks beyond the power of `radix` below n hand their block to one that takes part, and get all the
    others in the end. The claim is met for a power of `radix` and is a bound otherwise.
    """
    p = power_below(n, radix)
    c, extra = np.arange(p), np.arange(p, n)
    blocks = runs(0, p).reshape(-1, 1) + p * np.arange(-(-n // p))
    blocks[blocks >= n] = NOTHING
    if len(extra):
        yield "fold"
        yield copy(extra, extra % p, slot=extra)
        yield "exchange"
    for k in range(rounds(p, radix)):
        d = radix**k
        digit = c // d % radix
        mine = blocks[runs(c // d * d, d)].reshape(p, -1)
        yield tuple(copy(c, c + ((digit + j) % radix - digit) * d, slot=mine) for j in range(1, radix))
    if len(extra):
        yield "unfold"
        yield copy(extra % p, extra, slot=(extra.reshape(-1, 1) + np.arange(1, n)) % n)
