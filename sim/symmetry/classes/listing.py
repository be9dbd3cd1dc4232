"""A schedule read step by step: what it leaves is proved, and who sends what to whom is kept; its messages are not."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Ints
from sim.base.compiled import twin
from sim.base.ragged import offsets_of, ranges
from sim.base.watch import check_transfers
from sim.schedule import NOTHING, Promise, Step
from sim.schedule.verify import Verdict
from sim.symmetry.classes import kernels

Colours = NDArray[np.uint64]
PROGRAMS, POOL = 1 << 16, 1 << 20
"""Beginnings of programs, and slots in them, that there may be; more are no few kinds."""
STEPS = 1 << 30
"""So that twice a step is a number of 32 bits."""


class Programs(NamedTuple):
    """What pairs of ranks exchange, every different program once; program p's messages are `first[p]:first[p + 1]`.

    A message has a step and an operation, and its moves as `Schedule` has them.
    """

    first: NDArray[np.int64]
    step: NDArray[np.int64]
    op: NDArray[np.uint8]
    moves: NDArray[np.int64]
    from_slot: Ints
    to_slot: Ints


def _laid_out(part: Step) -> Step:
    """A step with all columns in memory: kernels are compiled for that alone, not for every way to repeat a number."""
    columns = (np.require(column, requirements=["C", "W"]) for column in part[1:])
    return Step(part.op, *columns)


@dataclass(frozen=True, eq=False)
class Listing:
    """A schedule by its pairs: `pair[p]` is a sender, a receiver, a channel and the number of a program.

    `ordered` ranks finish their part of one step before that of the next. `unit_share` is as `Schedule` has it.
    """

    name: str
    n: int
    steps: int
    transfers: int
    messages: int
    unit_share: float
    ordered: bool
    pair: Ints
    programs: Programs
    switches: tuple[str, ...] = ()
    """None."""


def listed(
    steps: Iterable[Any], promise: Promise, *, name: str, unit_share: float, ordered: bool = False
) -> tuple[Listing, Verdict] | None:
    """A schedule's pairs, and whether it keeps its promise; None where its pairs or their programs are not few.

    What cannot be proved in this way (promises that may count twice), or names ranks or slots that are not there, is
    None too.
    """
    if promise.union:
        return None
    reader = _Ledger(promise)
    for item in steps:
        if isinstance(item, str):
            continue
        check_transfers(name, reader.transfers, reader.steps)
        if not reader.step((item,) if isinstance(item, Step) else item):
            return None
    listing = Listing(
        name=name,
        n=len(promise.given),
        steps=reader.steps,
        transfers=reader.transfers,
        messages=reader.messages,
        unit_share=unit_share,
        ordered=ordered,
        pair=reader.pair[: reader.count[kernels.PAIRS]],
        programs=reader.programs(),
    )
    return listing, reader.verdict(name)


class _Ledger:
    """What is known of a schedule as far as it has been read.

    A rank's contribution to a block is the product of a random number of its own and one of the block's, modulo 2^64,
    so that what several ranks owe is a difference of running sums, and sums over different blocks are none of them.
    """

    def __init__(self, promise: Promise) -> None:
        self.n, laid = promise.given.shape
        self.steps = self.transfers = self.messages = 0
        self._promise = promise
        draw = np.random.default_rng(0x51D3)
        self._rank = draw.integers(0, 1 << 64, self.n, np.uint64)
        self._block = draw.integers(0, 1 << 64, promise.blocks, np.uint64) | np.uint64(1)
        self._empty = draw.integers(0, 1 << 64, dtype=np.uint64)
        self._held = np.empty((0, self.n), np.uint64)
        self._stamp = np.empty((0, self.n), np.int32)
        self._widen(laid)
        for slot in range(laid):
            block = promise.given[:, slot]
            np.multiply(self._rank, self._block[block], out=self._held[slot], where=block != NOTHING)
        self.count = np.zeros(3, np.int64)
        self.count[kernels.PROGRAMS] = 1  # the empty one
        self._head = np.full(self.n, kernels.NONE, np.int32)
        self.pair = np.empty((0, 5), np.int32)
        self._node = np.zeros((PROGRAMS, 5), np.int64)
        self._pool = np.empty((POOL, 2), np.int32)
        self._table = np.full(2 * PROGRAMS, kernels.NONE, np.int32)
        self._kernel: Any = kernels

    def step(self, parts: tuple[Step, ...]) -> bool:
        """Read a step; False where that cannot be."""
        moves = sum(part.slot.size for part in parts)
        self._kernel = twin(kernels, 12 * moves)
        self.transfers += sum(len(part.src) for part in parts)
        self.messages += sum(int(np.count_nonzero(part.src != part.dst)) for part in parts)
        parts = tuple(_laid_out(part) for part in parts if len(part.src))
        if not all(self._fits(part) for part in parts) or self.steps >= STEPS:
            return False
        with np.errstate(over="ignore"):
            read = [np.empty(part.slot.shape, np.uint64) for part in parts]
            for part, got in zip(parts, read, strict=True):
                self._kernel.read(part.src, part.slot, self._held, got)
            for part, got in zip(parts, read, strict=True):
                self._kernel.write(self.steps, part.op, part.dst, part.to, self._held, self._stamp, got)
            done = all(self._follow(part) for part in parts)
        self.steps += 1
        return done

    def verdict(self, name: str) -> Verdict:
        """Whether every place holds what it is owed."""
        promise = self._promise
        sums = np.concatenate([[np.uint64(0)], np.cumsum(self._rank)])
        for slot in range(promise.given.shape[1]):
            ranks = np.flatnonzero(promise.owed[:, slot] != NOTHING)
            block = promise.owed[ranks, slot]
            due = (sums[promise.last[ranks, slot]] - sums[promise.first[ranks, slot]]) * self._block[block]
            wrong = self._held[slot, ranks] != due
            if wrong.any():
                at = int(np.argmax(wrong))
                reason = f"{name}: rank {ranks[at]} slot {slot} does not end with block {block[at]} as it is owed"
                return Verdict("wrong", reason, -1, int(ranks[at]), slot)
        return Verdict("ok")

    def programs(self) -> Programs:
        """Every program that a pair has come to, written out; pairs are given their new numbers."""
        pair = self.pair[: self.count[kernels.PAIRS]]
        ends, pair[:, kernels.PROGRAM] = np.unique(pair[:, kernels.PROGRAM], return_inverse=True)
        node, rows, first = self._node, [], [0]
        for end in ends.tolist():
            row = []
            while end:
                row.append(end)
                end = int(node[end, kernels.BEFORE])
            rows += row[::-1]
            first.append(len(rows))
        _, step, op, slots, width = node[np.array(rows, np.int64)].T
        move = ranges(slots, width)
        real = self._pool[move, 0] != NOTHING
        moves = offsets_of(real)[offsets_of(width)]
        from_slot, to_slot = self._pool[move[real]].T
        return Programs(np.array(first, np.int64), step, op.astype(np.uint8), moves, from_slot, to_slot)

    def _fits(self, part: Step) -> bool:
        """Whether a step names ranks and slots there are; makes slots that only it has named."""
        ends = part.src, part.dst
        if not all(x.min() >= 0 and x.max() < self.n for x in ends) or ((part.slot < 0) != (part.to < 0)).any():
            return False
        if min(part.slot.min(), part.to.min()) < NOTHING:
            return False
        self._widen(1 + int(max(part.slot.max(), part.to.max())))
        return True

    def _widen(self, slots: int) -> None:
        """Have so many slots; what lies in those nobody has filled is nothing that anybody is owed."""
        if slots > len(self._held):
            more = max(slots - len(self._held), len(self._held) // 4)
            self._held = np.concatenate([self._held, np.full((more, self.n), self._empty)])
            self._stamp = np.concatenate([self._stamp, np.full((more, self.n), -1, np.int32)])

    def _follow(self, part: Step) -> bool:
        """Lengthen programs by a step's messages."""
        room = int(self.count[kernels.PAIRS]) + len(part.src)
        if room > len(self.pair):
            longer = np.empty((max(room, len(self.pair) * 5 // 4), 5), np.int32)
            longer[: len(self.pair)] = self.pair
            self.pair = longer
        columns = part.src, part.dst, part.channel, part.slot, part.to
        tables = self._head, self.pair, self._node, self._pool, self._table, self.count
        stopped: int = self._kernel.follow(self.steps, part.op, *columns, *tables)
        return stopped == 0
