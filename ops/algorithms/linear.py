"""Linear algorithms: the root talks to every other rank itself."""

import numpy as np

from ops.collectives import allreduce, barrier, broadcast, gather, reduce, scatter
from ops.registry import algorithm
from sim.schedule import NOTHING, Steps, copy
from sim.schedule import steps as schedule
from sim.topology import Ints


def _others(n: int, root: int) -> Ints:
    """Everyone but the root, starting behind it."""
    return (root + np.arange(1, n, dtype=np.int32)) % n


@algorithm(
    broadcast,
    name="linear",
    cost=lambda n: (1, n - 1),
    ids={"openmpi": "1", "gloo": "one_to_all", "ucc": "linear", "oneccl": "naive"},
)
def linear_broadcast(n: int, *, root: int = 0) -> Steps:
    """The root sends to everyone at once; its link carries n - 1 copies."""
    yield copy(root, _others(n, root), slot=0)


@algorithm(reduce, name="linear", cost=lambda n: (n - 1, n - 1, n - 1), ids={"openmpi": "1"})
def linear_reduce(n: int, *, root: int = 0) -> Steps:
    """The root hears the others one by one and adds each to its sum."""
    for r in _others(n, root):
        yield schedule.reduce(r, root, slot=0)


@algorithm(
    scatter,
    name="linear",
    cost=lambda n: (1, (n - 1) / n),
    ids={"openmpi": "1, 3"},
    v={"openmpi": "1", "mpich": "linear", "ucc": "linear", "kucg": "1"},
)
def linear_scatter(n: int, *, root: int = 0) -> Steps:
    """The root sends everyone its block, all at once."""
    yield copy(root, _others(n, root), slot=_others(n, root))


@algorithm(
    gather,
    name="linear",
    cost=lambda n: (1, (n - 1) / n),
    ids={"openmpi": "1"},
    v={"openmpi": "1", "mpich": "linear", "ucc": "linear", "kucg": "1"},
)
def linear_gather(n: int, *, root: int = 0) -> Steps:
    """Everyone sends its block to the root, all at once."""
    yield copy(_others(n, root), root, slot=_others(n, root))


@algorithm(
    gather,
    ordered=True,
    pieces=lambda n: 2,
    cost=lambda n: (2 * n - 1, (n - 1) / n),
    ids={"openmpi": "3"},
)
def linear_sync(n: int, *, root: int = 0) -> Steps:
    """The root calls one rank after the other; each answers with half its block, the rest comes during the next call.

    The call is a message without data: it keeps everyone from flooding the root at once.
    """
    late: tuple[schedule.Step, ...] = ()
    for r in _others(n, root):
        yield copy(root, r, slot=NOTHING), *late
        yield copy(r, root, slot=2 * r)
        late = (copy(r, root, slot=2 * r + 1),)
    yield late


@algorithm(allreduce, name="linear", cost=lambda n: (n, 2 * (n - 1), n - 1), ids={"openmpi": "1"})
def linear_allreduce(n: int) -> Steps:
    """Rank 0 hears the others one by one, adds up, and sends everyone the total at once."""
    yield "reduce"
    yield from linear_reduce(n)
    yield "broadcast"
    yield from linear_broadcast(n)


@algorithm(barrier, name="linear", cost=lambda n: (2, 0), ids={"openmpi": "1", "gloo": "all_to_one"})
def linear_barrier(n: int) -> Steps:
    """Everyone reports to rank 0, which then releases everyone."""
    yield schedule.reduce(_others(n, 0), 0, slot=0)
    yield from linear_broadcast(n)
