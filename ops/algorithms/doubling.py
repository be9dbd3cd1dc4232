"""Recursive doubling: in round k, rank r and rank r xor 2^k exchange all they have.

Where n is no power of two, the first 2·(n - p') ranks pair up and one of each pair takes part for both; p' is the
power of two below n. `cores(n)` are the ranks that take part.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from ops.collectives import allgather, allreduce, barrier, reduce_scatter
from ops.patterns import Radix, power_below, rounds, runs
from ops.registry import algorithm, power_of_two
from sim.schedule import NOTHING, Steps, copy, every_rank, reduce
from sim.symmetry.renamings import by_digits, exchange
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
    symmetry=exchange,
    ids={"openmpi": "3", "mpich": "recursive_doubling"},
    v={"mpich": "recursive_doubling"},
)
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
    r = every_rank(n)
    for k in range(rounds(n)):
        d = 1 << k
        yield copy(r, r ^ d, slot=runs(r // d * d, d))


def _doubling(n: int) -> Steps:
    rank = cores(n)
    p, folded = len(rank), 2 * np.arange(n - len(rank))
    c = every_rank(n) if n == p else np.arange(p)
    if len(folded):
        yield "fold"
        yield reduce(folded, folded + 1, slot=0)
        yield "exchange"
    for k in range(rounds(p)):
        yield reduce(rank[c], rank[c ^ (1 << k)], slot=0)
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
    symmetry=lambda n: exchange(n, slots=1),
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
    symmetry=lambda n: exchange(n, slots=1),
    ids={"openmpi": "3", "mpich": "recexch", "kucg": "1"},
)
def doubling_barrier(n: int) -> Steps:
    """Pairs at distance 1, 2, 4 … exchange the arrivals they know of."""
    yield from _doubling(n)


def _lone(n: int, d: int) -> tuple[int, int]:
    """The group of d ranks whose partner group is cut short by n, and how many ranks that has; 0 for none."""
    first = n // (2 * d) * 2 * d
    return first, max(0, n - first - d) % d


def _relays(n: int, d: int) -> Iterator[tuple[Ints, int]]:
    """Who of that group passes on what it heard, and how far, so that all of the group have it: far ones first."""
    first, heard = _lone(n, d)
    hop = d // 2
    while hop and heard:
        offset = np.arange(max(0, heard - hop), min(hop, heard), dtype=np.int32)
        sender = (first + np.arange(0, d, 2 * hop, dtype=np.int32).reshape(-1, 1) + offset).reshape(-1)
        if len(sender):
            yield sender, hop
        hop //= 2


def _reduce_scatter_cost(n: int) -> tuple[float, float, float]:
    """As if the last group, which waits for what is passed on, held up everyone in every round."""
    messages, sent, added = 0, 0.0, 0.0
    for k in range(rounds(n)):
        _, short = _lone(n, 1 << k)
        hops, share = 1 + sum(1 for _ in _relays(n, 1 << k)), (n - (short or 1 << k)) / n
        messages, sent = messages + hops, sent + hops * share
        added += share + (short > 0) * (n - (1 << k)) / n
    return messages, sent, added


@algorithm(
    reduce_scatter,
    name="recursive_doubling",
    ordered=True,
    exact=False,
    cost=_reduce_scatter_cost,
    ids={"openmpi": "block 2", "mpich": "recursive_doubling"},
    v={"mpich": "recursive_doubling"},
)
def doubling_reduce_scatter(n: int) -> Steps:
    """Pairs at distance 1, 2, 4 … swap and add everything but the blocks of their own group so far.

    Where the group to swap with is cut short by the number of ranks, those who heard from it pass that on to the
    rest of their own. The claim is met for a power of two and is a bound otherwise.
    """
    r, block = np.arange(n), np.arange(n)
    for k in range(rounds(n)):
        d = 1 << k
        first, short = _lone(n, d)
        own = (r // d * d).reshape(-1, 1)
        others = np.where((block >= own) & (block < own + d), NOTHING, block)
        pairs = r[(r ^ d) < n]
        late = (pairs >= first + d) & (short > 0)
        direct, relayed = pairs[~late], pairs[late]
        theirs = runs(0, n - short)
        yield reduce(direct, direct ^ d, slot=others[direct]), copy(relayed, relayed ^ d, slot=theirs, to=n + theirs)
        for sender, hop in _relays(n, d):
            yield copy(sender, sender + hop, slot=n + theirs)
        if short:
            group = np.arange(first, first + d)
            yield reduce(group, group, slot=n + theirs, to=theirs)


def exchange_cost(n: int, *, radix: int) -> tuple[float, float]:
    """The claim of recursive exchanges, nearest or farthest first."""
    p = power_below(n, radix)
    each, served = -(-n // p), -(-(n - p) // p)
    folds = n > p
    return rounds(p, radix) + 2 * folds, (served + (p - 1) * each + served * (n - 1)) / n


def exchange_all(n: int, radix: int, turns: Iterable[tuple[int, Ints]]) -> Steps:
    """Groups of `radix` ranks of p, the power of `radix` below n, tell each other all they have, turn by turn.

    A turn is how far the ranks of a group are apart, and whose blocks each of the p ranks has by then. The ranks from p
    up hand theirs to one that takes part, and get all the others in the end.
    """
    p = power_below(n, radix)
    c, extra = np.arange(p), np.arange(p, n)
    blocks = runs(0, p).reshape(-1, 1) + p * np.arange(-(-n // p))
    blocks[blocks >= n] = NOTHING
    if len(extra):
        yield "fold"
        yield copy(extra, extra % p, slot=extra)
        yield "exchange"
    for d, has in turns:
        digit, held = c // d % radix, blocks[has].reshape(p, -1)
        yield tuple(copy(c, c + ((digit + j) % radix - digit) * d, slot=held) for j in range(1, radix))
    if len(extra):
        yield "unfold"
        yield copy(extra % p, extra, slot=(extra.reshape(-1, 1) + np.arange(1, n)) % n)


@algorithm(
    allgather,
    ordered=True,
    exact=False,
    symmetry=lambda n, *, radix: by_digits(n, radix),
    cost=exchange_cost,
    ids={"mpich": "recexch_doubling", "ucc": "knomial"},
    v={"ucc": "knomial"},
    presets={"mpich:recexch_doubling": {"radix": 2}},
)
def recursive_exchange(n: int, *, radix: Radix = 4) -> Steps:
    """Groups of `radix` ranks at distance 1, k, k² … exchange all their data.

    The ranks beyond the power of `radix` below n hand their block to one that takes part, and get all the
    others in the end. The claim is met for a power of `radix` and is a bound otherwise.
    """
    p = power_below(n, radix)
    distances = (radix**k for k in range(rounds(p, radix)))
    yield from exchange_all(n, radix, ((d, runs(np.arange(p) // d * d, d)) for d in distances))
