"""Sending and receiving: what a communicator has for messages between two ranks."""
# ruff: noqa: N802, ARG002  methods and arguments are called as mpi4py calls them

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from ops.programs.mpi4py import buffers
from ops.programs.mpi4py.errors import MPIError, wrong
from ops.programs.mpi4py.requests import PROC_NULL, MpiRequest, Prequest, Status
from ops.programs.runtime.messages import ANY_SOURCE, ANY_TAG, Mailbox, Message, Receive
from ops.programs.runtime.rendezvous import ProcessGroup
from ops.programs.runtime.tasks import Pending
from ops.programs.runtime.transport import Transport

TAG_UB = (1 << 31) - 1


class Ranks:
    """Ranks of a group, as one of them sees it; the same object serves all of them."""

    def __init__(self, group: ProcessGroup | None = None) -> None:
        self._made_of = group

    @property
    def group(self) -> ProcessGroup:
        """The ranks. Raises MPI.Exception for the null communicator."""
        return self._made_of or wrong("ERR_COMM", "this is the null communicator, which has no ranks")

    @property
    def world(self) -> Transport:
        """The run it belongs to."""
        return self.group.world

    @property
    def rank(self) -> int:
        """This rank's number in it."""
        return self.group.place_of[self.world.me.rank]

    @property
    def size(self) -> int:
        """How many ranks it has."""
        return self.group.size

    def box(self, place: int) -> Mailbox:
        """What is addressed to one of the ranks."""
        boxes: dict[int, Mailbox] = self.group.boxes
        if place not in boxes:
            boxes[place] = Mailbox(self.group, place)
        return boxes[place]

    def post(self, data: Any, size: int, dest: int, tag: int, name: str, *, eager: bool | None = None) -> Pending:
        """Send something of so many bytes."""
        if dest == PROC_NULL:
            return _done()
        self._check(dest, "destination")
        if not (isinstance(tag, (int, np.integer)) and 0 <= tag <= TAG_UB):
            wrong("ERR_TAG", f"a message cannot have tag {tag}: tags go from 0 to {TAG_UB}")
        return self.box(dest).post(Message(self.rank, dest, tag, data, size), name, eager=eager)

    def ask(self, source: int, tag: int, take: Callable[[Message], None] | None) -> Pending:
        """Receive something."""
        if source == PROC_NULL:
            return _done()
        return self.box(self.rank).receive(self._receive(source, tag, take))

    def _receive(self, source: int, tag: int, take: Callable[[Message], None] | None = None) -> Receive:
        if source != ANY_SOURCE:
            self._check(source, "source")
        return Receive(source, tag, take)

    def _check(self, rank: int, what: str) -> None:
        if not (isinstance(rank, (int, np.integer)) and 0 <= rank < self.size):
            wrong("ERR_RANK", f"{what} {rank} is not among ranks 0..{self.size - 1} of {self.group.name}")

    def _post_buffer(self, buf: Any, dest: int, tag: int, name: str, *, eager: bool | None = None) -> Pending:
        blocks = buffers.one(buf)
        (data,) = blocks.read()
        at_once = data.nbytes <= self.world.eager if eager is None else eager
        return self.post(data.copy() if at_once else data, data.nbytes, dest, tag, name, eager=eager)

    def _ask_buffer(self, buf: Any, source: int, tag: int) -> Pending:
        return self.ask(source, tag, into(buf))

    def _finish(self, name: str, *pending: Pending, status: Status | None = None) -> None:
        self.world.wait(pending, name)
        receive = pending[-1]
        if receive.problem is not None:
            raise receive.problem
        if status is not None:
            if isinstance(receive, Receive):
                status.fill(receive.message)
            else:
                status.nobody()

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer; returns when it may be used again."""
        self._finish("Send", self._post_buffer(buf, dest, tag, "Send"))

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer and wait for its receiver."""
        self._finish("Ssend", self._post_buffer(buf, dest, tag, "Ssend", eager=False))

    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer without waiting for anybody."""
        self._finish("Bsend", self._post_buffer(buf, dest, tag, "Bsend", eager=True))

    Rsend = Send

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> None:
        """Receive into a buffer."""
        self._finish("Recv", self._ask_buffer(buf, source, tag), status=status)

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> MpiRequest:
        """Begin to send a buffer."""
        return MpiRequest(self.world, self._post_buffer(buf, dest, tag, "Isend"))

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> MpiRequest:
        """Begin to send a buffer; done when its receiver is there."""
        return MpiRequest(self.world, self._post_buffer(buf, dest, tag, "Issend", eager=False))

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> MpiRequest:
        """Begin to send a buffer without waiting for anybody."""
        return MpiRequest(self.world, self._post_buffer(buf, dest, tag, "Ibsend", eager=True))

    Irsend = Isend

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> MpiRequest:
        """Begin to receive into a buffer."""
        return MpiRequest(self.world, self._ask_buffer(buf, source, tag))

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A send to be started again and again."""
        return Prequest(lambda: self.Isend(buf, dest, tag))

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A synchronous send to be started again and again."""
        return Prequest(lambda: self.Issend(buf, dest, tag))

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """A buffered send to be started again and again."""
        return Prequest(lambda: self.Ibsend(buf, dest, tag))

    Rsend_init = Send_init

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        """A receive to be started again and again."""
        return Prequest(lambda: self.Irecv(buf, source, tag))

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send one buffer and receive another at the same time."""
        receive = self._ask_buffer(recvbuf, source, recvtag)
        self._finish("Sendrecv", self._post_buffer(sendbuf, dest, sendtag, "Sendrecv"), receive, status=status)

    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:
        """Send a buffer and receive into the same."""
        data = buffers.one(buf).copies()[0]
        sent = self.post(data, data.nbytes, dest, sendtag, "Sendrecv_replace")
        self._finish("Sendrecv_replace", sent, self._ask_buffer(buf, source, recvtag), status=status)

    def Isendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> MpiRequest:
        """Begin to send one buffer and to receive another."""
        receive = self._ask_buffer(recvbuf, source, recvtag)
        return MpiRequest(self.world, receive, also=(self._post_buffer(sendbuf, dest, sendtag, "Isendrecv"),))

    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> MpiRequest:
        """Begin to send a buffer and to receive into the same."""
        data = buffers.one(buf).copies()[0]
        sent = self.post(data, data.nbytes, dest, sendtag, "Isendrecv_replace")
        return MpiRequest(self.world, self._ask_buffer(buf, source, recvtag), also=(sent,))

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object; returns when it may be changed."""
        self._finish("send", self._post_object(obj, dest, tag, "send"))

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object and wait for its receiver."""
        self._finish("ssend", self._post_object(obj, dest, tag, "ssend", eager=False))

    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object without waiting for anybody."""
        self._finish("bsend", self._post_object(obj, dest, tag, "bsend", eager=True))

    def recv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Any:
        """Receive an object."""
        pending, result = self._ask_object(source, tag)
        self._finish("recv", pending, status=status)
        return result()

    def isend(self, obj: Any, dest: int, tag: int = 0) -> MpiRequest:
        """Begin to send an object."""
        return MpiRequest(self.world, self._post_object(obj, dest, tag, "isend"))

    def issend(self, obj: Any, dest: int, tag: int = 0) -> MpiRequest:
        """Begin to send an object; done when its receiver is there."""
        return MpiRequest(self.world, self._post_object(obj, dest, tag, "issend", eager=False))

    def ibsend(self, obj: Any, dest: int, tag: int = 0) -> MpiRequest:
        """Begin to send an object without waiting for anybody."""
        return MpiRequest(self.world, self._post_object(obj, dest, tag, "ibsend", eager=True))

    rsend, irsend = send, isend

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> MpiRequest:
        """Begin to receive an object."""
        return MpiRequest(self.world, *self._ask_object(source, tag))

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> Any:
        """Send one object and receive another at the same time."""
        pending, result = self._ask_object(source, recvtag)
        self._finish("sendrecv", self._post_object(sendobj, dest, sendtag, "sendrecv"), pending, status=status)
        return result()

    def _post_object(self, obj: Any, dest: int, tag: int, name: str, *, eager: bool | None = None) -> Pending:
        data = pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
        return self.post(data, len(data), dest, tag, name, eager=eager)

    def _ask_object(self, source: int, tag: int) -> tuple[Pending, Callable[[], Any]]:
        came: list[Any] = []
        pending = self.ask(source, tag, lambda message: came.append(message.data))
        return pending, lambda: _loaded(came)

    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Stop until a message is there, without receiving it."""
        if source != PROC_NULL:
            self._finish("Probe", self.box(self.rank).probe(self._receive(source, tag)), status=status)
        return True

    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Whether a message is there."""
        box, receive = self.box(self.rank), self._receive(source, tag)
        message = box.peek(receive)
        if message is None:
            box.look_again(receive)
            self.world.ask_again(box)
            message = box.peek(receive)
        if message is not None and status is not None:
            status.fill(message)
        return message is not None

    probe, iprobe = Probe, Iprobe

    def Mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> "Matched":
        """Stop until a message is there, and set it apart for whoever has the answer."""
        if source == PROC_NULL:
            return NO_PROC
        box = self.box(self.rank)
        probed = box.probe(self._receive(source, tag))
        self._finish("Mprobe", probed, status=status)
        assert probed.message is not None
        box.set_apart(probed.message)
        return Matched(self, probed.message)

    def Improbe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> "Matched | None":
        """The message that is there, set apart, or None."""
        if source == PROC_NULL:
            return NO_PROC
        return self.Mprobe(source, tag, status) if self.Iprobe(source, tag) else None

    mprobe, improbe = Mprobe, Improbe


class Matched:
    """`MPI.Message`: a message that a matched probe has set apart."""

    def __init__(self, comm: Ranks | None, message: Message | None) -> None:
        self._comm, self._message = comm, message

    def Recv(self, buf: Any, status: Status | None = None) -> None:
        """Receive it into a buffer."""
        self.Irecv(buf).Wait(status)

    def Irecv(self, buf: Any) -> MpiRequest:
        """Begin to receive it into a buffer."""
        return self._begin(into(buf), None)

    def recv(self, status: Status | None = None) -> Any:
        """Receive it as an object."""
        return self.irecv().wait(status)

    def irecv(self) -> MpiRequest:
        """Begin to receive it as an object."""
        came: list[Any] = []
        return self._begin(lambda message: came.append(message.data), lambda: _loaded(came))

    def __bool__(self) -> bool:
        return self._message is not None

    def _begin(self, take: Callable[[Message], None], result: Callable[[], Any] | None) -> MpiRequest:
        message, self._message = self._message, None
        if self._comm is None or message is None:
            return MpiRequest()
        return MpiRequest(self._comm.world, message.box.take(message, take), result)


NO_PROC = Matched(None, None)


def into(buf: Any) -> Callable[[Message], None]:
    """What puts a message into a buffer, or notes that it is too long."""
    blocks = buffers.one(buf, writes=True)

    def take(message: Message) -> None:
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


def _loaded(came: list[Any]) -> Any:
    return pickle.loads(bytes(came[0])) if came and len(came[0]) else None


def _done() -> Pending:
    pending = Pending()
    pending.done = True
    return pending
