"""Direct algorithms: everyone sends straight to whom it concerns, all at once.

Peers rotate: message i of rank r goes to r + i, otherwise rank 0 would be everyone's first target.
"""

import numpy as np

from ops.collectives import COLLECTIVES, allgather, alltoall, sendrecv
from ops.registry import algorithm
from sim.schedule import Steps, copy
from sim.topology import Ints


def _everyone(n: int) -> tuple[Ints, Ints]:
    """All pairs of different ranks, peers rotated: 0 to 1, 1 to 2 and so on, then 0 to 2, 1 to 3 and so on."""
    r, i = np.arange(n, dtype=np.int32), np.arange(1, n, dtype=np.int32).reshape(-1, 1)
    return np.broadcast_to(r, (n - 1, n)).reshape(-1), ((r + i) % n).reshape(-1)


@algorithm(
    allgather,
    name="linear",
    cost=lambda n: (1, (n - 1) / n),
    ids={"openmpi": "8", "ucc": "linear", "oneccl": "direct"},
)
@algorithm(COLLECTIVES["allgatherv"], name="linear", ids={"kucg": "4", "ucc": "linear"})
def linear_allgather(n: int) -> Steps:
    """Everyone sends its block to everyone, all at once."""
    src, dst = _everyone(n)
    yield copy(src, dst, slot=src)


@algorithm(
    alltoall,
    name="linear",
    cost=lambda n: (1, (n - 1) / n),
    ids={"openmpi": "1", "mpich": "scattered", "oneccl": "scatter"},
)
@algorithm(COLLECTIVES["alltoallv"], name="linear", ids={"openmpi": "1", "mpich": "scattered"})
def linear_alltoall(n: int) -> Steps:
    """Everyone sends every block to its receiver, all at once."""
    r = np.arange(n)
    src, dst = _everyone(n)
    yield copy(r, r, slot=r, to=n + r), copy(src, dst, slot=dst, to=n + src)


@algorithm(sendrecv, name="direct", cost=lambda n: (1, 1), ids={"nccl": "SendRecv"})
def shift(n: int) -> Steps:
    """Everyone sends to its right neighbour at once."""
    r = np.arange(n)
    yield copy(r, (r + 1) % n, slot=0, to=1)
