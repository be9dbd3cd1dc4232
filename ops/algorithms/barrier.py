"""Barriers: no rank may leave before all have arrived. The only slot holds who has been heard of."""

import numpy as np

from ops.collectives import barrier
from ops.patterns import rounds
from ops.registry import algorithm
from sim.schedule import Steps, reduce


@algorithm(
    barrier,
    cost=lambda n: (rounds(n), 0),
    ids={"openmpi": "4", "mpich": "k_dissemination", "gloo": "dissemination"},
    reference="Hensgen, Finkel and Manber 1988",
)
def dissemination(n: int) -> Steps:
    """Round k: everyone tells the rank 2^k places on whom it has heard of."""
    r = np.arange(n)
    for k in range(rounds(n)):
        yield reduce(r, (r + (1 << k)) % n, slot=0)


@algorithm(barrier, cost=lambda n: (2 * n, 0), ids={"openmpi": "2", "oneccl": "ring"})
def double_ring(n: int) -> Steps:
    """A token goes round the ring twice: once to gather arrivals, once to release."""
    for k in range(2 * n):
        yield reduce(k % n, (k + 1) % n, slot=0)
