"""Pi by the midpoint rule: Bcast of the number of intervals, Reduce of the parts."""

import math

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
n = np.array(20_000 if comm.rank == 0 else 0, dtype="i8")
comm.Bcast(n, root=0)
h = 1.0 / n
x = h * (np.arange(comm.rank, n, comm.size) + 0.5)
part = np.array(h * np.sum(4.0 / (1.0 + x * x)))
total = np.zeros(())
comm.Reduce(part, total, op=MPI.SUM, root=0)
if comm.rank == 0:
    print(f"pi is about {total:.10f}, off by {abs(total - math.pi) < 1e-8}")
