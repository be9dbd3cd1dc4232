"""MSCCL thread blocks carried out: every send meets its receive, or the reason why it never does."""

from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ops.formats import ScheduleProblem, malformed
from ops.formats.interpreter.moves import Done, Moves, join
from ops.formats.interpreter.order import Access, Order, Trials
from ops.formats.interpreter.replays import Race, Replay
from ops.formats.interpreter.turns import Turns, Worker, reading, writing
from ops.formats.msccl_xml.program import RECEIVES, SENDS, Instruction, Program, ThreadBlock
from sim.errors import Message
from sim.schedule import COPY, REDUCE, Promise

Key = tuple[str, int, int, int]
"""What a thread block sleeps for: ("step", gpu, thread block, step), or message or slot with sender, receiver
and channel."""
Work = Generator[Any, None, tuple[int, Done]]
"""Takes turns; returns the phase in which it was done and the transfers that must have ended."""


@dataclass(slots=True)
class _Connection:
    """Messages on the way from one GPU to another on one channel, oldest first."""

    sender: ThreadBlock | None = None
    receiver: ThreadBlock | None = None
    waiting: deque[tuple[int, Instruction]] = field(default_factory=deque)
    sent: int = 0
    received: list[tuple[int, Done]] = field(default_factory=list)
    contents: deque[tuple[int, Sequence[int]]] = field(default_factory=deque)
    """The operation that sent each message, and the private places that hold it."""
    receipts: list[int] = field(default_factory=list)
    """The operations that took messages in."""


