"""Pairwise algorithms: n - 1 rounds, in each of which everyone sends to one rank and hears from one other."""

from ops.collectives import alltoall, reduce_scatter
from ops.registry import algorithm
from sim.schedule import Steps, copy, every_rank, reduce
from sim.symmetry.renamings import rotation, rotation_of_pairs


@algorithm(
    alltoall,
    name="pairwise",
    ordered=True,
    cost=lambda n: (n - 1, (n - 1) / n),
    symmetry=rotation_of_pairs,
    ids={"openmpi": "2", "mpich": "pairwise", "ucc": "pairwise"},
    v={"openmpi": "2", "ucc": "pairwise", "kucg": "stars 1"},
)
def pairwise_alltoall(n: int) -> Steps:
    """Round i: everyone sends to the rank i places on and hears from the one i places back."""
    r = every_rank(n)
    yield copy(r, r, slot=r, to=n + r)
    for i in range(1, n):
        yield copy(r, (r + i) % n, slot=(r + i) % n, to=n + r)


@algorithm(
    reduce_scatter,
    name="pairwise",
    cost=lambda n: (n - 1, (n - 1) / n, (n - 1) / n),
    symmetry=rotation,
    ids={"mpich": "pairwise", "oneccl": "naive"},
    v={"mpich": "pairwise"},
)
def pairwise_reduce_scatter(n: int) -> Steps:
    """Round i: everyone sends the rank i places on its block, which that rank adds to its own."""
    r = every_rank(n)
    for i in range(1, n):
        yield reduce(r, (r + i) % n, slot=(r + i) % n)
