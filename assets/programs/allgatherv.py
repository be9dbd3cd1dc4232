"""Blocks of unequal length from every rank to every rank, with counts and displacements."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, n = comm.Get_rank(), comm.Get_size()
counts = [(r % 4 + 1) * 1024 for r in range(n)]
displacements = np.cumsum([0, *counts[:-1]])
block = np.full(counts[rank], rank, dtype=np.float64)
everything = np.empty(sum(counts))
comm.Allgatherv(block, [everything, counts, displacements, MPI.DOUBLE])
print(rank, [everything[at] for at in displacements], everything.sum())
