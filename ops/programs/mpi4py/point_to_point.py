"""Sending and receiving: what a communicator has for messages between two ranks."""
# ruff: noqa: N802, ARG002  methods and arguments are called as mpi4py calls them

from collections.abc import Callable
from typing import Any

from ops.programs.mpi4py import buffers
from ops.programs.mpi4py.handles.constants import LARGEST_TAG, PROC_NULL
from ops.programs.mpi4py.handles.errors import whole, wrong
from ops.programs.mpi4py.handles.handle import Handle
from ops.programs.mpi4py.handles.status import Status
from ops.programs.mpi4py.matched import Matched, Take, done, into, keep, loaded, pickled
from ops.programs.mpi4py.requests import MpiRequest, Prequest
from ops.programs.runtime.messages import ANY_SOURCE, ANY_TAG, Mailbox, PostedMessage, Receive
from ops.programs.runtime.rendezvous import ProcessGroup
from ops.programs.runtime.tasks import Pending
from ops.programs.runtime.transport import Transport


class Ranks(Handle):
    """Ranks of a group, as one of them sees it; the same object serves all of them.

    The token is their process group, or for COMM_SELF one of every rank of the world.
    """

    kind, error = "Comm", "ERR_COMM"

    @property
    def peers(self) -> ProcessGroup:
        """The ranks. Raises MPI.Exception for the null communicator."""
        group = self.stands()
        if isinstance(group, tuple):
            group = group[group[0].world.me.rank]
        assert isinstance(group, ProcessGroup)
        return group

    @property
    def world(self) -> Transport:
        """The run it belongs to."""
        return self.peers.world

    @property
    def rank(self) -> int:
        """This rank's number in it."""
        peers = self.peers
        return peers.place_of[peers.world.me.rank]

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.peers.size

    def box(self, place: int) -> Mailbox:
        """What is addressed to one of the ranks."""
        peers = self.peers
        boxes: dict[int, Mailbox] = peers.boxes
        if place not in boxes:
            boxes[place] = Mailbox(peers, place)
        return boxes[place]

    def place(self, rank: Any, what: str) -> int:
        """A rank that was named. Raises TypeError or MPI.Exception for one there is not."""
        place = whole(rank)
        if not 0 <= place < self.size:
            wrong("ERR_RANK", f"{what} {rank} is not among ranks 0..{self.size - 1} of {self.peers.name}")
        return place

    def _letter(self, data: Any, size: int, dest: Any, tag: Any) -> PostedMessage | None:
        """A message to be sent; None to nobody. Nothing has happened yet."""
        here, number = self.rank, whole(tag)
        if whole(dest) == PROC_NULL:
            return None
        place = self.place(dest, "destination")
        if not 0 <= number <= LARGEST_TAG:
            wrong("ERR_TAG", f"a message cannot have tag {tag}: tags go from 0 to {LARGEST_TAG}")
        return PostedMessage(here, place, number, data, size)

    def _envelope(self, source: Any, tag: Any, take: Take | None = None) -> Receive | None:
        """A receive to be posted; None from nobody. Nothing has happened yet."""
        place, number = whole(source), whole(tag)
        if place == PROC_NULL:
            return None
        if number != ANY_TAG and not 0 <= number <= LARGEST_TAG:
            wrong("ERR_TAG", f"no message has tag {tag}: tags go from 0 to {LARGEST_TAG}")
        return Receive(place if place == ANY_SOURCE else self.place(source, "source"), number, take)

    def _post(self, letter: PostedMessage | None, name: str, *, eager: bool | None = None) -> Pending:
        return done() if letter is None else self.box(letter.dst).post(letter, name, eager=eager)

    def _ask(self, envelope: Receive | None) -> Pending:
        return done() if envelope is None else self.box(self.rank).receive(envelope)

    def _post_buffer(self, buf: Any, dest: Any, tag: Any, name: str, *, eager: bool | None = None) -> Pending:
        (data,) = buffers.one(buf, optional=whole(dest) == PROC_NULL).read()
        at_once = data.nbytes <= self.world.eager if eager is None else eager
        return self._post(self._letter(data.copy() if at_once else data, data.nbytes, dest, tag), name, eager=eager)

    def _ask_buffer(self, buf: Any, source: Any, tag: Any) -> Pending:
        return self._ask(self._envelope(source, tag, into(buf, optional=whole(source) == PROC_NULL)))

    def _exchange(
        self, name: str, send: tuple[Any, Any, Any], recv: tuple[Any, Any, Any], *, apart: bool = False
    ) -> tuple[Pending, Pending]:
        """Begin to send (buffer, dest, tag) and to receive (buffer, source, tag). A wrong one leaves nothing behind."""
        sendbuf, dest, sendtag = send
        recvbuf, source, recvtag = recv
        (data,) = buffers.one(sendbuf, optional=whole(dest) == PROC_NULL).read()
        data = data.copy() if apart or data.nbytes <= self.world.eager else data
        letter = self._letter(data, data.nbytes, dest, sendtag)
        envelope = self._envelope(source, recvtag, into(recvbuf, optional=whole(source) == PROC_NULL))
        receive = self._ask(envelope)
        return self._post(letter, name), receive

    def _finish(self, name: str, *pending: Pending, status: Status | None = None) -> None:
        self.world.wait(pending, name)
        receive = pending[-1]
        if status is not None and isinstance(receive, Receive):
            status.fill(receive.message)
        elif status is not None:
            status.nobody()
        if receive.problem is not None:
            raise receive.problem

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
        self._finish(
            "Sendrecv",
            *self._exchange("Sendrecv", (sendbuf, dest, sendtag), (recvbuf, source, recvtag)),
            status=status,
        )

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
        name = "Sendrecv_replace"
        pair = self._exchange(name, (buf, dest, sendtag), (buf, source, recvtag), apart=True)
        self._finish(name, *pair, status=status)

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
        sent, receive = self._exchange("Isendrecv", (sendbuf, dest, sendtag), (recvbuf, source, recvtag))
        return MpiRequest(self.world, receive, also=(sent,))

    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> MpiRequest:
        """Begin to send a buffer and to receive into the same."""
        name = "Isendrecv_replace"
        sent, receive = self._exchange(name, (buf, dest, sendtag), (buf, source, recvtag), apart=True)
        return MpiRequest(self.world, receive, also=(sent,))

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
        data, came = pickled(sendobj), list[Any]()
        letter = self._letter(data, len(data), dest, sendtag)
        envelope = self._envelope(source, recvtag, keep(came))
        self._finish("sendrecv", self._post(letter, "sendrecv"), self._ask(envelope), status=status)
        return loaded(came)

    def _post_object(self, obj: Any, dest: Any, tag: Any, name: str, *, eager: bool | None = None) -> Pending:
        data = pickled(obj)
        return self._post(self._letter(data, len(data), dest, tag), name, eager=eager)

    def _ask_object(self, source: Any, tag: Any) -> tuple[Pending, Callable[[], Any]]:
        came: list[Any] = []
        return self._ask(self._envelope(source, tag, keep(came))), lambda: loaded(came)

    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Stop until a message is there, without receiving it."""
        envelope = self._envelope(source, tag)
        self._finish("Probe", done() if envelope is None else self.box(self.rank).probe(envelope), status=status)
        return True

    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Whether a message is there."""
        box, envelope = self.box(self.rank), self._envelope(source, tag)
        if envelope is None:
            if status is not None:
                status.nobody()
            return True
        message = box.peek(envelope)
        if message is None:
            box.look_again(envelope)
            self.world.ask_again(box)
            message = box.peek(envelope)
        if message is not None and status is not None:
            status.fill(message)
        return message is not None

    probe, iprobe = Probe, Iprobe

    def Mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> "Matched":
        """Stop until a message is there, and set it apart for whoever has the answer."""
        return Matched.Probe(self, source, tag, status)

    def Improbe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> "Matched | None":
        """The message that is there, set apart, or None."""
        return Matched.Iprobe(self, source, tag, status)

    mprobe, improbe = Mprobe, Improbe
