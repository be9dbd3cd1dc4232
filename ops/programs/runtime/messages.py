"""Messages between two ranks: who matches whom, and when their bytes move.

Messages of one sender match receives in the order they were sent. A receive from any source takes the message
whose envelope, sent a route's latency ahead, is there first. A message of at most `eager` bytes is sent at once
and its sender goes on; a longer one starts when both sides are there (rendezvous) and holds both till its end.
"""

from collections.abc import Callable
from typing import Any

from ops.programs.runtime.rendezvous import ProcessGroup
from ops.programs.runtime.tasks import Missing, Pending
from ops.programs.runtime.transport import ProgramCall

ANY_SOURCE, ANY_TAG = -2, -1
"""As MPICH numbers them."""


class PostedMessage(Pending):
    """A message on its way; for its sender it is done when the buffer may be used again."""

    __slots__ = ("arrives", "box", "data", "dst", "eager", "has_arrived", "receive", "record", "size", "source", "tag")

    box: "Mailbox"
    record: ProgramCall

    def __init__(self, source: int, dst: int, tag: int, data: Any, size: int) -> None:
        super().__init__()
        self.source, self.dst, self.tag, self.data, self.size = source, dst, tag, data, size
        self.has_arrived = False
        """Has its last byte arrived?"""
        self.receive: Receive | None = None
        self.arrives = 0.0
        self.eager = False

    def missing(self) -> Missing:
        """The receive that is missing."""
        rank = self.box.group.ranks[self.dst]
        if self.receive is not None:
            return Missing(f"the message to rank {rank} to arrive", (rank,))
        return Missing(f"rank {rank} to receive a message with tag {self.tag} ({self.size} bytes, rendezvous)", (rank,))


class Receive(Pending):
    """A receive, or a probe, that waits for its message; ranks are those of the group."""

    __slots__ = ("box", "message", "source", "tag", "take")
    box: "Mailbox"

    def __init__(self, source: int, tag: int, take: Callable[[PostedMessage], None] | None = None) -> None:
        super().__init__()
        self.source, self.tag, self.take = source, tag, take
        self.message: PostedMessage | None = None

    def accepts(self, message: PostedMessage) -> bool:
        """Whether source and tag fit."""
        return self.source in (ANY_SOURCE, message.source) and self.tag in (ANY_TAG, message.tag)

    def missing(self) -> Missing:
        """The message that is missing."""
        tag = "" if self.tag == ANY_TAG else f" with tag {self.tag}"
        ranks = self.box.group.ranks
        if self.source == ANY_SOURCE:
            return Missing(f"a message{tag} from any rank", ranks)
        return Missing(f"a message{tag} from rank {ranks[self.source]}", (ranks[self.source],))


class Mailbox:
    """All that is addressed to one rank of a group and not yet matched."""

    def __init__(self, group: ProcessGroup, place: int) -> None:
        self.group, self.world, self.place = group, group.world, place
        self.messages: list[PostedMessage] = []
        self.receives: list[Receive] = []
        self.probes: list[Receive] = []

    def post(self, message: PostedMessage, name: str, *, eager: bool | None = None) -> PostedMessage:
        """Send: `eager` forces one of the two ways, else the size decides."""
        world, ranks = self.world, self.group.ranks
        src, dst = ranks[message.source], ranks[message.dst]
        message.box = self
        message.eager = message.size <= world.eager if eager is None else eager
        way = "eager" if message.eager else "rendezvous"
        call = world.note(name, way, self.group.name, (src, dst), message.size, world.where())
        call.tag, message.call, message.record = message.tag, call.number, call
        message.arrives = world.now + world.lead(src, dst)
        self.messages.append(message)
        if message.eager:
            self._depart(message)
            message.finish()
        self._settle()
        if message.receive is None and (self.probes or any(r.source == ANY_SOURCE for r in self.receives)):
            world.at(message.arrives, self._settle)
        return message

    def receive(self, receive: Receive) -> Receive:
        """Ask for a message."""
        receive.box = self
        self.receives.append(receive)
        self._settle()
        if receive.message is None and receive.source == ANY_SOURCE:
            self.look_again(receive)
        return receive

    def probe(self, receive: Receive) -> Receive:
        """Be told of a message that has arrived, without receiving it."""
        receive.box = self
        self.probes.append(receive)
        self._settle()
        if not receive.done:
            self.look_again(receive)
        return receive

    def peek(self, receive: Receive) -> PostedMessage | None:
        """The message a probe would tell of now."""
        arrived = [m for m in self.messages if m.arrives <= self.world.now and receive.accepts(m)]
        return min(arrived, key=lambda m: m.arrives, default=None)

    def cancel(self, receive: Receive) -> bool:
        """Take an unmatched receive back."""
        if receive in self.receives:
            self.receives.remove(receive)
            receive.finish()
            return True
        return False

    def take(self, message: PostedMessage, take: Callable[[PostedMessage], None]) -> Receive:
        """Receive a message that a matching probe has set apart."""
        receive = Receive(message.source, message.tag, take)
        receive.box = self
        self._join(receive, message)
        return receive

    def set_apart(self, message: PostedMessage) -> None:
        """Keep a message from being matched by others."""
        self.messages.remove(message)

    def look_again(self, receive: Receive) -> None:
        """Let something happen when envelopes that are on their way arrive."""
        for message in self.messages:
            if message.arrives > self.world.now and receive.accepts(message):
                self.world.at(message.arrives, self._settle)

    def _settle(self) -> None:
        """Match all that can be matched now."""
        undecided: list[Receive] = []
        for receive in list(self.receives):
            message = self._first_for(receive, undecided)
            if message is None:
                if receive.source == ANY_SOURCE:
                    undecided.append(receive)
                continue
            self.receives.remove(receive)
            self.messages.remove(message)
            self._join(receive, message)
        for probe in list(self.probes):
            message = self.peek(probe)
            if message is not None:
                self.probes.remove(probe)
                probe.message = message
                probe.finish()

    def _first_for(self, receive: Receive, undecided: list[Receive]) -> PostedMessage | None:
        if receive.source == ANY_SOURCE:
            return self.peek(receive)
        for message in self.messages:
            if receive.accepts(message):
                return None if any(earlier.accepts(message) for earlier in undecided) else message
        return None

    def _join(self, receive: Receive, message: PostedMessage) -> None:
        receive.message, message.receive = message, receive
        receive.call = message.call
        if message.has_arrived:
            self._hand_over(message)
        elif not message.eager:
            self._depart(message)

    def _depart(self, message: PostedMessage) -> None:
        record: ProgramCall = message.record
        record.start = self.world.now
        ranks = self.group.ranks
        self.world.carry(ranks[message.source], ranks[message.dst], message.size, lambda: self._arrived(message))

    def _arrived(self, message: PostedMessage) -> None:
        message.has_arrived = True
        message.record.end = self.world.now
        if not message.eager:
            message.finish()
        if message.receive is not None:
            self._hand_over(message)

    def _hand_over(self, message: PostedMessage) -> None:
        receive = message.receive
        assert receive is not None
        take, receive.take = receive.take, None  # which holds a program's buffer
        if take is not None:
            take(message)
        message.data = None
        receive.finish()
