"""Jacobi on a plate cut into a grid of ranks: halos by Sendrecv, columns by a vector type."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
dims = MPI.Compute_dims(comm.size, 2)
cart = comm.Create_cart(dims, periods=[False, False])
north, south = cart.Shift(0, 1)
west, east = cart.Shift(1, 1)
rows, cols = 24 // dims[0], 24 // dims[1]
u = np.zeros((rows + 2, cols + 2))
if north == MPI.PROC_NULL:
    u[0, :] = 1.0
if west == MPI.PROC_NULL:
    u[:, 0] = np.linspace(1.0, 0.0, 26)[cart.coords[0] * rows :][: rows + 2]
column = MPI.DOUBLE.Create_vector(rows, 1, cols + 2).Commit()


def edge(i, j):
    """The buffer that begins at element (i, j)."""
    return u.reshape(-1)[i * (cols + 2) + j :]


for _ in range(60):
    cart.Sendrecv(u[1, 1:-1].copy(), north, 1, h := np.zeros(cols), south, 1)
    if south != MPI.PROC_NULL:
        u[-1, 1:-1] = h
    cart.Sendrecv(u[-2, 1:-1].copy(), south, 2, h := np.zeros(cols), north, 2)
    if north != MPI.PROC_NULL:
        u[0, 1:-1] = h
    cart.Sendrecv([edge(1, 1), 1, column], west, 3, [edge(1, cols + 1), 1, column], east, 3)
    cart.Sendrecv([edge(1, cols), 1, column], east, 4, [edge(1, 0), 1, column], west, 4)
    new = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    change = np.abs(new - u[1:-1, 1:-1]).max()
    u[1:-1, 1:-1] = new
    change = cart.allreduce(change, op=MPI.MAX)
heat = cart.reduce(u[1:-1, 1:-1].sum(), op=MPI.SUM, root=0)
if cart.rank == 0:
    print(f"grid {dims}, last change {change:.12e}, heat {heat:.9f}")
