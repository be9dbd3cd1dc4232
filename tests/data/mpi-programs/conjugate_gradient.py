"""Conjugate gradients on the 1-D Laplacian: dot products by Allreduce, neighbours by Isend and Irecv."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
n = 30
left = rank - 1 if rank else MPI.PROC_NULL
right = rank + 1 if rank < size - 1 else MPI.PROC_NULL


def dot(a, b):
    """The product over all ranks."""
    out = np.empty(1)
    comm.Allreduce(np.array([a @ b]), out)
    return out[0]


def laplacian(v):
    """2 v[i] - v[i-1] - v[i+1], zero beyond the ends."""
    low, high = np.zeros(1), np.zeros(1)
    requests = [
        comm.Irecv(low, left, 1),
        comm.Irecv(high, right, 2),
        comm.Isend(v[:1], left, 2),
        comm.Isend(v[-1:], right, 1),
    ]
    MPI.Request.Waitall(requests)
    wide = np.concatenate([low, v, high])
    return 2 * v - wide[:-2] - wide[2:]


x, b = np.zeros(n), np.ones(n)
r = b - laplacian(x)
p, rr = r.copy(), dot(r, r)
steps = 0
while rr > 1e-16 and steps < 4 * n * size:
    q = laplacian(p)
    alpha = rr / dot(p, q)
    x += alpha * p
    r -= alpha * q
    new = dot(r, r)
    p = r + new / rr * p
    rr = new
    steps += 1
norm = dot(x, x) ** 0.5
if rank == 0:
    print(f"{steps} steps, norm {norm:.6f}")
