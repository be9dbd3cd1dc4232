"""A matrix product on a square of ranks: rows and columns by Split, panels by Bcast (SUMMA)."""

import math

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
side = math.isqrt(comm.size)
color = 0 if comm.rank < side * side else MPI.UNDEFINED
grid = comm.Split(color, comm.rank)
if grid != MPI.COMM_NULL:
    i, j = divmod(grid.Get_rank(), side)
    row = grid.Split(color=i, key=j)
    column = grid.Split(color=j, key=i)
    k = 6
    a = np.fromfunction(lambda x, y: (i * k + x) + 2.0 * (j * k + y), (k, k))
    b = np.fromfunction(lambda x, y: (i * k + x) - (j * k + y) / 2.0, (k, k))
    c = np.zeros((k, k))
    for step in range(side):
        left = a.copy() if j == step else np.empty((k, k))
        upper = b.copy() if i == step else np.empty((k, k))
        row.Bcast(left, root=step)
        column.Bcast(upper, root=step)
        c += left @ upper
    trace = grid.reduce(float(np.trace(c)) if i == j else 0.0, op=MPI.SUM, root=0)
    sums = np.empty(side)
    row.Allgather(np.array([c.sum()]), sums)
    lines = grid.gather((i, j, row.Get_size(), column.Get_rank(), sums.tolist()))
    if grid.rank == 0:
        print(trace, lines)
