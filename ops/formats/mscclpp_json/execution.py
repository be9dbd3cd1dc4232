"""MSCCL++ thread blocks carried out: writes, signals, packets and the switch."""

from collections import defaultdict
from collections.abc import Generator, Sequence
from typing import Any

from ops.formats import ScheduleProblem
from ops.formats.interpreter.moves import Done, Moves, join
from ops.formats.interpreter.turns import Turns, Worker, reading
from ops.formats.mscclpp_json.plan import Channel, ExecutionPlan, Operation, Ref
from ops.formats.mscclpp_json.threads import PACKETS, Threads
from sim.errors import Message
from sim.schedule import COPY, REDUCE

Work = Generator[Any, None, tuple[int, Done]]
Key = tuple[Any, ...]


class PlanRun:
    """A plan's transfers. A thread block goes on when an operation's data is in place.

    What goes through a port goes on by itself: the thread block waits for it at a flush, and the signal that
    follows it says that it has arrived. Packets carry a flag that their reader waits for.
    """

    def __init__(self, plan: ExecutionPlan) -> None:
        self.plan = plan
        self.moves = Moves(plan.n + plan.switches, plan.buffers.laid)
        self.threads = Threads(plan)
        self.unanswered = ""
        self._turns = Turns()
        self._signals: dict[Channel, list[tuple[int, Done]]] = defaultdict(list)
        self._waits: dict[Channel, int] = defaultdict(int)
        self._packets: dict[tuple[int, int], tuple[int, Done]] = {}
        self._barriers: dict[Key, list[tuple[int, Done]]] = defaultdict(list)
        self._released: dict[tuple[int, int], list[tuple[int, Done]]] = defaultdict(list)
        self._acquired: dict[tuple[int, int], int] = defaultdict(int)
        self._flying: dict[Channel, Done] = {}
        self._now: dict[int, Operation] = {}
        self._where = [*plan.blocks]

    def carry_out(self) -> None:
        """Raises ScheduleProblem for a deadlock."""
        for (gpu, semaphore), credit in self.plan.credits.items():
            self._released[gpu, semaphore] = [(-1, None)] * min(credit, 1 << 16)
        workers = [self._work(w, gpu, self.plan.blocks[gpu, tb]) for w, (gpu, tb) in enumerate(self._where)]
        self._turns.run(workers)
        if self._turns.stuck:
            raise ScheduleProblem("deadlock", self._deadlock())
        for channel, sent in self._signals.items():
            if len(sent) != self._waits[_back(channel)]:
                self.unanswered = (
                    f"correct once, but gpu {channel[1]} waits for {self._waits[_back(channel)]} of the {len(sent)}"
                    f" signals of gpu {channel[0]} on {channel[2]} channel {channel[3]}: the next run is out of step"
                )

    def _work(self, number: int, gpu: int, operations: Sequence[Operation]) -> Worker:
        now: int = -1
        done: Done = None
        for operation in operations:
            self._now[number] = operation
            match operation.name:
                case "signal" | "rlxsignal":
                    self._signal(number, operation, now, done)
                case "wait" | "rlxwait":
                    now, done = yield from self._wait(number, operation, now, done)
                case "flush":
                    done = self._flush(number, operation, done)
                case "barrier":
                    now, done = yield from self._barrier(number, gpu, operation, now, done)
                case "sem_acquire":
                    now, done = yield from self._acquire(number, gpu, operation, now, done)
                case "sem_release":
                    self._release(number, gpu, operation, now, done)
                case "nop":
                    self.threads.meet(number, operation)
                case "glres" | "gstore" | "gstorepkt":
                    now, done = yield from self._through_switch(number, gpu, operation, now, done)
                case _:
                    now, done = yield from self._move(number, gpu, operation, now, done)

    def _await(self, sent: list[tuple[int, Done]], turn: int, key: Key, now: int, done: Done) -> Work:
        while len(sent) <= turn:
            yield key
        at, ended = sent[turn]
        return max(now, at), join(done, ended)

    def _wait(self, number: int, operation: Operation, now: int, done: Done) -> Work:
        for index, channel in enumerate(operation.channels):
            turn = self._waits[channel]
            self._waits[channel] += 1
            now, done = yield from self._await(self._signals[_back(channel)], turn, ("signal", channel), now, done)
            self.threads.awaits(number, operation, index, _back(channel))
        return now, done

    def _acquire(self, number: int, gpu: int, operation: Operation, now: int, done: Done) -> Work:
        for index, k in enumerate(operation.number):
            turn = self._acquired[gpu, k]
            self._acquired[gpu, k] += 1
            now, done = yield from self._await(self._released[gpu, k], turn, ("semaphore", gpu, k), now, done)
            self.threads.awaits(number, operation, index, (gpu, k))
        return now, done

    def _release(self, number: int, gpu: int, operation: Operation, now: int, done: Done) -> None:
        for index, k in enumerate(operation.number):
            self.threads.raises(number, operation, index, (gpu, k))
            self._released[gpu, k].append((now, done))
            self._turns.wake(("semaphore", gpu, k))

    def _flush(self, number: int, operation: Operation, done: Done) -> Done:
        """Whatever the operation's ports still carry is waited for."""
        self.threads.flush(number, operation)
        for channel in operation.channels:
            done = join(done, self._flying.pop(channel, None))
        return done

    def _signal(self, number: int, operation: Operation, now: int, done: Done, before: Sequence[int] = ()) -> None:
        for index, channel in enumerate(operation.channels):
            self.threads.raises(number, operation, index, channel, before)
            self._signals[channel].append((now, join(done, self._flying.get(channel))))
            self._turns.wake(("signal", _back(channel)))

    def _barrier(self, number: int, gpu: int, operation: Operation, now: int, done: Done) -> Work:
        arrived = self._barriers["all", gpu, operation.number[0]]
        arrived.append((now, done))
        generation = (len(arrived) - 1) // operation.count
        key = "barrier", gpu, operation.number[0], generation
        self.threads.arrive(number, operation, key)
        if len(arrived) == (generation + 1) * operation.count:
            for at, ended in arrived[-operation.count :]:
                now, done = max(now, at), join(done, ended)
            self._barriers[key] = [(now, done)]
            self._turns.wake(key)
        while key not in self._barriers:
            yield key
        self.threads.leave(number, operation, key)
        return self._barriers[key][0]

    def _move(self, number: int, gpu: int, operation: Operation, now: int, done: Done) -> Work:
        """Whatever reads its sources, perhaps adds them up, and writes its targets."""
        if operation.name in PACKETS and operation.name not in ("ppkt", "cpkt"):
            now, done = yield from self._await_packets(operation.sources, now, done)
        if operation.name.startswith(("re", "rr")):
            self.threads.reduce(number, operation)
            return (yield from self._reduce(gpu, operation, now, done))
        now = reading(now)
        yield now
        pairs = _pairs(operation)
        moved = self.threads.move(number, operation, pairs)
        started = [self._transfer(COPY, source, target, now, done) for source, target in pairs]
        if operation.type == "port" and operation.name in ("put", "pws", "pwsf", "get"):
            for channel in operation.channels:
                for i in started:
                    self._flying[channel] = join(self._flying.get(channel), i)
            self._after_put(number, operation, now + 1, done, moved)
            if operation.name == "pwsf":
                done = self._flush(number, operation, done)
            return now + 1, done
        done = _all(started, done)
        self._after_put(number, operation, now + 1, done, moved)
        self._tell_packets(operation, [target for _, target in pairs], now + 1, done)
        return now + 1, done

    def _await_packets(self, sources: Sequence[Ref], now: int, done: Done) -> Work:
        for rank, slot in _scratch(sources):
            while (rank, slot) not in self._packets:
                yield "packet", rank, slot
            at, ended = self._packets[rank, slot]
            now, done = max(now, at), join(done, ended)
        return now, done

    def _after_put(self, number: int, operation: Operation, now: int, done: Done, moved: Sequence[int]) -> None:
        if operation.name in ("pws", "pwsf"):
            self._signal(number, operation, now, done, moved)

    def _tell_packets(self, operation: Operation, targets: Sequence[Ref], now: int, done: Done) -> None:
        if operation.name not in PACKETS:
            return
        for rank, slot in _scratch(targets):
            self._packets[rank, slot] = now, done
            self._turns.wake(("packet", rank, slot))

    def _reduce(self, gpu: int, operation: Operation, now: int, done: Done) -> Work:
        """The first source takes the others in, in its target or in spare slots; the rest get the result."""
        base, *others = operation.sources
        first, *rest = operation.targets
        home = first
        if first.rank != gpu or any(set(first.slots) & set(o.slots) and o.rank == gpu for o in others):
            home, rest = Ref(gpu, "", self.moves.spare(gpu, len(base.slots))), [*operation.targets]
        if home.slots != base.slots or base.rank != gpu:
            now = reading(now)
            yield now
            done = self._transfer(COPY, base, home, now, done)
            now += 1
        now = reading(now)
        yield now
        added = [self._transfer(REDUCE, other, home, now, done) for other in others]
        now += 1
        done = _all(added, done)
        self._tell_packets(operation, [home], now, done)
        if rest:
            now = reading(now)
            yield now
            sent = [self._transfer(COPY, home, target, now, done) for target in rest]
            now += 1
            done = _all(sent, done)
            self._tell_packets(operation, rest, now, done)
        return now, done

    def _through_switch(self, number: int, gpu: int, operation: Operation, now: int, done: Done) -> Work:
        """The switch adds what all hold and gives it to this GPU, or copies what this GPU gives it to all."""
        switch, source, target = self.plan.n, operation.sources[0], operation.targets[0]
        summed = self._everywhere(source) if operation.name == "glres" else [source]
        self.threads.switch(number, operation, summed, self._everywhere(target))
        held = source
        if operation.name == "glres":
            total = Ref(switch, "", self.moves.spare(switch, len(source.slots)))
            held = Ref(gpu, "", self.moves.spare(gpu, len(source.slots)))
            now = reading(now)
            yield now
            added: Done = None
            for ref in self._everywhere(source):
                added = join(added, self._transfer(REDUCE, ref, total, now, done))
            now = reading(now)
            yield now
            done = self._transfer(COPY, total, held, now, join(done, added))
            now += 1
        passed = Ref(switch, "", self.moves.spare(switch, len(target.slots)))
        now = reading(now)
        yield now
        done = self._transfer(COPY, held, passed, now, done)
        now = reading(now)
        yield now
        stored: Done = None
        for ref in self._everywhere(target):
            stored = join(stored, self._transfer(COPY, passed, ref, now, done))
        return now + 1, stored

    def _everywhere(self, ref: Ref) -> list[Ref]:
        """The same chunks in the buffer of every rank of the group."""
        base, slots = self.plan.buffers.base[ref.buffer], ref.slots
        shift = [int(base[rank] - base[ref.rank]) for rank in ref.group]
        return [
            Ref(rank, ref.buffer, range(slots.start + by, slots.stop + by))
            for rank, by in zip(ref.group, shift, strict=True)
        ]

    def _transfer(self, op: int, source: Ref, target: Ref, phase: int, done: Done) -> int:
        i = self.moves.start(op, source.rank, target.rank, 0, source.slots, phase, done)
        self.moves.land(i, op, target.slots)
        return i

    def _deadlock(self) -> Message:
        w, key = next(iter(self._turns.stuck.items()))
        operation = self._now[w]
        match key[0]:
            case "signal":
                _, gpu, kind, number = key[1]
                sent = len(self._signals[_back(key[1])])
                what = Message("mscclpp.signal", gpu=gpu, type=kind, channel=number, sent=sent)
            case "packet":
                what = Message("mscclpp.packets", slot=key[2], gpu=key[1])
            case "barrier":
                what = Message("mscclpp.barrier", count=operation.count, number=key[2])
            case _:
                what = Message("mscclpp.not_released", number=key[2])
        more = len(self._turns.stuck) - 1
        also = Message("mscclpp.wait_too", count=more) if more else ""
        return Message("mscclpp.deadlock", place=operation.place, name=operation.name, what=what, also=also)


def _all(started: Sequence[int], before: Done) -> Done:
    """The end of all transfers that were started after others, or of those others if there are none."""
    done: Done = None
    for i in started:
        done = join(done, i)
    return done if started else before


def _back(channel: Channel) -> Channel:
    """The other end of a channel."""
    return channel[1], channel[0], channel[2], channel[3]


def _scratch(refs: Sequence[Ref]) -> list[tuple[int, int]]:
    """Where packets may lie, whose reader waits for them: (rank, slot) in scratch buffers."""
    return [(ref.rank, slot) for ref in refs if ref.buffer == "s" for slot in ref.slots]


def _pairs(operation: Operation) -> list[tuple[Ref, Ref]]:
    """Which source goes to which target: one to each, or one to all."""
    sources, targets = operation.sources, operation.targets
    if len(sources) == 1:
        return [(sources[0], target) for target in targets]
    if len(sources) != len(targets):
        raise ScheduleProblem(
            "malformed",
            "mscclpp.sources",
            place=operation.place,
            operation=operation.name,
            sources=len(sources),
            targets=len(targets),
        )
    return list(zip(sources, targets, strict=True))
