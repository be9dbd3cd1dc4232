"""What every rank gives to every collective, for the MPI library and for the simulator alike."""

import numpy as np

RANKS, ELEMENTS = 4, 37
"""Buffers of a length that neither the ranks nor any segments divide."""
DTYPES, OPS = ("int64", "float64"), ("sum", "max")
ROOT = 2
COUNTS = (3, 0, 7, 2)
"""Elements of every rank's block in v collectives."""
DISPLS = (9, 20, 1, 13)
"""Where the blocks stand in the receive buffer of v collectives: out of order, with gaps."""
EXTENT = 22
SQUARE = np.array([[2, 0, 5, 1], [3, 1, 0, 4], [0, 6, 2, 2], [1, 1, 3, 0]])
"""Elements that row gives column in alltoallv."""
UNTOUCHED = -77


def given(rank, dtype, length, which=0):
    """A rank's send buffer: integers of any size, floats of very different ones."""
    rng = np.random.default_rng((rank, length, which))
    if dtype == "int64":
        return rng.integers(-(1 << 40), 1 << 40, length)
    return rng.standard_normal(length) * 10.0 ** rng.integers(-6, 7, length)


def held(rank, collective, dtype):
    """What a rank brings to a collective, in MPI's order."""
    lengths = {
        "allgather": ELEMENTS,
        "gather": ELEMENTS,
        "scatter": RANKS * ELEMENTS if rank == ROOT else 0,
        "reduce_scatter": RANKS * ELEMENTS,
        "alltoall": RANKS * ELEMENTS,
        "allgatherv": COUNTS[rank],
        "gatherv": COUNTS[rank],
        "scatterv": sum(COUNTS) if rank == ROOT else 0,
        "reduce_scatterv": sum(COUNTS),
        "alltoallv": int(SQUARE[rank].sum()),
        "broadcast": ELEMENTS if rank == ROOT else 0,
    }
    return given(rank, dtype, lengths.get(collective, ELEMENTS))
