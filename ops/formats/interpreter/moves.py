"""Transfers gathered in the order in which a program carries them out, made into a Schedule at the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from sim.base.ragged import offsets_of
from sim.errors import InputError
from sim.schedule import COPY, REDUCE, Promise, Schedule
from sim.schedule.model import narrow
from sim.topology import Ints

MOST_PLACES = 1 << 25
"""Slots of all ranks that are followed."""

Done = tuple["Done", "Done"] | int | None
"""What must have ended: a transfer, two of these, or nothing."""


def join(a: Done, b: Done) -> Done:
    """Both."""
    if a is None or a == b:
        return b
    return a if b is None else (a, b)


def unfold(done: Done) -> list[int]:
    """All the transfers in it."""
    order: dict[int, None] = {}
    seen: set[int] = set()
    stack = [done]
    while stack:
        item = stack.pop()
        if isinstance(item, int):
            order[item] = None
        elif item is not None and id(item) not in seen:
            seen.add(id(item))
            stack += item
    return list(order)


@dataclass(slots=True)
class Move:
    """One transfer: what it reads and writes, the phase in which it reads, and what it starts after."""

    op: int
    src: int
    dst: int
    channel: int
    slots: Sequence[int]
    to: Sequence[int]
    phase: int
    after: list[int]


class Moves:
    """All transfers of a program, and when every place was last read and written.

    A message may be in place before its receiver asks for it: `fits` tells whether anyone could notice.
    `laid` slots per rank belong to the program's buffers; what must be kept elsewhere gets slots beyond.
    """

    def __init__(self, n: int, laid: int) -> None:
        self.all: list[Move] = []
        self._extra = [laid] * n
        self._read: dict[tuple[int, int], int] = {}
        self._written: dict[tuple[int, int], tuple[int, int]] = {}

    def spare(self, rank: int, count: int) -> range:
        """Slots of a rank that nothing else uses."""
        self._extra[rank] += count
        return range(self._extra[rank] - count, self._extra[rank])

    def start(self, op: int, src: int, dst: int, channel: int, slots: Sequence[int], phase: int, done: Done) -> int:
        """A transfer that reads now; where it ends is told by `land`."""
        for slot in slots:
            self._read[src, slot] = phase
        self.all.append(Move(op, src, dst, channel, slots, (), phase, unfold(done)))
        return len(self.all) - 1

    def local(self, op: int, rank: int, slots: Sequence[int], to: Sequence[int], phase: int, done: Done) -> int:
        """A copy or reduction inside a rank."""
        i = self.start(op, rank, rank, 0, slots, phase, done)
        self.land(i, op, to)
        return i

    def fits(self, i: int, op: int, to: Sequence[int]) -> bool:
        """Whether nothing has touched these places since transfer i could have filled them."""
        move = self.all[i]
        write = move.phase + 1
        for slot in to:
            place = move.dst, slot
            if self._read.get(place, -1) > move.phase:
                return False
            at, kind = self._written.get(place, (-1, COPY))
            if at > write or (at == write and not op == kind == REDUCE):
                return False
        return True

    def land(self, i: int, op: int, to: Sequence[int]) -> None:
        """Transfer i writes here at the end of its step."""
        move = self.all[i]
        move.op, move.to = op, to
        for slot in to:
            place = move.dst, slot
            if self._written.get(place, (-1, 0))[0] <= move.phase + 1:
                self._written[place] = move.phase + 1, op

    def schedule(
        self,
        name: str,
        n: int,
        promise: Promise | None,
        unit_share: float,
        root: int = 0,
        levels: Sequence[int] | None = None,
        switches: tuple[str, ...] = (),
    ) -> Schedule:
        """Steps are the phases that move something, or the `levels` given, one per transfer.

        What has not landed is left in spare slots.
        """
        moves = self.all
        for i, move in enumerate(moves):
            if len(move.to) < len(move.slots):
                self.land(i, COPY, self.spare(move.dst, len(move.slots)))
        slots = max([1 if promise is None else promise.given.shape[1], *self._extra])
        if slots * n > MOST_PLACES:
            raise InputError("schedule.too_many_slots", name=name, slots=slots, n=n)
        level = np.array([move.phase // 2 for move in moves] if levels is None else levels, np.int64)
        order = np.argsort(level, kind="stable")
        place = np.empty(len(moves), np.int32)
        place[order] = np.arange(len(moves), dtype=np.int32)
        _, counts = np.unique(level, return_counts=True)
        ordered = [moves[i] for i in order]
        before = [place[b] for move in ordered for b in move.after]
        later = np.repeat(np.arange(len(moves), dtype=np.int32), [len(move.after) for move in ordered])
        return Schedule(
            name=name,
            n=n,
            slots=slots,
            promise=promise,
            unit_share=unit_share,
            steps=len(counts),
            step_start=offsets_of(counts),
            op=np.array([move.op for move in ordered], np.uint8),
            src=_ints([move.src for move in ordered]),
            dst=_ints([move.dst for move in ordered]),
            channel=_ints([move.channel for move in ordered]),
            moves=narrow(offsets_of([len(move.slots) for move in ordered])),
            from_slot=_ints([*chain.from_iterable(move.slots for move in ordered)]),
            to_slot=_ints([*chain.from_iterable(move.to for move in ordered)]),
            after=(_ints(before), later.astype(np.int32)) if before else None,
            root=root,
            switches=switches,
        )


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int32)
