"""Non-blocking calls of all kinds: overlap, Waitany, Test in a loop, Iprobe, Ibarrier, Iallreduce."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

if rank == 0:
    parts = [np.empty(1000 * (r + 1)) for r in range(1, size)]
    requests = [comm.Irecv(part, source=r + 1, tag=5) for r, part in enumerate(parts)]
    seen = set()
    while (i := MPI.Request.Waitany(requests)) != MPI.UNDEFINED:
        seen.add(i)
    print(sorted(seen), [float(part.sum()) for part in parts])
else:
    comm.Isend(np.full(1000 * (rank + 1), float(rank)), dest=0, tag=5).Wait()

total = np.empty(2000)
request = comm.Iallreduce(np.arange(2000.0) * rank, total, op=MPI.SUM)
busy = 0
while not request.Test():
    busy += 1
print_at = comm.Ibarrier()
print_at.Wait()

if rank == size - 1:
    for dest in range(size - 1):
        comm.isend(["late", dest], dest=dest, tag=9).wait()
    heard = None
else:
    status = MPI.Status()
    while not comm.Iprobe(source=MPI.ANY_SOURCE, tag=9, status=status):
        pass
    heard = comm.irecv(source=status.Get_source(), tag=9).wait()
every = comm.gather((float(total[-1]), heard))
if rank == 0:
    print(every)
