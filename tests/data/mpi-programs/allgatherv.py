"""Blocks of unequal length meet everywhere, with gaps between them and in another order."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
counts = np.array([(3 * i) % 5 for i in range(size)])
gap = 2
displs = np.array([int(sum(counts[i + 1 :])) + gap * (size - 1 - i) for i in range(size)])
mine = np.full(counts[rank], rank + 0.5)
out = np.full(int(counts.sum()) + gap * size, -1.0)
comm.Allgatherv([mine, MPI.DOUBLE], [out, counts, displs, MPI.DOUBLE])
if rank == 0:
    print(out.tolist())

plain = np.empty(2 * size, dtype="f4")
comm.Allgather(np.array([rank, -rank], dtype="f4"), plain)
in_place = np.zeros(size, dtype="i8")
in_place[rank] = rank * rank
comm.Allgather(MPI.IN_PLACE, in_place)
if rank == 0:
    print(plain.tolist(), in_place.tolist())
