"""One collective after another: a scatter and an allgather make a broadcast, and so on."""

from ops.algorithms.doubling import doubling_allgather
from ops.algorithms.ring import ring_allgather
from ops.algorithms.tree import binomial_gather, binomial_scatter, fan_in, fan_out
from ops.collectives import allgather, broadcast, reduce_scatter
from ops.patterns import rounds, runs
from ops.registry import algorithm, power_of_two
from sim.registry import titled
from sim.schedule import Steps


@algorithm(
    broadcast,
    ordered=True,
    pieces=lambda n: n,
    cost=lambda n: (rounds(n) + n - 1, 2 * (n - 1) / n),
    ids={"openmpi": "9", "mpich": "scatter_ring_allgather", "kucg": "8"},
    reference="Barnett et al. 1994 (van de Geijn)",
)
@titled("scatter, then ring")
def scatter_ring_allgather(n: int, *, root: int = 0) -> Steps:
    """Every rank gets one share down a binomial tree, then the shares go round a ring."""
    yield "scatter"
    yield from binomial_scatter(n, root=root)
    yield "allgather"
    yield from ring_allgather(n)


@algorithm(
    broadcast,
    ordered=True,
    only=power_of_two,
    pieces=lambda n: n,
    cost=lambda n: (2 * rounds(n), 2 * (n - 1) / n),
    ids={"openmpi": "8", "mpich": "scatter_recursive_doubling_allgather", "ucc": "1"},
    reference="Barnett et al. 1994 (van de Geijn)",
)
@titled("scatter, then doubling")
def scatter_doubling_allgather(n: int, *, root: int = 0) -> Steps:
    """Every rank gets one share down a binomial tree, then pairs at distance 1, 2, 4 … swap all they have."""
    yield "scatter"
    yield from binomial_scatter(n, root=root)
    yield "allgather"
    yield from doubling_allgather(n)


@algorithm(
    allgather,
    ordered=True,
    cost=lambda n: (2 * rounds(n), (n - 1) / n + rounds(n)),
    ids={"openmpi": "1"},
    v={"openmpi": "1"},
)
@titled("gather, then broadcast")
def gather_broadcast(n: int) -> Steps:
    """A binomial tree brings all blocks to rank 0 and carries all of them back."""
    yield "gather"
    yield from binomial_gather(n)
    yield "broadcast"
    yield from fan_out(n, 0, runs(0, n))


@algorithm(
    reduce_scatter,
    ordered=True,
    cost=lambda n: (2 * rounds(n), rounds(n) + (n - 1) / n, rounds(n)),
    ids={"openmpi": "1, block 1"},
    v={"openmpi": "1"},
)
@titled("reduce, then scatter")
def reduce_then_scatter(n: int) -> Steps:
    """A binomial tree adds everything up at rank 0 and hands the blocks out again."""
    yield "reduce"
    yield from fan_in(n, 0, runs(0, n))
    yield "scatter"
    yield from binomial_scatter(n)
