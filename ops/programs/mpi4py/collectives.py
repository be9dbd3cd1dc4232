"""mpi4py's collectives: a function turns a rank's arguments into its part; blocking and I-variants follow."""
# ruff: noqa: N802  functions are called as mpi4py calls them

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ops.programs.mpi4py.buffers import Array, Blocks, in_place, many, one
from ops.programs.mpi4py.communicator import Comm
from ops.programs.mpi4py.handles.errors import wrong
from ops.programs.mpi4py.handles.info import Info
from ops.programs.mpi4py.matched import PICKLE, pickled
from ops.programs.mpi4py.reductions import OPS, Op
from ops.programs.mpi4py.requests import MpiRequest, Prequest
from ops.programs.runtime.exchange import size_of
from ops.programs.runtime.rendezvous import Contribution

Result = Callable[[], Any]
Maker = Callable[..., tuple[Contribution, Result | None]]
SUM = OPS["SUM"]


def _collective(make: Maker) -> Maker:
    """Give communicators the call, and with buffers its I-variant too."""
    name = make.__name__.rstrip("_")

    def blocking(comm: Comm, *args: Any, **kwargs: Any) -> Any:
        part, result = make(comm, name, *args, **kwargs)
        comm.meet(part)
        comm.world.wait((part,), name)
        return None if result is None else result()

    def immediate(comm: Comm, *args: Any, **kwargs: Any) -> MpiRequest:
        part, result = make(comm, f"I{name.lower()}", *args, **kwargs)
        return MpiRequest(comm.world, comm.meet(part), result)

    def persistent(comm: Comm, *args: Any, **kwargs: Any) -> Prequest:
        options = {key: value for key, value in kwargs.items() if key != "info"}
        return Prequest(lambda: immediate(comm, *(a for a in args if not isinstance(a, Info)), **options))

    for function, word in ((blocking, name), (immediate, f"I{name.lower()}"), (persistent, f"{name}_init")):
        function.__name__ = function.__qualname__ = word
    blocking.__doc__ = immediate.__doc__ = persistent.__doc__ = make.__doc__
    setattr(Comm, name, blocking)
    if name[0].isupper():
        setattr(Comm, f"I{name.lower()}", immediate)
        setattr(Comm, f"{name}_init", persistent)
    return make


# What ranks send and where they want it: buffers


def _room(recv: Blocks | None) -> list[int] | None:
    return None if recv is None else recv.room


def _reduction(name: str, collective: str, send: Blocks, op: Op, recv: Blocks | None, **more: Any) -> Contribution:
    if not isinstance(op, Op):
        raise TypeError(f"Argument 'op' has incorrect type (expected mpi4py.MPI.Op, got {type(op).__name__})")
    if recv is not None and collective != "reduce_scatter" and recv.elements != send.elements:
        raise ValueError(f"mismatch in send count {send.elements} and receive count {recv.elements}")
    same = {"op": op.name, **more.pop("same", {})}
    if "counts" not in same:
        more["length"] = sum(send.room)
    return Contribution(
        name, collective, more.pop("sends", None) or send.copies(), same=same, fold=op.arrays, commutes=op.commutes,
        counted=send.elements, write=None if recv is None else recv.write, **more,
    )  # fmt: skip


@_collective
def Barrier(comm: Comm, name: str) -> tuple[Contribution, None]:
    """Stop until all ranks are there."""
    return Contribution(name, "barrier", []), None


@_collective
def Bcast(comm: Comm, name: str, buf: Any, root: int = 0) -> tuple[Contribution, None]:
    """The root's buffer goes to all."""
    here = comm.rank == root
    blocks = one(buf, writes=not here)
    write = None if here else blocks.write
    return Contribution(
        name, "broadcast", blocks.read(), root=root, room=blocks.room, length=blocks.room[0], write=write,
        counted=blocks.elements,
    ), None  # fmt: skip


@_collective
def Reduce(comm: Comm, name: str, sendbuf: Any, recvbuf: Any, op: Op = SUM, root: int = 0) -> tuple[Contribution, None]:
    """All buffers combined, at the root."""
    recv = one(recvbuf, writes=True) if comm.rank == root else None
    send = recv if in_place(sendbuf) and recv is not None else one(sendbuf)
    return _reduction(name, "reduce", send, op, recv, root=root, room=_room(recv)), None


