"""Derived types of several bases, at distances in bytes, and operations of a program's own on buffers and objects."""

import array

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
layout = np.dtype([("count", "i4"), ("weight", "f8"), ("tag", "S4")], align=True)
fields = [layout.fields[name][1] for name in layout.names]
particle = MPI.Datatype.Create_struct([1, 1, 4], fields, [MPI.INT, MPI.DOUBLE, MPI.CHAR])
particle = particle.Create_resized(0, layout.itemsize).Commit()
things = np.zeros(2, layout)
if rank == 0:
    things[:] = [(3, 0.5, b"ab"), (4, 1.5, b"cd")]
comm.Bcast([things, particle], 0)
status = MPI.Status()
if rank == size - 1:
    comm.Send([things, 2, particle], 0, 5)
if rank == 0:
    back = np.zeros(2, layout)
    comm.Recv([back, 2, particle], size - 1, 5, status)
    print(back.tolist(), particle.Get_size(), particle.Get_extent(), status.Get_count(particle))
matrix = np.arange(24, dtype="i").reshape(4, 6)
column = MPI.INT.Create_hvector(4, 1, 6 * 4).Commit()
corner = MPI.INT.Create_hindexed([2, 1], [0, 24]).Commit()
row, two = np.zeros(4, "i"), np.zeros(3, "i")
comm.Sendrecv([matrix, 1, column], (rank + 1) % size, 0, row, (rank - 1) % size, 0)
comm.Sendrecv([matrix, 1, corner], (rank + 1) % size, 1, two, (rank - 1) % size, 1)
kinds = [column, corner, MPI.INT.Dup(), MPI.DOUBLE.Create_indexed_block(2, [0, 3])]
if rank == 0:
    print(row.tolist(), two.tolist(), [(kind.Get_extent(), kind.size, kind.combiner) for kind in kinds])
    print(MPI.INT.Create_vector(2, 1, 3).decode()[1:], MPI.DOUBLE.typechar, MPI.INT.tocode(), MPI.LONG.name)
    print(MPI._typedict["d"] == MPI.DOUBLE, MPI.Datatype.fromcode("f") == MPI.FLOAT, MPI.INT == MPI.INT32_T)


def absmax(a, b, datatype):
    """On buffers as on objects, of which the operation is told no type."""
    if datatype is None:
        return max(abs(a), abs(b))
    x, y = np.frombuffer(a, "i"), np.frombuffer(b, "i")
    y[:] = np.maximum(np.abs(x), np.abs(y))
    return None


op = MPI.Op.Create(absmax, commute=True)
mine, top = array.array("i", [rank - 3, -rank, 2]), array.array("i", [0] * 3)
comm.Allreduce([mine, MPI.INT], [top, MPI.INT], op)
found = comm.allreduce(-rank, op), comm.reduce((rank % 2, rank), MPI.MAXLOC), comm.scan(rank + 1, MPI.PROD)
if rank == 0:
    print(top.tolist(), found, op.Is_commutative(), op.is_predefined)
memory = MPI.Alloc_mem(8 * 4, MPI.INFO_NULL)
numbers = np.frombuffer(memory, "d")
numbers[:] = rank
comm.Reduce(MPI.IN_PLACE if rank == 0 else numbers, numbers if rank == 0 else None, MPI.SUM, 0)
if rank == 0:
    print(numbers.tolist(), len(memory), MPI.Aint_add(3, 4), MPI.Get_address(numbers) == numbers.ctypes.data)
MPI.Free_mem(memory)
