"""Bruck's algorithms: any number of ranks in ⌈log n⌉ rounds, peers at distance 1, 2, 4 and so on."""

import numpy as np

from ops.collectives import COLLECTIVES, allgather
from ops.registry import algorithm
from ops.shapes import rounds, runs
from sim.schedule import Steps, copy


@algorithm(
    allgather,
    name="bruck",
    ordered=True,
    cost=lambda n: (rounds(n), (n - 1) / n),
    ids={"mpich": "brucks", "ucc": "bruck"},
    reference="Bruck et al., TPDS 1997",
)
@algorithm(
    COLLECTIVES["allgatherv"],
    name="bruck",
    ordered=True,
    ids={"openmpi": "2", "mpich": "brucks", "ucc": "bruck", "kucg": "5"},
)
def bruck_allgather(n: int) -> Steps:
    """Round k: everyone sends the 2^k blocks it has to the rank 2^k places back; the last round only the rest."""
    r = np.arange(n)
    for k in range(rounds(n)):
        d = 1 << k
        yield copy(r, (r - d) % n, slot=runs(r, min(d, n - d)) % n)
