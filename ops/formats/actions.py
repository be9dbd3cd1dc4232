"""What a schedule's transfers are to a program: messages and local moves of chunks that follow each other in memory.

Steps say who reads before whom writes; programs of parallel workers say it by waiting. An action is one stretch of
chunks; a message of several stretches is several actions, as programs move one stretch at a time.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ops.collectives import COLLECTIVES
from ops.formats.interpreter.buffers import Buffers, lay_out, plain, whole_share
from sim.errors import InputError, Message
from sim.schedule import COPY, Schedule, dependencies

MOST_TRANSFERS = 100_000

Run = tuple[str, int, str, int, int]
"""Source buffer and offset, destination buffer and offset, count."""


@dataclass(slots=True)
class Action:
    """One message or local move of a step. `turn` orders reads before writes within the step, see `ends`.

    `waits` are actions that must have ended before it starts, `held` those that must have read, or written, what it
    writes before it ends.
    """

    op: int
    src: int
    dst: int
    slots: list[int]
    to: list[int]
    step: int
    second: bool
    waits: list[int]
    held: list[int] = field(default_factory=list)
    run: Run = ("", 0, "", 0, 0)
    message: int = -1
    """Which action of the schedule it is a stretch of."""

    @property
    def local(self) -> bool:
        """Whether it stays on its rank."""
        return self.src == self.dst

    def ends(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """The ranks at which it does something, each with when: the step, and the turn within it.

        Messages are sent first, then local moves are made, those by way of other places in two turns, and then
        messages are received; whoever waits, waits for something of an earlier turn.
        """
        if self.local:
            yield self.src, (self.step, 1 + self.second)
        else:
            yield self.src, (self.step, 0)
            yield self.dst, (self.step, 3)


@dataclass(frozen=True, slots=True)
class ActionProgram:
    """A schedule as actions. `chunks` are those of the larger buffer."""

    schedule: Schedule
    collective: str
    in_place: bool
    chunks: int
    buffers: Buffers
    actions: list[Action]


def program(schedule: Schedule, format: str, collectives: Sequence[str], most_count: int) -> ActionProgram:
    """The actions of a schedule, `most_count` chunks at most each. Raises InputError for what no program can say."""
    chunks = _chunks(schedule, format)
    actions, slots = _actions(schedule)
    collective, in_place, buffers = _buffers(schedule, chunks, slots, collectives)
    parts = _parts(actions, buffers, most_count)
    _chain_writers(parts)
    return ActionProgram(schedule, collective, in_place, chunks, buffers, parts)


def _chunks(schedule: Schedule, format: str) -> int:
    """How many slots make up the size a person gives."""
    why = ""
    if schedule.switches:
        why = "write.in_switches"
    elif schedule.unit_share <= 0:
        why = "write.no_data"
    elif not np.diff(schedule.moves).all():
        why = "write.empty_messages"
    elif schedule.transfers > MOST_TRANSFERS:
        why = "write.too_many"
    if why:
        reason = Message(why, count=schedule.transfers)
        raise InputError("write.cannot", schedule=schedule.name, format=format, why=reason)
    return round(1 / schedule.unit_share)


def _buffers(schedule: Schedule, chunks: int, slots: int, collectives: Sequence[str]) -> tuple[str, bool, Buffers]:
    """The collective, whether it is in place, and its buffers; a custom one where the format knows none like it."""
    promise, n = schedule.promise, schedule.n
    laid = 0 if promise is None else promise.given.shape[1]
    if promise is not None and promise.name in COLLECTIVES and promise.name in collectives:
        in_place = promise.inputs == promise.outputs
        if chunks % whole_share(promise.name, n) == 0:
            buffers = lay_out(promise.name, n, chunks, max(slots - laid, 0), in_place=in_place, root=schedule.root)
            promised = buffers.promise
            if promised is not None and all(
                np.array_equal(getattr(promised, key), getattr(promise, key))
                for key in ("given", "owed", "first", "last")
            ):
                return promise.name, in_place, buffers
    laid = laid or slots
    return "custom", True, plain(n, laid, laid, max(slots - laid, 0), in_place=True)


def _actions(schedule: Schedule) -> tuple[list[Action], int]:
    """Transfers as actions, and the slots per rank they need.

    A local move whose places others of its step still read goes by way of new slots, in two actions.
    """
    before = awaited(schedule)
    readers = _readers(schedule)
    actions: list[Action] = []
    first, last = np.zeros((2, schedule.transfers), int)
    spare = schedule.slots
    for i in range(schedule.transfers):
        moved = slice(schedule.moves[i], schedule.moves[i + 1])
        slots, to = schedule.from_slot[moved].tolist(), schedule.to_slot[moved].tolist()
        op, src, dst, step = int(schedule.op[i]), int(schedule.src[i]), int(schedule.dst[i]), int(schedule.step_of[i])
        still = {r for slot in to for r in readers.get((step, dst, slot), ())}
        waits = [int(last[b]) for b in before[i]]
        first[i] = len(actions)
        second = src == dst and any(schedule.src[r] == schedule.dst[r] for r in still)
        if second:
            held = [*range(schedule.slots, schedule.slots + len(slots))]
            spare = max(spare, held[-1] + 1)
            actions.append(Action(COPY, src, src, slots, held, step, False, waits))
            slots, waits = held, [*waits, len(actions) - 1]
        last[i] = len(actions)
        actions.append(Action(op, src, dst, slots, to, step, second, waits, sorted(still - {i})))
    for action in actions:
        action.held = [int(first[r]) for r in action.held]
    return actions, spare


def awaited(schedule: Schedule) -> list[list[int]]:
    """The transfers for which each transfer waits; marks of a program order stand for those before them."""
    waits = dependencies.waits(schedule)
    before: list[list[int]] = [[] for _ in range(waits.rows)]
    start, after = waits.start.tolist(), waits.after.tolist()
    for row in range(waits.rows):
        for waiting in after[start[row] : start[row + 1]]:
            before[waiting].append(row)

    def real(row: int) -> Iterator[int]:
        for b in before[row]:
            if b < schedule.transfers:
                yield b
            else:
                yield from real(b)

    return [[*dict.fromkeys(real(i))] for i in range(schedule.transfers)]


def _readers(schedule: Schedule) -> dict[tuple[int, int, int], list[int]]:
    """Who reads a place in a step: by (step, rank, slot)."""
    readers: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    step, src = schedule.step_of.tolist(), schedule.src.tolist()
    for i, slot in zip(schedule.transfer_of.tolist(), schedule.from_slot.tolist(), strict=True):
        readers[step[i], src[i], slot].append(i)
    return readers


def _parts(actions: Sequence[Action], buffers: Buffers, most: int) -> list[Action]:
    """Every action as its stretches of chunks; whoever waits for an action waits for all of them."""
    parts: list[Action] = []
    numbers: list[range] = []
    for number, action in enumerate(actions):
        start = len(parts)
        for at, run in _runs(action, buffers, most):
            some = slice(at, at + run[-1])
            waits, held = [*action.waits], [*action.held]
            parts.append(
                Action(
                    action.op, action.src, action.dst, action.slots[some], action.to[some], action.step,
                    action.second, waits, held, run, number,
                )
            )  # fmt: skip
        numbers.append(range(start, len(parts)))
    for part in parts:
        part.waits = [p for b in part.waits for p in numbers[b]]
        part.held = [p for b in part.held for p in numbers[b]]
    return parts


def _runs(action: Action, buffers: Buffers, most: int) -> Iterator[tuple[int, Run]]:
    """The slots of an action as stretches that follow each other at both ends, each with where it begins."""
    ends = [
        (*_place(action.src, s, buffers), *_place(action.dst, t, buffers))
        for s, t in zip(action.slots, action.to, strict=True)
    ]
    k = 0
    while k < len(ends):
        source, offset, target, into = ends[k]
        count = 1
        while k + count < len(ends) and count < most:
            if ends[k + count] != (source, offset + count, target, into + count):
                break
            count += 1
        yield k, (source, offset, target, into, count)
        k += count


def _place(rank: int, slot: int, buffers: Buffers) -> tuple[str, int]:
    """Buffer and offset of a slot; of two that share it, the larger."""
    for b in sorted("ios", key=lambda b: (b == "s", -buffers.size[b])):
        offset = slot - int(buffers.base[b][rank])
        if 0 <= offset < buffers.size[b]:
            return b, offset
    raise InputError("schedule.slot_in_no_buffer", slot=slot, rank=rank)


def _chain_writers(parts: Sequence[Action]) -> None:
    """Let those that add to one place in one step do it one after the other."""
    last: dict[tuple[int, int, int], int] = {}
    for p in sorted(range(len(parts)), key=lambda p: (parts[p].step, max(turn for _, turn in parts[p].ends()), p)):
        part = parts[p]
        for slot in part.to:
            key = part.step, part.dst, slot
            if key in last and last[key] != p and last[key] not in part.held:
                part.held.append(last[key])
            last[key] = p
