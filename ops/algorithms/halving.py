"""Recursive halving: pairs at distance p/2, p/4 … 1 swap the half that the other is responsible for."""

import numpy as np

from ops.algorithms.butterfly import halving, mirrored, scatter_cost, scatter_sums, spread
from ops.algorithms.doubling import cores
from ops.collectives import allreduce, reduce_scatter
from ops.collectives import reduce as reduce_to_root
from ops.patterns import power_below, rounds, runs, windows
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import NOTHING, Steps, copy, reduce
from sim.symmetry.renamings import exchange, exchange_mirrored
from sim.topology import Ints


@algorithm(
    reduce_scatter,
    name="recursive_halving",
    ordered=True,
    symmetry=exchange,
    cost=lambda n: scatter_cost(n, [2] * rounds(power_below(n))),
    ids={"openmpi": "2, block 3", "mpich": "recursive_halving"},
    v={"openmpi": "2", "mpich": "recursive_halving"},
)
def halving_reduce_scatter(n: int) -> Steps:
    """Pairs at distance p/2 … 1 swap and add the half of their data that the other must end with.

    Where n is no power of two, two more messages, one of them the whole buffer: some ranks hand theirs to a
    neighbour and get their block back.

    >>> from sim.schedule.picture import picture
    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["reduce_scatter.recursive_halving"].schedule(4)))
            rank 0               rank 1               rank 2               rank 3
    before  0... 0... 0... 0...  .1.. .1.. .1.. .1..  ..2. ..2. ..2. ..2.  ...3 ...3 ...3 ...3
    step 1  0.2. 0.2. 0... 0...  .1.3 .1.3 .1.. .1..  ..2. ..2. 0.2. 0.2.  ...3 ...3 .1.3 .1.3
    step 2  0123 0.2. 0... 0...  .1.3 0123 .1.. .1..  ..2. ..2. 0123 0.2.  ...3 ...3 .1.3 0123
    """
    rank = cores(n)
    p = len(rank)
    folded = 2 * np.arange(n - p, dtype=np.int32)
    own = np.stack([np.where(np.arange(p) < n - p, rank - 1, NOTHING), rank], axis=1)
    if len(folded):
        yield "fold"
        yield reduce(folded, folded + 1, slot=runs(0, n))
        yield "halving"
    yield from scatter_sums(rank, halving(p), own)
    if len(folded):
        yield "unfold"
        yield copy(folded + 1, folded, slot=folded)


def rabenseifner_cost(n: int) -> tuple[float, float, float]:
    """The claim of Rabenseifner's allreduce; nothing for one rank."""
    p = power_below(n)
    folds = n > p
    return 2 * rounds(p) + 3 * folds, 2 * (p - 1) / p + 2 * folds, (p - 1) / p + folds / 2


@algorithm(
    allreduce,
    ordered=True,
    pieces=power_below,
    symmetry=exchange_mirrored,
    cost=rabenseifner_cost,
    ids={"openmpi": "6", "mpich": "reduce_scatter_allgather", "ucc": "1", "kucg": "12", "oneccl": "rabenseifner"},
    reference="Rabenseifner, ICCS 2004",
)
@titled("Rabenseifner")
def rabenseifner(n: int) -> Steps:
    """Recursive halving leaves each rank one share of the sum, recursive doubling spreads the shares.

    Neighbours swap the largest halves: first at distance 1, then 2, 4 …, and back. Where n is no power of two,
    three more messages: neighbours first add half a buffer each for the other.
    """
    yield from fold(n)
    yield "reduce-scatter"
    yield from scatter_shares(n)
    yield "allgather"
    yield from spread_shares(n)
    yield from unfold(n)


def proxies(n: int) -> Ints:
    """The power of two of ranks that take part for all: even ones of the first pairs, then the rest."""
    p = power_below(n)
    c = np.arange(p, dtype=np.int32)
    return np.where(c < n - p, 2 * c, c + (n - p))


def scatter_shares(n: int) -> Steps:
    """Each of the proxies adds up one share, lower ranks the lower halves, the nearest peers first."""
    p = power_below(n)
    yield from scatter_sums(proxies(n), halving(p)[::-1], mirrored(p))


def spread_shares(n: int) -> Steps:
    """The same rounds backwards, until the proxies have all shares."""
    p = power_below(n)
    yield from spread(proxies(n), halving(p)[::-1], mirrored(p))


def unfold(n: int) -> Steps:
    """Those who take no part hear the total from their neighbours."""
    p = power_below(n)
    if n > p:
        yield "unfold"
        yield copy(proxies(n)[: n - p], proxies(n)[: n - p] ^ 1, slot=runs(0, p))


def fold(n: int) -> Steps:
    """The first proxies also get the sums of their neighbours that take no part; both add half a buffer."""
    rank, p = proxies(n), power_below(n)
    if n > p:
        yield "fold"
        stays, goes = rank[: n - p], rank[: n - p] ^ 1
        low, high = runs(0, p // 2), runs(p // 2, p // 2)
        yield reduce(goes, stays, slot=low), reduce(stays, goes, slot=high)
        yield copy(goes, stays, slot=high)


def _rabenseifner_reduce_cost(n: int) -> tuple[float, float, float]:
    p = power_below(n)
    folds = n > p
    return 2 * (rounds(p) + folds), 2 * (p - 1) / p + folds, (p - 1) / p + folds / 2


@algorithm(
    reduce_to_root,
    name="rabenseifner",
    ordered=True,
    pieces=power_below,
    cost=_rabenseifner_reduce_cost,
    ids={"openmpi": "7", "mpich": "reduce_scatter_gather", "ucc": "2", "oneccl": "rabenseifner"},
    reference="Rabenseifner, ICCS 2004",
)
@titled("Rabenseifner")
def rabenseifner_reduce(n: int, *, root: int = 0) -> Steps:
    """Recursive halving leaves each rank one share of the sum, a binomial tree gathers the shares at the root.

    Neighbours swap the largest halves. Where n is no power of two, two more messages: neighbours first add half
    a buffer each for the other. A root that took no part gets rank 0's share before it gathers in its place.
    """
    rank = proxies(n)
    p = len(rank)
    peers, shares = halving(p)[::-1], windows(halving(p)[::-1], mirrored(p))
    yield from fold(n)
    yield "reduce-scatter"
    yield from scatter_sums(rank, peers, mirrored(p))
    yield "gather"
    if root not in rank:
        yield copy(rank[0], root, slot=shares[-1][:1])
        rank = np.concatenate([[root], rank[1:]]).astype(np.int32)
    place = np.arange(p) ^ int(np.argmax(rank == root))
    for k in reversed(range(rounds(p))):
        child = np.nonzero(place >> k == 1)[0]
        yield copy(rank[child], rank[child ^ 1 << k], slot=shares[k + 1][child])
