"""Null handles, what is freed, what travels, and errors with their classes."""

import pickle

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
lines = []


def tell(*things):
    lines.append(" ".join(map(str, things)))


def error_of(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except MPI.Exception as error:
        return error.Get_error_class(), str(error).splitlines()[0]
    except (TypeError, ValueError, BufferError) as error:
        return type(error).__name__
    return "fine"


for name in ("COMM", "GROUP", "OP", "DATATYPE", "REQUEST", "MESSAGE", "INFO", "ERRHANDLER", "WIN", "FILE"):
    null = getattr(MPI, f"{name}_NULL")
    tell(name, type(null).__name__, bool(null), null == type(null)())
twin, group, kind, op = comm.Dup(), comm.Get_group(), MPI.INT.Create_contiguous(2), MPI.Op.Create(max)
info = MPI.Info.Create({"a": "b"})
for handle in (twin, group, kind, op, info):
    handle.Free()
tell(twin == MPI.COMM_NULL, group == MPI.GROUP_NULL, kind == MPI.DATATYPE_NULL, op == MPI.OP_NULL, bool(info))
tell(comm.Split_type(MPI.UNDEFINED) == MPI.COMM_NULL, comm.Split(MPI.UNDEFINED) == MPI.COMM_NULL)
host = comm.Split_type(MPI.COMM_TYPE_SHARED, key=-comm.rank)
tell(host.allgather(comm.rank) == sorted(host.allgather(comm.rank), reverse=True))
tell([len(MPI.Alloc_mem(size, MPI.INFO_NULL)) for size in (0, 16)], MPI.BOTTOM, MPI.IN_PLACE)
for thing in (MPI.SUM, MPI.INT, MPI.COMM_WORLD, MPI.GROUP_NULL, MPI.INFO_NULL):
    tell(pickle.loads(pickle.dumps(thing)) == thing)
tell(pickle.loads(pickle.dumps(MPI.INT.Create_vector(2, 1, 3))).Get_extent())
tell(comm.bcast(MPI.MAX, root=0) is MPI.MAX, error_of(pickle.dumps, comm.Dup()))
tell(MPI.ANY_SOURCE, MPI.ANY_TAG, MPI.PROC_NULL, MPI.UNDEFINED, MPI.ERR_TRUNCATE, MPI.Status().Get_source())
tell([comm.Get_attr(key) for key in (MPI.TAG_UB, MPI.APPNUM, MPI.WTIME_IS_GLOBAL)], repr(comm.Dup().Get_name()))
for call, args in (
    (comm.isend, (1, 99)), (comm.isend, (1, 0, -3)), (comm.isend, (1, "0")), (comm.bcast, (1, 99)),
    (comm.Bcast, (None,)), (comm.Bcast, ("abc",)), (comm.Send, (np.ones(4)[::2], 0)), (MPI.COMM_NULL.Get_rank, ()),
    (MPI.COMM_NULL.Free, ()), (comm.Free, ()), (MPI.INT.Free, ()), (MPI.SUM.Free, ()), (MPI.GROUP_NULL.Get_size, ()),
    (comm.Split, ("a",)), (MPI.DATATYPE_NULL.Get_size, ()), (MPI.OP_NULL, (1, 2)), (MPI.REQUEST_NULL.Cancel, ()),
    (comm.Get_attr, (12345,)), (MPI.Alloc_mem, (-1,)), (comm.Split_type, (77,)), (MPI.Init, ()),
    (comm.Allreduce, (np.ones(2), np.ones(3))), (comm.Reduce, (np.ones(2), np.ones(2), max)),
    (comm.Sendrecv, ([1, 2, 3, 4, 5], 0, 0, bytearray(8), 0, 0)),
):  # fmt: skip
    tell(len(args), error_of(call, *args))
here = comm.irecv(source=comm.rank + 0.0)
comm.send("float", comm.rank + 0.5)
tell(here.wait(), comm.recv(source=MPI.PROC_NULL), comm.iprobe(MPI.PROC_NULL))
self, kept, data = MPI.COMM_SELF, np.zeros(4), np.arange(4.0)
tell(error_of(self.Sendrecv, [data, 4, 0, "d", None], 0, 0, kept, 0, 0), kept.tolist())
self.Sendrecv(data, 0, 0, kept, 0, 0)
tell(kept.tolist(), bool(MPI.Request.Waitall([MPI.REQUEST_NULL])), MPI.Request.Waitany([MPI.REQUEST_NULL]))
if comm.rank == 0:
    print("\n".join(lines))
