"""Ring algorithms: every rank talks to its two neighbours only."""

import numpy as np

from ops.collectives import COLLECTIVES, allgather, allreduce, reduce_scatter
from ops.registry import algorithm
from sim.schedule import Steps, copy, reduce


@algorithm(
    reduce_scatter,
    name="ring",
    cost=lambda n: (n - 1, (n - 1) / n, (n - 1) / n),
    ids={"openmpi": "3", "nccl": "Ring", "ucc": "ring", "oneccl": "ring"},
)
@algorithm(COLLECTIVES["reduce_scatterv"], name="ring", ids={"openmpi": "3", "ucc": "ring"})
def ring_reduce_scatter(n: int) -> Steps:
    """Partial sums travel once round the ring; rank r ends with block r."""
    r = np.arange(n)
    for k in range(n - 1):
        yield reduce(r, (r + 1) % n, slot=(r - k - 1) % n)


@algorithm(
    allgather,
    name="ring",
    cost=lambda n: (n - 1, (n - 1) / n),
    ids={"openmpi": "4", "mpich": "ring", "nccl": "Ring", "ucc": "ring", "oneccl": "ring"},
)
@algorithm(
    COLLECTIVES["allgatherv"],
    name="ring",
    ids={"openmpi": "3", "mpich": "ring", "nccl": "Ring", "ucc": "ring", "kucg": "2"},
)
def ring_allgather(n: int) -> Steps:
    """Every block travels once round the ring."""
    r = np.arange(n)
    for k in range(n - 1):
        yield copy(r, (r + 1) % n, slot=(r - k) % n)


@algorithm(
    allreduce,
    name="ring",
    pieces=lambda n: n,
    cost=lambda n: (2 * (n - 1), 2 * (n - 1) / n, (n - 1) / n),
    ids={"openmpi": "4", "mpich": "ring", "nccl": "Ring", "ucc": "4", "gloo": "1", "kucg": "4", "oneccl": "ring"},
    reference="Patarasuk and Yuan 2009",
)
def ring(n: int) -> Steps:
    """Partial sums travel once round the ring, then the totals do."""
    yield "reduce-scatter"
    yield from ring_reduce_scatter(n)
    yield "allgather"
    yield from ring_allgather(n)
