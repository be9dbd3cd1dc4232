"""A token goes round the ring and every rank adds its number; arrays and objects, tags and a status."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
left, right = (rank - 1) % size, (rank + 1) % size

if rank == 0:
    comm.send({"sum": 0, "path": [0]}, dest=right, tag=7)
    token = comm.recv(source=left, tag=7)
    print("token", token["sum"], token["path"])
else:
    token = comm.recv(source=left, tag=7)
    token["sum"] += rank
    token["path"].append(rank)
    comm.send(token, dest=right, tag=7)

values = np.full(5, rank, dtype="i4")
heard = np.empty(8, dtype="i4")
status = MPI.Status()
request = comm.Isend([values, MPI.INT], dest=right, tag=rank)
comm.Recv([heard, MPI.INT], source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
request.Wait()
report = comm.gather((status.Get_source(), status.Get_tag(), status.Get_count(MPI.INT), heard[:5].tolist()))
if rank == 0:
    for line in report:
        print(*line)
