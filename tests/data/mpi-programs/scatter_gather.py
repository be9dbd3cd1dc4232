"""Rows are scattered, worked on, gathered; even and uneven, buffers and objects, any root."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
root = size - 1

table = np.arange(size * 3, dtype="d").reshape(size, 3) if rank == root else None
row = np.empty(3)
comm.Scatter(table, row, root=root)
row *= rank + 1
back = np.empty((size, 3)) if rank == root else None
comm.Gather(row, back, root=root)
back = comm.bcast(back, root=root)
if rank == 0:
    print(back.tolist())

counts = [i + 1 for i in range(size)]
displs = [sum(counts[:i]) for i in range(size)]
whole = np.arange(sum(counts), dtype="i4") if rank == 0 else None
mine = np.empty(counts[rank], dtype="i4")
comm.Scatterv([whole, counts, displs, MPI.INT], mine, root=0)
mine += 100 * rank
together = np.zeros(sum(counts), dtype="i4") if rank == 0 else None
comm.Gatherv(mine, [together, (counts, displs)], root=0)
if rank == 0:
    print(together.tolist())

word = comm.scatter([f"piece {i}" for i in range(size)] if rank == 0 else None, root=0)
words = comm.allgather(word.upper())
transposed = comm.alltoall([(rank, other) for other in range(size)])
if rank == 0:
    print(words, transposed)
