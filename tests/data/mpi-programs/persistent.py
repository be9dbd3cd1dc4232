"""Persistent messages and collectives, grids, tests of many requests, matched probes."""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
out, came, status = np.zeros(3), np.zeros(3), MPI.Status()
ring = [comm.Send_init(out, right, 7), comm.Recv_init(came, left, 7)]
for step in range(3):
    out[:] = rank + 10 * step
    MPI.Prequest.Startall(ring)
    MPI.Request.Waitall(ring)
    assert (came == left + 10 * step).all()
for request in ring:
    request.Free()
whole = np.zeros(3)
reduction = comm.Allreduce_init(out, whole, MPI.MAX, info=MPI.INFO_NULL)
for step in range(2):
    out[:] = rank * (step + 1)
    reduction.Start()
    reduction.Wait()
share, fan = np.zeros(1), np.arange(float(size)) + rank
scatter = comm.Scatter_init(fan, share, 0)
scatter.Start()
scatter.Wait(status)
reduction.Free()
scatter.Free()
every = np.zeros(size)
requests = [comm.Iallgather(share, every), comm.Ibarrier()]
MPI.Request.Waitall(requests)
grid = comm.Create_cart(MPI.Compute_dims(size, 2), periods=[True, False], reorder=True)
steps = [grid.Shift(0, 1), grid.Shift(1, 1)] if grid else None
rows = grid.Sub([False, True])
places = grid.allgather((grid.coords, steps, rows.size, grid.Get_topo()[:2]))
if rank == 0:
    print(whole.tolist(), every.tolist(), places, grid.Get_topology() == MPI.CART)
if rank == 0:
    seen = []
    for _ in range(2 * (size - 1)):
        message = comm.Mprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        count, source = status.Get_count(MPI.INT), status.Get_source()
        buf = np.zeros(count, "i")
        message.Recv([buf, MPI.INT], status)
        seen.append((source, status.tag, count, status.Get_elements(MPI.INT), buf.tolist(), bool(message)))
    print(sorted(seen))
else:
    for tag in (1, 2):
        comm.Ssend([np.full(tag, rank, "i"), MPI.INT], 0, tag)
comm.Barrier()
pending = [comm.irecv(source=r, tag=9) for r in range(size)]
for r in range(size):
    comm.isend({"from": rank}, r, tag=9).wait()
done = {}
while len(done) < size:
    place, thing = MPI.Request.waitany(pending)
    done[place] = thing["from"]
none = MPI.Request.testall(pending), MPI.Request.Waitsome(pending), MPI.Request.Testany(pending)
if rank == 0:
    print(sorted(done.items()), none)
twin, request = comm.Idup()
request.Wait()
key = MPI.Comm.Create_keyval(copy_fn=lambda _comm, _key, value: [*value, rank], delete_fn=lambda *_: None)
twin.Set_attr(key, ["kept"])
copy = twin.Dup()
if rank == 0:
    print(copy.Get_attr(key), twin.Get_attr(key), comm.Get_attr(key), MPI.Comm.Compare(copy, twin))
twin.Delete_attr(key)
copy.Free()
