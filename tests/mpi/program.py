"""Run under mpiexec: every collective MPI has, on fixed inputs; every rank writes down what it holds afterwards."""

import sys

import numpy as np
from mpi4py import MPI

from tests.mpi.inputs import COUNTS, DISPLS, DTYPES, ELEMENTS, EXTENT, OPS, RANKS, ROOT, SQUARE, UNTOUCHED, held

WORLD = MPI.COMM_WORLD
RANK = WORLD.Get_rank()


def empty(dtype, length=ELEMENTS):
    return np.full(length, UNTOUCHED, dtype)


def moved(collective, dtype):
    """What a rank has received from a collective that only moves data."""
    mine, whole = held(RANK, collective, dtype), empty(dtype, RANKS * ELEMENTS)
    kind = MPI.INT64_T if dtype == "int64" else MPI.DOUBLE
    match collective:
        case "broadcast":
            got = mine.copy() if RANK == ROOT else empty(dtype)
            WORLD.Bcast(got, ROOT)
        case "allgather":
            WORLD.Allgather(mine, got := whole)
        case "gather":
            WORLD.Gather(mine, got := whole, ROOT)
        case "scatter":
            WORLD.Scatter(mine if RANK == ROOT else None, got := empty(dtype), ROOT)
        case "alltoall":
            WORLD.Alltoall(mine, got := whole)
        case "sendrecv":
            WORLD.Sendrecv(mine, (RANK + 1) % RANKS, recvbuf=(got := empty(dtype)), source=(RANK - 1) % RANKS)
        case "allgatherv":
            WORLD.Allgatherv(mine, [got := empty(dtype, EXTENT), COUNTS, DISPLS, kind])
        case "gatherv":
            WORLD.Gatherv(mine, [got := empty(dtype, EXTENT), COUNTS, DISPLS, kind], ROOT)
        case "scatterv":
            starts = np.cumsum(COUNTS) - COUNTS
            give = [mine, COUNTS, starts, kind] if RANK == ROOT else None
            WORLD.Scatterv(give, got := empty(dtype, COUNTS[RANK]), ROOT)
        case "alltoallv":
            out, into = SQUARE[RANK], SQUARE[:, RANK]
            got = empty(dtype, int(into.sum()))
            give, take = np.cumsum(out) - out, np.cumsum(into) - into
            WORLD.Alltoallv([mine, out, give, kind], [got, into, take, kind])
    return got


def reduced(collective, dtype, op):
    """What a rank has received from a collective that combines data."""
    mine = held(RANK, collective, dtype)
    match collective:
        case "allreduce":
            WORLD.Allreduce(mine, got := empty(dtype), op)
        case "reduce":
            WORLD.Reduce(mine, got := empty(dtype), op, ROOT)
        case "reduce_scatter":
            WORLD.Reduce_scatter_block(mine, got := empty(dtype), op)
        case "reduce_scatterv":
            WORLD.Reduce_scatter(mine, got := empty(dtype, COUNTS[RANK]), COUNTS, op)
        case "scan":
            WORLD.Scan(mine, got := empty(dtype), op)
        case "exscan":
            WORLD.Exscan(mine, got := empty(dtype), op)
    return got


def main(folder):
    found = {}
    moving = ("broadcast", "allgather", "gather", "scatter", "alltoall", "sendrecv")
    for dtype in DTYPES:
        for name in (*moving, "allgatherv", "gatherv", "scatterv", "alltoallv"):
            found[f"{name} {dtype}"] = moved(name, dtype)
        for name in ("allreduce", "reduce", "reduce_scatter", "reduce_scatterv", "scan", "exscan"):
            for op in OPS:
                found[f"{name} {dtype} {op}"] = reduced(name, dtype, MPI.SUM if op == "sum" else MPI.MAX)
    WORLD.Barrier()
    found["barrier"] = np.ones(1)
    np.savez(f"{folder}/rank{RANK}.npz", **found)


if __name__ == "__main__":
    main(sys.argv[1])
