"""Barriers: no rank may leave before all have arrived. The only slot holds who has been heard of."""

from ops.collectives import barrier
from ops.patterns import Radix, rounds
from ops.registry import algorithm
from sim.schedule import Steps, every_rank, reduce
from sim.symmetry.renamings import standing


@algorithm(
    barrier,
    cost=lambda n, *, radix: (rounds(n, radix), 0),
    symmetry=lambda n, **_: standing(n),
    ids={"openmpi": "4", "mpich": "k_dissemination", "gloo": "dissemination"},
    reference="Hensgen, Finkel and Manber 1988; MPICH src/mpi/coll/barrier/barrier_intra_k_dissemination.c",
)
def dissemination(n: int, *, radix: Radix = 2) -> Steps:
    """Round k: every rank notifies the rank 2^k places on of all known arrivals; with another radix, radix - 1 ranks.

    They stand radix^k, twice that and so on up to radix - 1 times that places on.
    """
    r = every_rank(n)
    for k in range(rounds(n, radix)):
        d = radix**k
        yield tuple(reduce(r, (r + far) % n, slot=0) for far in range(d, min(d * radix, n), d))


@algorithm(barrier, cost=lambda n: (2 * n, 0), ids={"openmpi": "2", "oneccl": "ring"})
def double_ring(n: int) -> Steps:
    """A token goes round the ring twice: once to gather arrivals, once to release."""
    for k in range(2 * n):
        yield reduce(k % n, (k + 1) % n, slot=0)
