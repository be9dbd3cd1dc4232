"""Binomial trees: in round k the 2^k ranks that have the data (or the last ones that lack it) serve 2^k others.

Places count from the root; place v's children stand at v + 2^k for every 2^k below the lowest set bit of v.
"""

import numpy as np
from numpy.typing import ArrayLike

from ops.collectives import allreduce, barrier, broadcast, gather, reduce, scatter
from ops.patterns import from_root, rounds, runs
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import Steps, copy
from sim.schedule import steps as schedule
from sim.topology import Ints


def _pairs(n: int, d: int) -> tuple[Ints, Ints]:
    """Parents and children, as places, of the binomial tree's edges of length d."""
    child = np.arange(d, n, 2 * d, dtype=np.int32)
    return child - d, child


def fan_out(n: int, root: int, slot: ArrayLike) -> Steps:
    """The tree, longest edges first, copying the same slots downwards."""
    for k in reversed(range(rounds(n))):
        parent, child = _pairs(n, 1 << k)
        yield copy(from_root(parent, root, n), from_root(child, root, n), slot)


def fan_in(n: int, root: int, slot: ArrayLike) -> Steps:
    """The tree, shortest edges first, adding the same slots upwards."""
    for k in range(rounds(n)):
        parent, child = _pairs(n, 1 << k)
        yield schedule.reduce(from_root(child, root, n), from_root(parent, root, n), slot)


@algorithm(
    broadcast,
    name="binomial",
    ordered=True,
    cost=lambda n: (rounds(n), rounds(n)),
    ids={"openmpi": "6", "mpich": "binomial", "gloo": "binomial", "kucg": "1"},
)
def binomial_broadcast(n: int, *, root: int = 0) -> Steps:
    """Each rank with the data sends it on; every round doubles their number.

    >>> from sim.schedule.picture import picture
    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["broadcast.binomial"].schedule(4)))
            rank 0  rank 1  rank 2  rank 3
    before  0       .       .       .
    step 1  0       .       0       .
    step 2  0       0       0       0
    """
    yield from fan_out(n, root, slot=0)


@algorithm(
    reduce,
    name="binomial",
    cost=lambda n: (rounds(n), rounds(n), rounds(n)),
    ids={"openmpi": "5", "mpich": "binomial", "kucg": "1", "oneccl": "tree"},
)
def binomial_reduce(n: int, *, root: int = 0) -> Steps:
    """Half of those who still hold a partial sum hand it to the other half, until one is left.

    >>> from sim.schedule.picture import picture
    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["reduce.binomial"].schedule(4)))
            rank 0  rank 1  rank 2  rank 3
    before  0...    .1..    ..2.    ...3
    step 1  01..    .1..    ..23    ...3
    step 2  0123    .1..    ..23    ...3
    """
    yield from fan_in(n, root, slot=0)


@algorithm(
    scatter,
    name="binomial",
    ordered=True,
    cost=lambda n: (rounds(n), (n - 1) / n),
    ids={"openmpi": "2", "mpich": "binomial"},
    v={},
)
def binomial_scatter(n: int, *, root: int = 0) -> Steps:
    """Each rank with several blocks sends half of them on, until each rank has its own.

    >>> from sim.schedule.picture import picture
    >>> from ops import ALGORITHMS
    >>> print(picture(ALGORITHMS["scatter.binomial"].schedule(4)))
            rank 0  rank 1  rank 2  rank 3
    before  0000    ....    ....    ....
    step 1  0000    ....    ..00    ....
    step 2  0000    .0..    ..00    ...0
    """
    for k in reversed(range(rounds(n))):
        parent, child = _pairs(n, 1 << k)
        blocks = from_root(runs(child, 1 << k), root, n)
        yield copy(from_root(parent, root, n), from_root(child, root, n), slot=blocks)


@algorithm(
    gather,
    name="binomial",
    ordered=True,
    cost=lambda n: (rounds(n), (n - 1) / n),
    ids={"openmpi": "2", "mpich": "binomial"},
    v={},
)
def binomial_gather(n: int, *, root: int = 0) -> Steps:
    """Half of those who hold blocks hand them to the other half, until one holds all."""
    for k in range(rounds(n)):
        parent, child = _pairs(n, 1 << k)
        blocks = from_root(runs(child, 1 << k), root, n)
        yield copy(from_root(child, root, n), from_root(parent, root, n), slot=blocks)


@algorithm(
    allreduce,
    name="reduce_broadcast",
    ordered=True,
    cost=lambda n: (2 * rounds(n), 2 * rounds(n), rounds(n)),
    ids={"openmpi": "2", "mpich": "tree"},
)
@titled("reduce, then broadcast")
def reduce_broadcast(n: int) -> Steps:
    """A binomial tree adds everything up at rank 0, then carries the total back down."""
    yield "reduce"
    yield from binomial_reduce(n)
    yield "broadcast"
    yield from binomial_broadcast(n)


@algorithm(
    allreduce,
    ordered=True,
    exact=False,
    pieces=lambda n: 2,
    cost=lambda n: (2 * rounds(n), rounds(n) * (1 + n % 2), rounds(n) / 2),
    ids={"msccl": "binomial_tree"},
)
def binomial_tree(n: int) -> Steps:
    """Two binomial trees, one the mirror of the other, add up one half of the data each and carry it back.

    Where n is even each rank works for one tree at a time, so both take no longer than one would; where it
    is odd the claim is a bound.
    """
    for phase, up in (("reduce", True), ("broadcast", False)):
        yield phase
        for k in range(rounds(n)) if up else reversed(range(rounds(n))):
            parent, child = _pairs(n, 1 << k)
            if up:
                yield schedule.reduce(child, parent, 0), schedule.reduce(n - 1 - child, n - 1 - parent, 1)
            else:
                yield copy(parent, child, 0), copy(n - 1 - parent, n - 1 - child, 1)


@algorithm(barrier, name="tree", ordered=True, cost=lambda n: (2 * rounds(n), 0), ids={"openmpi": "6"})
def tree_barrier(n: int) -> Steps:
    """Arrivals are reported up a binomial tree, the release goes down it."""
    yield from reduce_broadcast(n)
