"""Prefix sums. Input is slot 0, output slot 1, scratch slots follow."""

import numpy as np

from ops.collectives import exscan, scan
from ops.patterns import rounds
from ops.registry import algorithm
from sim.schedule import Steps, copy, reduce
from sim.topology import Ints

INPUT, OUTPUT, TOTAL, HEARD = 0, 1, 2, 3


@algorithm(scan, name="linear", cost=lambda n: (n - 1, n - 1, n - 1), ids={"openmpi": "1"})
def linear_scan(n: int) -> Steps:
    """The prefix travels from rank to rank and grows."""
    r = np.arange(n)
    yield copy(r, r, slot=INPUT, to=OUTPUT)
    for k in range(n - 1):
        yield reduce(k, k + 1, slot=OUTPUT)


@algorithm(exscan, name="linear", cost=lambda n: (n - 1, n - 1, n - 2), ids={"openmpi": "1"})
def linear_exscan(n: int) -> Steps:
    """The prefix travels from rank to rank; each adds its own before it passes it on."""
    r = np.arange(n)
    yield copy(r, r, slot=INPUT, to=TOTAL)
    for k in range(n - 1):
        yield copy(k, k + 1, slot=TOTAL, to=OUTPUT)
        if k + 2 < n:
            yield reduce(k + 1, k + 1, slot=OUTPUT, to=TOTAL)


def _cube(n: int, k: int) -> tuple[Ints, Ints]:
    """Ranks and their peers at distance 2^k, where there is one."""
    r = np.arange(n, dtype=np.int32)
    r = r[(r ^ (1 << k)) < n]
    return r, r ^ (1 << k)


@algorithm(
    scan,
    name="recursive_doubling",
    cost=lambda n: (rounds(n), rounds(n), 2 * rounds(n)),
    exact=False,
    ids={"openmpi": "2", "mpich": "recursive_doubling"},
)
def doubling_scan(n: int) -> Steps:
    """Pairs at distance 1, 2, 4 … swap their group's total; the higher one adds it to its prefix too.

    The claim is a bound: the last round's total is not needed, nor is that of a group that meets no other.
    """
    r = np.arange(n)
    yield copy(r, r, slot=INPUT, to=OUTPUT), copy(r, r, slot=INPUT, to=TOTAL)
    for k in range(rounds(n)):
        rank, peer = _cube(n, k)
        yield copy(rank, peer, slot=TOTAL, to=HEARD)
        above = rank[rank > peer]
        yield reduce(rank, rank, slot=HEARD, to=TOTAL), reduce(above, above, slot=HEARD, to=OUTPUT)


@algorithm(
    exscan,
    name="recursive_doubling",
    cost=lambda n: (rounds(n), rounds(n), 2 * rounds(n)),
    exact=False,
    ids={"openmpi": "2", "mpich": "recursive_doubling"},
)
def doubling_exscan(n: int) -> Steps:
    """As the inclusive scan, but a rank's prefix starts with the first total it hears from below.

    The claim is a bound: the last round's total is not needed, nor is that of a group that meets no other.
    """
    r = np.arange(n)
    yield copy(r, r, slot=INPUT, to=TOTAL)
    for k in range(rounds(n)):
        rank, peer = _cube(n, k)
        yield copy(rank, peer, slot=TOTAL, to=HEARD)
        above = rank[rank > peer]
        first = above[above % (1 << k) == 0]
        later = above[above % (1 << k) != 0]
        yield (
            reduce(rank, rank, slot=HEARD, to=TOTAL),
            copy(first, first, slot=HEARD, to=OUTPUT),
            reduce(later, later, slot=HEARD, to=OUTPUT),
        )
