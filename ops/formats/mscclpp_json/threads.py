"""What orders the operations of MSCCL++: not thread blocks but their threads, as the executor runs them.

In a data operation every thread of a block does its own part; a signal or a wait is done by one thread for each
channel (`src/core/include/execution_kernel.hpp` of microsoft/mscclpp). Two data operations of a block are ordered where
the same threads have the same part, everything else by a nop or a barrier, which all threads reach. What goes through a
port is done by a proxy, in the order of its channel, and is over at the flush or when the signal behind it has come.
Packets are ordered by the flag they carry. A relaxed signal counts as a signal.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from ops.formats.interpreter.order import Access, Order, Trials
from ops.formats.interpreter.replays import Race
from ops.formats.mscclpp_json.plan import SILENT, Channel, ExecutionPlan, Operation, Ref
from sim.schedule import COPY, REDUCE, Promise

PACKETS = ("ppkt", "rppkt", "respkt", "cpkt", "upkt", "repkt", "recpkt", "recspkt")
SWITCHED = ("glres", "gstore", "gstorepkt")
MEETINGS = ("nop", "barrier")
Lane = tuple[Any, ...]
"""Threads that do the same part of everything: of data at one place in an operation, or for one channel."""


class _Count(NamedTuple):
    """A change of a counter, by the thread block and the operation that make it."""

    block: int
    operation: int


class Threads:
    """The operations of all thread blocks, ordered by what their threads wait for."""

    def __init__(self, plan: ExecutionPlan) -> None:
        self.plan = plan
        self.order = Order(plan.n * plan.buffers.laid)
        self._source: list[tuple[int, Operation]] = []
        """The thread block and the operation of the plan that each is part of."""
        self._workers: dict[tuple[Any, Lane], int] = {}
        self._last: dict[Any, dict[Lane, int]] = defaultdict(dict)
        self._together: dict[Any, int] = {}
        """When all threads of a block last met."""
        self._raised: dict[Any, list[_Count]] = defaultdict(list)
        self._awaited: dict[Any, list[_Count]] = defaultdict(list)
        self._arrived: dict[Any, list[int]] = defaultdict(list)
        self._packets: dict[tuple[int, int], int] = {}
        self._strips: dict[str, list[range]] = {}
        """By the place of an operation, threads that always do their parts side by side; they are followed as one."""
        for operations in plan.blocks.values():
            self._strips.update(_strips(operations))

    def _do(
        self, block: int, operation: Operation, lane: Lane, before: Iterable[int] = (), accesses: Iterable[Access] = (),
        proxy: Channel | None = None,
    ) -> int:  # fmt: skip
        """A part of an operation, after what its threads, or the proxy of a channel, did before."""
        owner: Any = block if proxy is None else proxy
        worker = self._workers.setdefault((owner, lane), len(self._workers))
        last = self._last[owner].get(lane, self._together.get(owner, -1))
        done = self.order.add(worker, [last, *before], accesses)
        self._source.append((block, operation))
        self._last[owner][lane] = done
        return done

    def meet(self, block: int, operation: Operation, before: Iterable[int] = ()) -> int:
        """All threads of a block wait for each other."""
        lanes = self._last[block]
        done = self._do(block, operation, ("all",), [*lanes.values(), *before])
        lanes.clear()
        self._together[block] = done
        return done

    def arrive(self, block: int, operation: Operation, key: Any) -> None:
        """All threads of a block come to a barrier of several blocks."""
        self._arrived[key].append(self.meet(block, operation))

    def leave(self, block: int, operation: Operation, key: Any) -> None:
        """They go on when all blocks have come."""
        self.meet(block, operation, self._arrived[key])

    def raises(self, block: int, operation: Operation, index: int, key: Any, before: Iterable[int] = ()) -> None:
        """A thread signals, or releases a semaphore."""
        port = operation.type == "port" and bool(operation.channels)
        done = self._do(block, operation, ("thread", index), before)
        if port:
            done = self._do(block, operation, (), [done], proxy=operation.channels[index])
        self._raised[key].append(_Count(block, done))

    def awaits(self, block: int, operation: Operation, index: int, key: Any) -> None:
        """A thread has waited for a signal, or acquired a semaphore."""
        self._awaited[key].append(_Count(block, self._do(block, operation, ("thread", index))))

    def flush(self, block: int, operation: Operation) -> None:
        """A thread waits for what a proxy has in hand."""
        for index, channel in enumerate(operation.channels):
            self._do(block, operation, ("thread", index), self._last[channel].values())

    def move(self, block: int, operation: Operation, pairs: Sequence[tuple[Ref, Ref]]) -> list[int]:
        """Every source goes to its target. Returns what does it."""
        if operation.type == "port" and operation.channels:
            return self._through_proxy(block, operation, pairs)
        done = []
        for source, target in pairs:
            for part in self._parts(operation, source):
                before = self._flags(operation, [source], part)
                access = Access(COPY, self._places(source, part), self._places(target, part))
                done.append(self._do(block, operation, (_grain(operation), part.start), before, [access]))
                self._flag(operation, [target], part, done[-1])
        return done

    def _parts(self, operation: Operation, ref: Ref) -> list[range]:
        """What the threads of an operation do of an operand, by themselves or several as one."""
        strips = self._strips.get(operation.place)
        if strips is None:
            return [range(j, j + 1) for j in range(len(ref.slots))]
        return [strip for strip in strips if strip.stop <= len(ref.slots)]

    def _through_proxy(self, block: int, operation: Operation, pairs: Sequence[tuple[Ref, Ref]]) -> list[int]:
        if operation.name == "rppkt":
            for source, _ in pairs:
                for part in self._parts(operation, source):
                    self._do(block, operation, ("packet", part.start), self._flags(operation, [source], part))
            self.meet(block, operation)
        done = []
        for k, (source, target) in enumerate(pairs):
            request = self._do(block, operation, ("thread", k))
            channel = operation.channels[min(k, len(operation.channels) - 1)]
            access = Access(COPY, self._places(source), self._places(target))
            done.append(self._do(block, operation, (), [request], [access], proxy=channel))
            self._flag(operation, [target], range(len(target.slots)), done[-1])
        return done

    def reduce(self, block: int, operation: Operation) -> None:
        """The sum of all sources goes to all targets."""
        for part in self._parts(operation, operation.sources[0]):
            done = self._sum(block, operation, part, operation.sources, operation.targets)
            self._flag(operation, operation.targets, part, done)

    def switch(self, block: int, operation: Operation, sources: Sequence[Ref], targets: Sequence[Ref]) -> None:
        """The sum of what all sources hold goes to all targets."""
        for part in self._parts(operation, sources[0]):
            self._sum(block, operation, part, sources, targets)

    def _sum(
        self, block: int, operation: Operation, part: range, sources: Sequence[Ref], targets: Sequence[Ref]
    ) -> int:
        """A part of the sum of all sources goes to all targets."""
        total = self.order.private(len(part))
        first, *others = (self._places(ref, part) for ref in sources)
        accesses = [
            Access(COPY, first, total),
            *(Access(REDUCE, other, total) for other in others),
            *(Access(COPY, total, self._places(ref, part)) for ref in targets),
        ]
        before = self._flags(operation, sources, part)
        return self._do(block, operation, (_grain(operation), part.start), before, accesses)

    def _places(self, ref: Ref, part: range | None = None) -> range:
        first = ref.rank * self.plan.buffers.laid + ref.slots.start
        return range(first, first + len(ref.slots)) if part is None else range(first + part.start, first + part.stop)

    def _flags(self, operation: Operation, sources: Iterable[Ref], part: range) -> list[int]:
        """Who wrote the packets that an operation reads."""
        if operation.name not in PACKETS or operation.name in ("ppkt", "cpkt"):
            return []
        return [self._packets.get((ref.rank, ref.slots[j]), -1) for ref in sources if ref.buffer == "s" for j in part]

    def _flag(self, operation: Operation, targets: Iterable[Ref], part: range, done: int) -> None:
        if operation.name in PACKETS:
            for ref in targets:
                for j in part:
                    self._packets[ref.rank, ref.slots[j]] = done

    def settle(self) -> None:
        """Let whoever waited come after those signals and releases that it cannot have gone on without.

        Of N signals, a wait that makes it k that its block has waited for comes after one that a block raised as its
        j-th of m if the others, without those that follow it, are fewer than k.
        """
        for key, awaited in self._awaited.items():
            raised = self._raised[key]
            credit = self.plan.credits.get(key, 0) if len(key) == 2 else 0
            waits: dict[int, int] = defaultdict(int)
            for block, operation in awaited:
                waits[block] += 1
                late = set(self._indispensable(raised, waits[block] - credit))
                self.order.before[operation] = tuple({*self.order.before[operation], *late})

    def _indispensable(self, raised: Sequence[_Count], count: int) -> Iterator[int]:
        """The operations that are among any `count` of those that raise a counter."""
        left: dict[int, int] = defaultdict(int)
        for block, operation in reversed(raised):
            left[block] += 1
            if len(raised) - left[block] < count:
                yield operation

    def race(self, promise: Promise | None) -> str:
        """A sentence about two accesses to one place whose order decides the result, if there are any."""
        self.settle()
        trials = Trials(self.order.replay(), self.plan.buffers.trial(promise))
        race = trials.race()
        if race is None:
            return ""
        gpu, slot = divmod(race.place, self.plan.buffers.laid)
        place = f"{self.plan.buffers.name(gpu, slot)} of gpu {gpu}"
        first, second = (self._source[i][1] for i in race[:2])
        kinds = ["writes" if race.place in trials.replay.writes(i) else "reads" for i in race[:2]]
        return (
            f"{first.place}: the result depends on chance: {first.name} {kinds[0]} {place} and {second.name} of"
            f" {second.place.split(', ', 1)[-1]} {kinds[1]} it, and nothing orders the two: {self._mend(race)}"
        )

    def _mend(self, race: Race) -> str:
        """What is missing: a nop, where the order of operations would be enough if all threads kept it."""
        after = self._followers()
        came: dict[int, tuple[int, bool]] = {race.first: (-1, False)}
        queue = deque([race.first])
        while queue and race.second not in came:
            i = queue.popleft()
            for j, by_threads in after[i]:
                if j not in came:
                    came[j] = i, by_threads
                    queue.append(j)
        missing = ""
        i = race.second
        while i in came and came[i][0] >= 0:
            before, by_threads = came[i]
            if not by_threads:
                earlier, later = self._source[before][1], self._source[i][1]
                first = "flush the channel and then " if earlier.type == "port" else ""
                missing = f"{first}put a nop before {later.name} at {later.place.split(', ', 1)[-1]}"
            i = before
        return missing or "let a signal and a wait, or a barrier, come between"

    def _followers(self) -> list[list[tuple[int, bool]]]:
        """What follows every operation: by its threads, and then merely in the text of its block."""
        after: list[list[tuple[int, bool]]] = [[] for _ in self._source]
        for i, before in enumerate(self.order.before):
            for b in before:
                after[b].append((i, True))
        groups: dict[int, list[list[int]]] = defaultdict(list)
        for i, (block, operation) in enumerate(self._source):
            of_block = groups[block]
            if not of_block or self._source[of_block[-1][0]][1] is not operation:
                of_block.append([])
            of_block[-1].append(i)
        for of_block in groups.values():
            for earlier, later in pairwise(of_block):
                for i in earlier:
                    after[i] += [(j, False) for j in later]
        return after


def _grain(operation: Operation) -> str:
    """What a thread takes at once: a packet, sixteen bytes, or what the switch adds."""
    if operation.name in PACKETS:
        return "packet"
    return "switch" if operation.name in SWITCHED else "vector"


def _strips(operations: Sequence[Operation]) -> dict[str, list[range]]:
    """The threads that do their parts of plain data side by side, by the place of every operation that moves some.

    Between two meetings of a block's threads, those with parts of the same operations wait for the same and are waited
    for alike. They are apart where one touches what another writes.
    """
    strips: dict[str, list[range]] = {}
    between: list[Operation] = []
    for operation in operations:
        if operation.name in MEETINGS:
            strips.update(_side_by_side(between))
            between = []
        elif _is_plain(operation):
            between.append(operation)
    strips.update(_side_by_side(between))
    return strips


def _is_plain(operation: Operation) -> bool:
    """Whether the threads of a block move its data themselves, without flags or switches."""
    through_port = operation.type == "port" and operation.channels
    return not through_port and operation.name not in (*SILENT, *PACKETS, *SWITCHED)


def _side_by_side(operations: Sequence[Operation]) -> dict[str, list[range]]:
    refs = [(ref, False) for operation in operations for ref in operation.sources]
    refs += [(ref, True) for operation in operations for ref in operation.targets]
    lengths = sorted({len(ref.slots) for ref, _ in refs})
    if _meet_elsewhere(refs):
        lengths = [*range(1, lengths[-1] + 1)]
    strips = [range(start, stop) for start, stop in pairwise([0, *lengths])]
    return {operation.place: strips for operation in operations}


def _meet_elsewhere(refs: Iterable[tuple[Ref, bool]]) -> bool:
    """Whether a place that is written is at different distances from the starts of two operands."""
    extents = sorted((ref.rank, ref.slots.start, ref.slots.stop, written) for ref, written in refs)
    rank, touched, filled = -1, 0, 0
    for (of, start), group in groupby(extents, key=lambda extent: extent[:2]):
        if of != rank:
            rank, touched, filled = of, 0, 0
        alike = [*group]
        if start < filled or (start < touched and any(written for *_, written in alike)):
            return True
        touched = max(touched, *(stop for _, _, stop, _ in alike))
        filled = max(filled, *(stop for _, _, stop, written in alike if written), 0)
    return False
