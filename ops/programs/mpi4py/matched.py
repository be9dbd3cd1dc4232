"""Taking messages in: `MPI.Message`, and what puts a message's bytes where they belong."""
# ruff: noqa: N802  methods are called as mpi4py calls them

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from ops.programs.mpi4py import buffers
from ops.programs.mpi4py.handles.errors import MPIError
from ops.programs.mpi4py.handles.handle import Handle
from ops.programs.mpi4py.handles.status import Status
from ops.programs.mpi4py.requests import MpiRequest
from ops.programs.runtime.messages import ANY_SOURCE, ANY_TAG, PostedMessage
from ops.programs.runtime.tasks import Pending, Slept

Take = Callable[[PostedMessage], None]


class Pickle:
    """`MPI.Pickle`: how objects become bytes and come back; programs may put in functions of their own."""

    def __init__(
        self,
        dumps: Callable[..., bytes] | None = None,
        loads: Callable[..., Any] | None = None,
        protocol: int | None = None,
        threshold: int | None = None,  # noqa: ARG002  of out-of-band buffers, which there are none of
    ) -> None:
        self.PROTOCOL = protocol if protocol is not None or dumps is not None else pickle.HIGHEST_PROTOCOL
        self._dumps, self._loads = dumps or pickle.dumps, loads or pickle.loads

    def dumps(self, obj: Any) -> bytes:
        """An object as bytes."""
        return self._dumps(obj) if self.PROTOCOL is None else self._dumps(obj, self.PROTOCOL)

    def loads(self, data: Any) -> Any:
        """The object of these bytes."""
        return self._loads(data)


PICKLE = Pickle()


class Matched(Handle):
    """`MPI.Message`: a message that a matched probe of a communicator has set apart; the token is it, or NOBODY's."""

    kind, error = "Message", "ERR_REQUEST"
    comm: Any

    @classmethod
    def Probe(cls, comm: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> "Matched":
        """Stop until a message is there, and set it apart for whoever has the answer."""
        envelope = comm._envelope(source, tag)
        if envelope is None:
            if status is not None:
                status.nobody()
            return cls(NO_PROC)
        box = comm.box(comm.rank)
        probed = box.probe(envelope)
        comm._finish("Mprobe", probed, status=status)
        assert probed.message is not None
        box.set_apart(probed.message)
        matched = cls.__new__(cls)
        matched.comm, matched.token = comm, probed.message
        return matched

    @classmethod
    def Iprobe(
        cls, comm: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> "Matched | None":
        """The message that is there, set apart, or None."""
        return cls.Probe(comm, source, tag, status) if comm.Iprobe(source, tag) else None

    probe, iprobe = Probe, Iprobe

    def Recv(self, buf: Any, status: Status | None = None) -> None:
        """Receive it into a buffer."""
        self.Irecv(buf).Wait(status)

    def Irecv(self, buf: Any) -> MpiRequest:
        """Begin to receive it into a buffer."""
        self.stands()
        return self._begin(into(buf, optional=self.token is NOBODY), None)

    def recv(self, status: Status | None = None) -> Any:
        """Receive it as an object."""
        return self.irecv().wait(status)

    def irecv(self) -> MpiRequest:
        """Begin to receive it as an object."""
        came: list[Any] = []
        return self._begin(keep(came), lambda: loaded(came))

    def _begin(self, take: Take, result: Callable[[], Any] | None) -> MpiRequest:
        message = self.stands()
        self.token = NOBODY if self is NO_PROC else None
        if message is NOBODY:
            return MpiRequest(None, done())
        return MpiRequest(self.comm.world, message.box.take(message, take), result)


NOBODY = object()
NO_PROC = Matched()
NO_PROC.token = NOBODY


def into(buf: Any, *, optional: bool = False) -> Take:
    """What puts a message into a buffer, or notes that it is too long."""
    blocks = buffers.one(buf, writes=True, optional=optional)

    def take(message: PostedMessage) -> None:
        data = message.data if isinstance(message.data, np.ndarray) else np.frombuffer(message.data, np.uint8)
        (room,) = blocks.room
        if message.size > room:
            assert message.receive is not None
            message.receive.problem = MPIError(
                "ERR_TRUNCATE", f"message truncated: {message.size} bytes arrived, but the buffer has room for {room}"
            )
        else:
            blocks.write_piece(0, data)

    return take


def pickled(obj: Any) -> bytes:
    """An object as a message's bytes."""
    return PICKLE.dumps(obj)


def keep(came: list[Any]) -> Take:
    """What keeps a message's bytes till its receiver asks for the object."""
    return lambda message: came.append(message.data)


def loaded(came: list[Any]) -> Any:
    """The object that was kept; None of a message from nobody."""
    return PICKLE.loads(bytes(came[0])) if came and len(came[0]) else None


def done() -> Pending:
    """What needs no waiting: a message to nobody, or from nobody."""
    pending = Slept()
    pending.done = True
    return pending
