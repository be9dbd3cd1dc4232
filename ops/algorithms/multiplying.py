"""Recursive multiplying and its relatives: groups of `radix` ranks at distance 1, k, k² … instead of pairs."""

import numpy as np

from ops.algorithms.butterfly import halving, scatter_sums
from ops.algorithms.doubling import exchange_all, exchange_cost
from ops.collectives import allgather, allreduce, alltoall, reduce_scatter
from ops.patterns import Radix, power_below, rounds, runs
from ops.registry import algorithm, power_of_two
from sim.registry import titled
from sim.schedule import NOTHING, Steps, copy, reduce
from sim.symmetry.renamings import by_digits, exchange, rotation_of_pairs


def _fold(n: int, p: int) -> Steps:
    """Ranks from p up hand their buffer to one below, which adds all it hears."""
    extra = np.arange(p, n)
    turn = extra // p - 1
    yield copy(extra, extra % p, slot=0, to=1 + turn)
    helper = np.arange(min(p, n - p))
    heard = runs(np.ones(len(helper)), int(turn.max()) + 1)
    heard[helper.reshape(-1, 1) + p * heard >= n] = NOTHING
    yield reduce(helper, helper, slot=heard, to=np.where(heard == NOTHING, NOTHING, 0))


def _multiplying_cost(n: int, *, radix: int) -> tuple[float, float, float]:
    p = power_below(n, radix)
    each = -(-(n - p) // p)
    swaps = rounds(p, radix) * (radix - 1)
    return rounds(p, radix) + 2 * (n > p), swaps + 2 * each, swaps + each


@algorithm(
    allreduce,
    ordered=True,
    symmetry=lambda n, *, radix: by_digits(n, radix, slots=radix),
    cost=_multiplying_cost,
    ids={"mpich": "recursive_multiplying"},
    presets={"mpich:recursive_multiplying": {"radix": 2}},
    reference="MPICH src/mpi/coll/allreduce/allreduce_intra_recursive_multiplying.c",
)
def recursive_multiplying(n: int, *, radix: Radix = 4) -> Steps:
    """Groups of `radix` ranks at distance 1, k, k² … exchange their sums and add them up.

    Ranks beyond the power of `radix` below n hand theirs over first and hear the total last.
    """
    p = power_below(n, radix)
    c = np.arange(p)
    if n > p:
        yield "fold"
        yield from _fold(n, p)
        yield "exchange"
    for k in range(rounds(p, radix)):
        d = radix**k
        digit = c // d % radix
        peers = [c + ((digit + j) % radix - digit) * d for j in range(1, radix)]
        yield tuple(copy(c, peer, slot=0, to=j + 1) for j, peer in enumerate(peers))
        yield reduce(c, c, slot=runs(1, radix - 1), to=runs(0, 1))
    if n > p:
        yield "unfold"
        extra = np.arange(p, n)
        yield copy(extra % p, extra, slot=0)


def _bruck_cost(n: int, *, radix: int) -> tuple[float, float]:
    digits = sum(1 for i in range(n) for k in range(rounds(n, radix)) if i // radix**k % radix)
    return rounds(n, radix), digits / n


@algorithm(
    alltoall,
    name="k_bruck",
    ordered=True,
    symmetry=lambda n, **_: rotation_of_pairs(n),
    cost=_bruck_cost,
    ids={"mpich": "k_brucks"},
    v={},
    presets={"mpich:k_brucks": {"radix": 2}},
    reference="Bruck et al., TPDS 1997; MPICH src/mpi/coll/alltoall/alltoall_intra_k_brucks.c",
)
@titled("k-ary Bruck")
def k_bruck_alltoall(n: int, *, radix: Radix = 4) -> Steps:
    """Phase k: blocks whose distance left to go has digit j at place k go j·radix^k ranks on, all j at once.

    A block is sent once for every digit of its distance that is not zero.
    """
    r = np.arange(n)
    rank = r.reshape(-1, 1)
    yield copy(r, r, slot=(rank + r) % n, to=n + (rank - r) % n)
    for k in range(rounds(n, radix)):
        messages = []
        for digit in range(1, radix):
            far, hop = np.nonzero(r // radix**k % radix == digit)[0], digit * radix**k
            if len(far):
                messages.append(copy(r, (r + hop) % n, slot=n + (rank - far) % n, to=n + (rank + hop - far) % n))
        yield tuple(messages)


@algorithm(
    allgather,
    ordered=True,
    exact=False,
    symmetry=lambda n, *, radix: by_digits(n, radix),
    cost=exchange_cost,
    ids={"mpich": "recexch_halving"},
    v={},
    presets={"mpich:recexch_halving": {"radix": 2}},
    reference="MPICH src/mpi/coll/allgather, recexch with distance halving",
)
def recursive_exchange_halving(n: int, *, radix: Radix = 4) -> Steps:
    """As recursive_exchange, but groups far apart come first, so that the large messages go to neighbours.

    The claim is met for a power of `radix` and is a bound otherwise.
    """
    p = power_below(n, radix)
    c = np.arange(p).reshape(-1, 1)
    distances = (radix**k for k in reversed(range(rounds(p, radix))))
    yield from exchange_all(n, radix, ((d, c % (d * radix) + np.arange(0, p, d * radix)) for d in distances))


@algorithm(
    reduce_scatter,
    only=power_of_two,
    ordered=True,
    symmetry=exchange,
    cost=lambda n: (rounds(n), (n - 1) / n, (n - 1) / n),
    ids={"mpich": "noncommutative"},
    v={"mpich": "noncommutative"},
    reference="Träff, EuroPVM/MPI 2005; MPICH src/mpi/coll/reduce_scatter_block, noncommutative",
)
def noncommutative(n: int) -> Steps:
    """Halving that starts with the next neighbour, which keeps rank order, on blocks sorted by their mirrored number.

    Sorting costs no message, so that every rank ends with its own block.
    """
    r = np.arange(n, dtype=np.int32)
    yield from scatter_sums(r, halving(n)[::-1], r)