class MscclRun:
    """A program's transfers, and what orders its operations.

    A message may wait in its connection for its receiver, as many as `slots` of them. A receive does not
    hold up its message, but everything after the receive waits for both it and what came before. What a thread block
    sends it sends one after the other, as a connection does: it does not wait until a message has arrived to hand over
    the next one (`src/device/prims_simple.h`: a send ends when its slot is written), but it does before other work.
    """

    def __init__(self, program: Program, slots: int) -> None:
        self.program = program
        self.moves = Moves(program.n, program.buffers.laid)
        self.residual = False
        self._slots = slots
        self._turns = Turns()
        self._connections: dict[tuple[int, int, int], _Connection] = {}
        self._published: dict[tuple[int, int, int], tuple[int, Done]] = {}
        self._blocks = [block for blocks in program.blocks for block in blocks]
        self._now: dict[int, Instruction] = {}
        self._laid = program.buffers.laid
        self.order = Order(program.n * self._laid)
        self._after: list[list[int]] = [[] for _ in self._blocks]
        """The operations that each thread block's next one comes after."""
        self._operations: dict[tuple[int, int, int], int] = {}
        """The last operation of every step that others can wait for."""
        self._instructions: list[tuple[int, Instruction]] = []
        """The thread block and instruction of every operation."""
        self._passed: dict[int, Sequence[int]] = {}
        """What a thread block has received and is about to send on."""

    def carry_out(self) -> None:
        """Raises ScheduleProblem for a duplicate connection, a deadlock or unequal counts."""
        for block in self._blocks:
            self._connect(block)
        self._turns.run([self._work(number, block) for number, block in enumerate(self._blocks)])
        if self._turns.stuck:
            raise ScheduleProblem("deadlock", self._deadlock())

    def _operation(self, number: int, *accesses: Access) -> int:
        """A thread block's next operation, after its last one and what it has waited for."""
        operation = self.order.add(number, self._after[number], accesses)
        self._instructions.append((number, self._now[number]))
        self._after[number] = [operation]
        return operation

    def _places(self, gpu: int, slots: Sequence[int]) -> list[int]:
        """A GPU's slots among the places of all."""
        first = gpu * self._laid
        return [first + slot for slot in slots]

    def _computes(self, gpu: int, instruction: Instruction) -> list[Access]:
        to = self._places(gpu, instruction.to)
        if instruction.type == "cpy":
            return [Access(COPY, self._places(gpu, instruction.slots), to)]
        if instruction.type == "ra":
            return [Access(REDUCE, self.order.private(len(to)), to)]
        return [Access(REDUCE, self._places(gpu, source), to) for source in (instruction.slots, *instruction.sources)]

    def _takes_in(self, number: int, gpu: int, instruction: Instruction, message: Sequence[int]) -> list[Access]:
        """What a receive does: what it adds is added up apart, then written, sent on, or both."""
        accesses = []
        if instruction.type in ("rrc", "rrs", "rrcs"):
            total = self.order.private(len(message))
            accesses = [Access(COPY, message, total), Access(REDUCE, self._places(gpu, instruction.slots), total)]
            message = total
        if instruction.type != "rrs":
            accesses.append(Access(COPY, message, self._places(gpu, instruction.to)))
        if instruction.type in SENDS:
            self._passed[number] = message
        return accesses

    def _connect(self, block: ThreadBlock) -> None:
        for sending, peer in ((True, block.send), (False, block.recv)):
            if peer < 0:
                continue
            ends = (block.gpu, peer) if sending else (peer, block.gpu)
            connection = self._connections.setdefault((*ends, block.channel), _Connection())
            other = connection.sender if sending else connection.receiver
            if other is not None:
                way = Message("msccl.send_to" if sending else "msccl.receive_from")
                raise ScheduleProblem(
                    "duplicate_connection",
                    "msccl.connection_twice",
                    file=self.program.source,
                    line=block.line,
                    tb=other.id,
                    other=block.id,
                    gpu=block.gpu,
                    way=way,
                    peer=peer,
                    channel=block.channel,
                )
            if sending:
                connection.sender = block
            else:
                connection.receiver = block

    def _work(self, number: int, block: ThreadBlock) -> Worker:
        now, done, before = -1, None, None  # `before` is what was done but for sends: those stand in line already
        for instruction in block.program:
            self._now[number] = instruction
            for other, step in instruction.waits:
                key = block.gpu, other, self.program.blocks[block.gpu][other].publication(step)
                while key not in self._published:
                    yield "step", *key
                at, ended = self._published[key]
                now, done, before = max(now, at), join(done, ended), join(before, ended)
                self._after[number].append(self._operations[key])
            sends = instruction.type in SENDS
            if instruction.type in RECEIVES:
                now, done = yield from self._receive(number, block, instruction, now, before if sends else done)
            elif instruction.type in ("cpy", "re", "ra"):
                self._operation(number, *self._computes(block.gpu, instruction))
                now, done = yield from self._compute(block.gpu, instruction, now, done)
            elif instruction.type == "nop":
                self._operation(number)
            if instruction.type != "s":
                before = done
            if sends:
                now, done = yield from self._send(number, block, instruction, now, before)
            if instruction.publishes:
                key = block.gpu, block.id, instruction.position
                self._published[key] = now, done
                self._operations[key] = self._after[number][0]
                self._turns.wake(("step", *key))

    def _send(self, number: int, block: ThreadBlock, instruction: Instruction, now: int, done: Done) -> Work:
        ends = block.gpu, block.send, block.channel
        connection = self._connections[ends]
        if self._slots:
            while connection.sent - len(connection.received) >= self._slots:
                yield "slot", *ends
            if connection.sent >= self._slots:
                at, ended = connection.received[connection.sent - self._slots]
                now, done = max(now, at), join(done, ended)
                self._after[number].append(connection.receipts[connection.sent - self._slots])
        now = reading(now)
        yield now
        slots = instruction.to if instruction.type in ("rcs", "rrcs") else instruction.slots
        i = self.moves.start(COPY, *ends[:2], max(ends[2], 0), slots, now, done)
        connection.sent += 1
        connection.waiting.append((i, instruction))
        message = self.order.private(len(slots))
        source = self._passed.pop(number) if instruction.type != "s" else self._places(block.gpu, slots)
        connection.contents.append((self._operation(number, Access(COPY, source, message)), message))
        self._turns.wake(("message", *ends))
        return now, i

    def _receive(self, number: int, block: ThreadBlock, instruction: Instruction, now: int, done: Done) -> Work:
        """Take the next message in; what was added to it is in `instruction.slots` of rrs afterwards."""
        ends = block.recv, block.gpu, block.channel
        connection = self._connections[ends]
        while not connection.waiting:
            yield "message", *ends
        i, sent = connection.waiting.popleft()
        self._same_count(i, sent, instruction)
        sender, message = connection.contents.popleft()
        self._after[number].append(sender)
        connection.receipts.append(self._operation(number, *self._takes_in(number, block.gpu, instruction, message)))
        now = writing(max(now, self.moves.all[i].phase))
        yield now
        slots, to = instruction.slots, instruction.to
        match instruction.type:
            case "r" | "rcs":
                now, done = yield from self._land(i, COPY, to, now, done)
            case "rrs":
                held = instruction.slots = [*self.moves.spare(block.gpu, len(slots))]
                now, done = yield from self._land(i, COPY, held, now, done)
                now, done = yield from self._local(REDUCE, block.gpu, slots, held, now, done)
            case _ if slots == to:
                now, done = yield from self._land(i, REDUCE, to, now, done)
            case _ if set(slots).isdisjoint(to):
                now, done = yield from self._land(i, COPY, to, now, done)
                now, done = yield from self._local(REDUCE, block.gpu, slots, to, now, done)
            case _:
                held = [*self.moves.spare(block.gpu, len(to))]
                now, done = yield from self._land(i, COPY, held, now, done)
                now, done = yield from self._local(COPY, block.gpu, slots, to, now, done)
                now, done = yield from self._local(REDUCE, block.gpu, held, to, now, done)
        connection.received.append((now, done))
        self._turns.wake(("slot", *ends))
        return now, done

    def _land(self, i: int, op: int, to: Sequence[int], now: int, done: Done) -> Work:
        """Put a message where it belongs; by way of spare slots where it may not be there as early as it comes."""
        if self.moves.fits(i, op, to):
            self.moves.land(i, op, to)
            return now, join(done, i)
        rank = self.moves.all[i].dst
        held = self.moves.spare(rank, len(to))
        self.moves.land(i, COPY, held)
        return (yield from self._local(op, rank, held, to, now, join(done, i)))

    def _compute(self, gpu: int, instruction: Instruction, now: int, done: Done) -> Work:
        if instruction.type == "cpy":
            return (yield from self._local(COPY, gpu, instruction.slots, instruction.to, now, done))
        if instruction.type == "ra":
            self.residual = True
            instruction.slots = [*self.moves.spare(gpu, len(instruction.to))]
        start = now = reading(now)
        for slots in (instruction.slots, *instruction.sources):
            now, done = yield from self._local(REDUCE, gpu, slots, instruction.to, start - 1, done)
        return now, done

    def _local(self, op: int, gpu: int, slots: Sequence[int], to: Sequence[int], now: int, done: Done) -> Work:
        now = reading(now)
        yield now
        i = self.moves.local(op, gpu, slots, to, now, done)
        return now + 1, i

    def _same_count(self, i: int, sent: Instruction, received: Instruction) -> None:
        expected = len(received.to or received.slots)
        move = self.moves.all[i]
        if len(move.slots) != expected:
            malformed(
                Message("place.line", file=self.program.source, line=received.line),
                "msccl.count",
                type=received.type,
                expected=expected,
                gpu=move.src,
                sent=len(move.slots),
                line=sent.line,
            )

    def unreceived(self) -> str:
        """A sentence about a message that nobody receives, if there is one."""
        for (src, dst, channel), connection in self._connections.items():
            if connection.waiting:
                count, (_, sent) = len(connection.waiting), connection.waiting[0]
                return (
                    f"{self.program.source}, line {sent.line}: gpu {dst} never receives {_messages(count)} that gpu"
                    f" {src} sends it on channel {channel}, {'this one first' if count > 1 else 'sent here'}:"
                    " add the receive or take the send away"
                )
        return ""

    def race(self, promise: Promise | None) -> str:
        """A sentence about two accesses to one place whose order decides the result, if there are any."""
        trials = Trials(self.order.replay(), self.program.buffers.trial(promise))
        race = trials.race()
        return self._race(race, trials.replay, trials.right_way_round(race)) if race else ""

    def _race(self, race: Race, replay: Replay, right: tuple[int, int] | None) -> str:
        (first, before), (second, after) = self._instructions[race.first], self._instructions[race.second]
        gpu, slot = divmod(race.place, self._laid)
        place = self.program.buffers.name(gpu, slot)
        kinds = ["writes" if race.place in replay.writes(i) else "reads" for i in (race.first, race.second)]
        return (
            f"{self.program.source}: the result depends on chance: {self._place(first, before)} {kinds[0]} {place} and"
            f" {self._place(second, after)} {kinds[1]} it, and nothing orders the two: {self._dependency(right)}"
        )

    def _dependency(self, right: tuple[int, int] | None) -> str:
        if right is None:
            return "let one of them wait for the other"
        (first, before), (second, after) = (self._instructions[i] for i in right)
        return (
            f"let step {after.position} of tb {self._blocks[second].id} wait for step {before.position} of tb"
            f' {self._blocks[first].id} (depid="{self._blocks[first].id}" deps="{before.position}", hasdep="1" there)'
        )

    def _deadlock(self) -> Message:
        """One sentence about a circle of thread blocks, or about a wait for what never comes."""
        number = {(block.gpu, block.id): w for w, block in enumerate(self._blocks)}
        stuck: dict[int, Key] = self._turns.stuck
        w = next(iter(stuck))
        path: list[int] = []
        while w not in path:
            path.append(w)
            holder = self._holder(stuck[w])
            after = None if holder is None else number[holder.gpu, holder.id]
            if after is None or after not in stuck:
                why = self._never(stuck[path[-1]], holder)
                place = self._place(path[-1], self._now[path[-1]])
                return Message("msccl.deadlock", file=self.program.source, place=place, why=why)
            w = after
        circle = [self._place(k, self._now[k]) for k in [*path[path.index(w) :], w]]
        return Message("msccl.circle", file=self.program.source, circle=circle)

    def _holder(self, key: Key) -> ThreadBlock | None:
        """The thread block that would have to move on first."""
        kind, src, dst, channel = key
        if kind == "step":
            return self.program.blocks[src][dst]
        connection = self._connections[src, dst, channel]
        return connection.sender if kind == "message" else connection.receiver

    def _place(self, w: int, instruction: Instruction) -> str:
        block = self._blocks[w]
        return f"gpu {block.gpu}/tb {block.id}/step {instruction.position} (line {instruction.line})"

    def _never(self, key: Key, holder: ThreadBlock | None) -> Message:
        kind, src, dst, channel = key
        if kind == "step":
            return Message("msccl.no_step", tb=dst)
        if kind == "slot":
            return Message("msccl.full", gpu=dst, channel=channel)
        who = Message("msccl.nobody_sends") if holder is None else Message("msccl.ended", tb=holder.id)
        return Message("msccl.never_comes", gpu=src, channel=channel, who=who)


def _messages(count: int) -> str:
    return "a message" if count == 1 else f"{count} messages"
