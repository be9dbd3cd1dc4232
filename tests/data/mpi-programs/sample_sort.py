"""Sample sort: splitters from samples, buckets by Alltoall of the counts and Alltoallv of the numbers."""

from itertools import pairwise

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
np.random.seed(100 + rank)  # noqa: NPY002
numbers = np.sort(np.random.randint(0, 10**6, 500).astype("i8"))  # noqa: NPY002
samples = comm.allgather(numbers[:: 500 // size][:size].tolist())
pool = sorted(x for some in samples for x in some)
splitters = pool[size::size][: size - 1]
edges = np.searchsorted(numbers, splitters)
sendcounts = np.diff([0, *edges, len(numbers)]).astype("i4")
recvcounts = np.empty(size, dtype="i4")
comm.Alltoall(sendcounts, recvcounts)
bucket = np.empty(recvcounts.sum(), dtype="i8")
comm.Alltoallv([numbers, sendcounts], [bucket, recvcounts])
bucket.sort()
ends = comm.gather((len(bucket), int(bucket[0]), int(bucket[-1]), int(bucket.sum())), root=0)
if rank == 0:
    print(ends, all(a[2] <= b[1] for a, b in pairwise(ends)))
