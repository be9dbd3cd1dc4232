"""Prefix sums, scattered sums, places of extremes, logical and bitwise operations, an operation of one's own."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
mine = np.array([rank + 1, 10 * rank], dtype="i8")
upto, before = np.zeros(2, dtype="i8"), np.zeros(2, dtype="i8")
comm.Scan(mine, upto)
comm.Exscan(mine, before, op=MPI.SUM)
block = np.empty(2)
comm.Reduce_scatter_block(np.arange(2.0 * size) + rank, block)
counts = [r + 1 for r in range(size)]
ragged = np.empty(counts[rank])
comm.Reduce_scatter(np.arange(float(sum(counts))) * (rank + 1), ragged, counts, op=MPI.MAX)
highest = comm.allreduce((rank * 7 % 5, rank), op=MPI.MAXLOC)
lowest = comm.allreduce(((rank + 1) * 7 % 5, rank), op=MPI.MINLOC)
bits = np.empty(1, dtype="i4")
comm.Allreduce(np.array([1 << rank], dtype="i4"), bits, op=MPI.BOR)
joined = comm.allreduce(f"{rank}", op=lambda a, b: a + b)
prefix = comm.exscan([rank])


def compose(a, b, _):
    """Matrices multiply in the order of the ranks."""
    left = np.frombuffer(a, dtype="d").reshape(2, 2)
    right = np.frombuffer(b, dtype="d").reshape(2, 2)
    right[:] = left @ right


matrix = np.array([[1.0, rank], [0.0, 2.0]])
product = np.empty((2, 2))
comm.Allreduce(matrix, product, op=MPI.Op.Create(compose, commute=False))
pair = np.array([(rank * 3 % 4, rank)], dtype=np.dtype([("value", "f8"), ("index", "i4")], align=True))
best = np.empty_like(pair)
comm.Allreduce([pair, 1, MPI.DOUBLE_INT], [best, 1, MPI.DOUBLE_INT], op=MPI.MAXLOC)
row = comm.gather((upto.tolist(), before.tolist() if rank else None, block.tolist(), ragged.tolist(), prefix))
if rank == 0:
    print(*row, sep="\n")
    print(highest, lowest, bits.tolist(), joined, product.tolist(), best["value"][0], best["index"][0])