@_collective
def Allreduce(comm: Comm, name: str, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> tuple[Contribution, None]:
    """All buffers combined, everywhere."""
    recv = one(recvbuf, writes=True)
    send = recv if in_place(sendbuf) else one(sendbuf)
    return _reduction(name, "allreduce", send, op, recv, room=recv.room), None


@_collective
def Scan(comm: Comm, name: str, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> tuple[Contribution, None]:
    """The buffers of ranks 0 to r combined, at rank r."""
    recv = one(recvbuf, writes=True)
    send = recv if in_place(sendbuf) else one(sendbuf)
    return _reduction(name, "scan", send, op, recv, room=recv.room), None


@_collective
def Exscan(comm: Comm, name: str, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> tuple[Contribution, None]:
    """The buffers of ranks 0 to r - 1 combined, at rank r; rank 0 gets nothing."""
    send = one(recvbuf if in_place(sendbuf) else sendbuf)
    recv = one(recvbuf, writes=True) if comm.rank else None
    return _reduction(name, "exscan", send, op, recv, room=_room(recv)), None


@_collective
def Reduce_scatter_block(comm: Comm, name: str, sendbuf: Any, recvbuf: Any, op: Op = SUM) -> tuple[Contribution, None]:
    """Equal blocks combined, block r at rank r."""
    recv = one(recvbuf, writes=True)
    if in_place(sendbuf):
        send = many(recvbuf, comm.size, writes=True)
        recv = Blocks(send.array, send.datatype, send.counts[:1], send.displs[:1])
    else:
        send = many(sendbuf, comm.size)
    return _reduction(name, "reduce_scatter", send, op, recv, room=recv.room), None


@_collective
def Reduce_scatter(
    comm: Comm, name: str, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Op = SUM
) -> tuple[Contribution, None]:
    """Blocks of given lengths combined, block r at rank r."""
    recv = one(recvbuf, writes=True)
    source = recvbuf if in_place(sendbuf) else sendbuf
    buffer = one(source)
    if recvcounts is None:  # everyone tells how much it has room for, as in mpi4py
        recvcounts = [int(item[0]) for item in comm.agree(name, (int(recv.counts[0]),)).gets]
    counts = np.asarray(recvcounts, np.int64)
    if len(counts) != comm.size:
        raise ValueError(f"message: {len(counts)} counts for {comm.size} ranks: give one each")
    send = Blocks(buffer.array, buffer.datatype, counts, np.cumsum(counts) - counts)
    own = send.counts[comm.rank : comm.rank + 1]
    recv = Blocks(recv.array, recv.datatype, own, np.zeros(1, np.int64))
    same = {"counts": tuple(send.counts.tolist())}
    return _reduction(name, "reduce_scatter", send, op, recv, room=recv.room, uneven=True, same=same), None


def _gather(
    comm: Comm, name: str, sendbuf: Any, recvbuf: Any, root: int | None, *, uneven: bool
) -> tuple[Contribution, None]:
    here = root is None or comm.rank == root
    recv = many(recvbuf, comm.size, writes=True) if here else None
    if in_place(sendbuf) and recv is not None:
        sends: list[Array] = [recv.read()[comm.rank]]
    else:
        sends = one(sendbuf).read()
    collective = "allgather" if root is None else "gather"
    write = None if recv is None else recv.write
    room = None if recv is None else recv.room
    length = None if uneven else size_of(sends[0])
    return Contribution(
        name, collective, sends, root=root or 0, room=room, write=write, uneven=uneven, length=length
    ), None


@_collective
def Gather(comm: Comm, name: str, sendbuf: Any, recvbuf: Any, root: int = 0) -> tuple[Contribution, None]:
    """Equal blocks come together at the root."""
    return _gather(comm, name, sendbuf, recvbuf, root, uneven=False)


@_collective
def Gatherv(comm: Comm, name: str, sendbuf: Any, recvbuf: Any, root: int = 0) -> tuple[Contribution, None]:
    """Blocks of any length come together at the root."""
    return _gather(comm, name, sendbuf, recvbuf, root, uneven=True)


@_collective
def Allgather(comm: Comm, name: str, sendbuf: Any, recvbuf: Any) -> tuple[Contribution, None]:
    """Equal blocks come together everywhere."""
    return _gather(comm, name, sendbuf, recvbuf, None, uneven=False)


@_collective
def Allgatherv(comm: Comm, name: str, sendbuf: Any, recvbuf: Any) -> tuple[Contribution, None]:
    """Blocks of any length come together everywhere."""
    return _gather(comm, name, sendbuf, recvbuf, None, uneven=True)


def _scatter(
    comm: Comm, name: str, sendbuf: Any, recvbuf: Any, root: int, *, uneven: bool
) -> tuple[Contribution, None]:
    sends = many(sendbuf, comm.size).read() if comm.rank == root else []
    recv = None if in_place(recvbuf) and comm.rank == root else one(recvbuf, writes=True)
    write = None if recv is None else recv.write
    length = None if uneven else recv.room[0] if recv is not None else size_of(sends[0])
    return Contribution(
        name, "scatter", sends, root=root, room=_room(recv), write=write, uneven=uneven, length=length
    ), None


@_collective
def Scatter(comm: Comm, name: str, sendbuf: Any, recvbuf: Any, root: int = 0) -> tuple[Contribution, None]:
    """The root's equal blocks go to one rank each."""
    return _scatter(comm, name, sendbuf, recvbuf, root, uneven=False)


@_collective
def Scatterv(comm: Comm, name: str, sendbuf: Any, recvbuf: Any, root: int = 0) -> tuple[Contribution, None]:
    """The root's blocks of any length go to one rank each."""
    return _scatter(comm, name, sendbuf, recvbuf, root, uneven=True)


def _alltoall(comm: Comm, name: str, sendbuf: Any, recvbuf: Any, *, uneven: bool) -> tuple[Contribution, None]:
    recv = many(recvbuf, comm.size, writes=True)
    sends = recv.copies() if in_place(sendbuf) else many(sendbuf, comm.size).read()
    length = None if uneven else size_of(sends[0])
    return Contribution(name, "alltoall", sends, room=recv.room, write=recv.write, uneven=uneven, length=length), None


@_collective
def Alltoall(comm: Comm, name: str, sendbuf: Any, recvbuf: Any) -> tuple[Contribution, None]:
    """Everyone's equal blocks go to one rank each."""
    return _alltoall(comm, name, sendbuf, recvbuf, uneven=False)


@_collective
def Alltoallv(comm: Comm, name: str, sendbuf: Any, recvbuf: Any) -> tuple[Contribution, None]:
    """Everyone's blocks of any length go to one rank each."""
    return _alltoall(comm, name, sendbuf, recvbuf, uneven=True)


# The same with objects, pickled


def _objects(part: Contribution) -> list[Any]:
    return [PICKLE.loads(item) for item in part.gets]


def _object(part: Contribution) -> Any:
    return _objects(part)[0] if part.gets else None


def _fold(op: Callable[[Any, Any], Any]) -> Callable[[bytes, bytes], bytes]:
    combine = op.objects if isinstance(op, Op) else op
    return lambda a, b: pickled(combine(PICKLE.loads(a), PICKLE.loads(b)))


def _one_per_rank(comm: Comm, things: Any) -> list[bytes]:
    listed = list(things)
    if len(listed) != comm.size:
        raise ValueError(f"expecting {comm.size} items, got {len(listed)}")
    return [pickled(thing) for thing in listed]


@_collective
def barrier(comm: Comm, name: str) -> tuple[Contribution, None]:
    """Stop until all ranks are there."""
    return Contribution(name, "barrier", []), None


@_collective
def bcast(comm: Comm, name: str, obj: Any, root: int = 0) -> tuple[Contribution, Result]:
    """The root's object goes to all."""
    here = comm.rank == root
    part = Contribution(name, "broadcast", [pickled(obj)] if here else [], root=root)
    return part, lambda: obj if here else _object(part)


@_collective
def scatter(comm: Comm, name: str, sendobj: Any, root: int = 0) -> tuple[Contribution, Result]:
    """The root's objects go to one rank each."""
    sends = _one_per_rank(comm, sendobj) if comm.rank == root else []
    part = Contribution(name, "scatter", sends, root=root)
    return part, lambda: _object(part)


@_collective
def gather(comm: Comm, name: str, sendobj: Any, root: int = 0) -> tuple[Contribution, Result]:
    """Everyone's object comes to the root."""
    part = Contribution(name, "gather", [pickled(sendobj)], root=root)
    here = comm.rank == root
    return part, lambda: _objects(part) if here else None


@_collective
def allgather(comm: Comm, name: str, sendobj: Any) -> tuple[Contribution, Result]:
    """Everyone's object comes to all."""
    part = Contribution(name, "allgather", [pickled(sendobj)])
    return part, lambda: _objects(part)


@_collective
def alltoall(comm: Comm, name: str, sendobj: Any) -> tuple[Contribution, Result]:
    """Everyone's objects go to one rank each."""
    part = Contribution(name, "alltoall", _one_per_rank(comm, sendobj))
    return part, lambda: _objects(part)


def _combined(comm: Comm, name: str, collective: str, obj: Any, op: Any, root: int = 0) -> tuple[Contribution, Result]:
    if not callable(op):
        wrong("ERR_OP", f"{op!r} is no operation")
    if isinstance(op, Op):
        op.stands()
    commutes = op.commutes if isinstance(op, Op) else False
    name_of = op.name if isinstance(op, Op) else getattr(op, "__qualname__", str(op))
    part = Contribution(name, collective, [pickled(obj)], same={"op": name_of}, root=root,
                fold=_fold(op), commutes=commutes)  # fmt: skip
    return part, lambda: _object(part)


@_collective
def reduce(comm: Comm, name: str, sendobj: Any, op: Any = SUM, root: int = 0) -> tuple[Contribution, Result]:
    """All objects combined, at the root."""
    return _combined(comm, name, "reduce", sendobj, op, root)


@_collective
def allreduce(comm: Comm, name: str, sendobj: Any, op: Any = SUM) -> tuple[Contribution, Result]:
    """All objects combined, everywhere."""
    return _combined(comm, name, "allreduce", sendobj, op)


@_collective
def scan(comm: Comm, name: str, sendobj: Any, op: Any = SUM) -> tuple[Contribution, Result]:
    """The objects of ranks 0 to r combined, at rank r."""
    return _combined(comm, name, "scan", sendobj, op)


@_collective
def exscan(comm: Comm, name: str, sendobj: Any, op: Any = SUM) -> tuple[Contribution, Result]:
    """The objects of ranks 0 to r - 1 combined, at rank r; rank 0 gets None."""
    return _combined(comm, name, "exscan", sendobj, op)
