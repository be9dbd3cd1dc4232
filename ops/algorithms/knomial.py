"""k-nomial trees: in each round whoever has the data serves k - 1 others at once.

Places count from the root; place v's children stand at v + j·k^d for every k^d that divides v further and 0 < j < k.
"""

import numpy as np

from ops.collectives import COLLECTIVES, broadcast, gather, reduce, scatter
from ops.patterns import Radix, from_root, rounds, runs
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import NOTHING, Steps, copy
from sim.schedule import steps as schedule
from sim.topology import Ints


def pairs(n: int, d: int, radix: int) -> tuple[Ints, Ints]:
    """Parents and children, as places, of the edges of length d, 2d … (radix - 1)·d."""
    v = np.arange(n, dtype=np.int32)
    child = v[(v % d == 0) & (v // d % radix != 0)]
    return child // (d * radix) * (d * radix), child


def served(n: int, radix: int) -> int:
    """How many the root of a k-nomial tree of n ranks serves in all rounds; 0 for one rank."""
    if n == 1:
        return 0
    top: int = radix ** (rounds(n, radix) - 1)
    return (rounds(n, radix) - 1) * (radix - 1) + -(-n // top) - 1


@algorithm(
    broadcast,
    name="knomial",
    ordered=True,
    cost=lambda n, *, radix: (rounds(n, radix), served(n, radix)),
    ids={"openmpi": "7", "mpich": "tree", "ucc": "0", "kucg": "10"},
    presets={"mpich:tree": {"radix": 2}},
)
@titled("k-nomial")
def knomial_broadcast(n: int, *, root: int = 0, radix: Radix = 4) -> Steps:
    """Each rank with the data sends it to radix - 1 others at once; every round multiplies how many have it."""
    for k in reversed(range(rounds(n, radix))):
        parent, child = pairs(n, radix**k, radix)
        yield copy(from_root(parent, root, n), from_root(child, root, n), slot=0)


@algorithm(
    reduce,
    name="knomial",
    ordered=True,
    cost=lambda n, *, radix: (rounds(n, radix), served(n, radix), served(n, radix)),
    ids={"openmpi": "8", "ucc": "0"},
)
@titled("k-nomial")
def knomial_reduce(n: int, *, root: int = 0, radix: Radix = 4) -> Steps:
    """In each round one rank in `radix` collects the partial sums of the others and adds them up."""
    for k in range(rounds(n, radix)):
        d = radix**k
        parent, child = pairs(n, d, radix)
        turn = child // d % radix
        yield copy(from_root(child, root, n), from_root(parent, root, n), slot=0, to=turn)
        adding = np.unique(parent)
        waiting = runs(np.ones(len(adding)), radix - 1)
        waiting[adding.reshape(-1, 1) + waiting * d >= n] = NOTHING
        rank = from_root(adding, root, n)
        yield schedule.reduce(rank, rank, slot=waiting, to=np.where(waiting == NOTHING, NOTHING, 0))


@algorithm(
    scatter,
    name="knomial",
    ordered=True,
    cost=lambda n, *, radix: (rounds(n, radix), (n - 1) / n),
    ids={"ucc": "knomial"},
)
@algorithm(
    COLLECTIVES["scatterv"],
    name="knomial",
    ordered=True,
    ids={"kucg": "2, stars 1"},
    presets={"kucg:2": {"radix": 2}, "kucg:stars 1": {"radix": 2}},
)
@titled("k-nomial")
def knomial_scatter(n: int, *, root: int = 0, radix: Radix = 4) -> Steps:
    """Each rank with several blocks sends radix - 1 shares of them on at once, until each rank has its own."""
    for k in reversed(range(rounds(n, radix))):
        parent, child = pairs(n, radix**k, radix)
        blocks = from_root(runs(child, radix**k), root, n)
        yield copy(from_root(parent, root, n), from_root(child, root, n), slot=blocks)


@algorithm(
    gather,
    name="knomial",
    ordered=True,
    cost=lambda n, *, radix: (rounds(n, radix), (n - 1) / n),
    ids={"ucc": "knomial"},
    v={},
)
@titled("k-nomial")
def knomial_gather(n: int, *, root: int = 0, radix: Radix = 4) -> Steps:
    """In each round one rank in `radix` collects the blocks of the others."""
    for k in range(rounds(n, radix)):
        parent, child = pairs(n, radix**k, radix)
        blocks = from_root(runs(child, radix**k), root, n)
        yield copy(from_root(child, root, n), from_root(parent, root, n), slot=blocks)
