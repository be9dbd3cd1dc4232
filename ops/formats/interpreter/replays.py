"""Ordered operations as arrays: carried out in one order or another, and which pairs of them nothing orders."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.formats.interpreter import kernels
from sim.base.arrays import each_once
from sim.base.compiled import twin
from sim.base.ragged import offsets_of, ranges, row_numbers

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]
Values = NDArray[np.uint64]

CLOCK_BYTES = 1 << 26
"""Memory that one table of clocks takes at most."""
CROWD = 64
"""Accesses to a place of which all pairs are looked at, where not all neighbours in its history are ordered."""


class Race(NamedTuple):
    """Two operations that nothing orders and a place that both touch; the result depends on who comes first."""

    first: int
    second: int
    place: int


class _History(NamedTuple):
    """Accesses to shared memory by place and then by operation, one for all of an operation's to a place."""

    place: Longs
    operation: Longs
    writes: Flags

    def neighbours(self) -> tuple[Longs, Longs]:
        """Every access with the last write before it, every read with the next write after it, at the same place."""
        place, _, writes = self
        index = np.arange(len(place))
        opens = np.concatenate([[True], place[1:] != place[:-1]])  # the first access to each place
        first_of_place = np.maximum.accumulate(np.where(opens, index, 0))
        last_write = np.maximum.accumulate(np.where(writes, index, -1))
        before = np.concatenate([[-1], last_write[:-1]])
        follows = before >= first_of_place
        next_write = np.minimum.accumulate(np.where(writes, index, len(place))[::-1])[::-1]
        after = np.concatenate([next_write[1:], [len(place)]])
        end_of_place = np.concatenate([np.flatnonzero(opens)[1:], [len(place)]])[np.cumsum(opens) - 1]
        read = ~writes & (after < end_of_place)
        return np.concatenate([before[follows], index[read]]), np.concatenate([index[follows], after[read]])

    def all_pairs(self, places: Longs) -> tuple[Longs, Longs]:
        """Every two accesses to one of these places of which one writes; of the first `CROWD` accesses to each."""
        start, stop = np.searchsorted(self.place, places), np.searchsorted(self.place, places, side="right")
        counts = np.minimum(stop - start, CROWD)
        earlier = ranges(start, counts)
        left = ranges(0, counts)
        later = ranges(earlier + 1, np.repeat(counts, counts) - left - 1)
        earlier = np.repeat(earlier, np.repeat(counts, counts) - left - 1)
        either = self.writes[earlier] | self.writes[later]
        return earlier[either], later[either]


class Replay:
    """Operations of an `Order` in arrays: `worker` of each, its accesses, and what it comes after, as numbers."""

    def __init__(
        self,
        worker: Sequence[int],
        before: Sequence[Sequence[int]],
        accesses: tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int], Sequence[int]],
        shared: int,
        places: int,
    ) -> None:
        self.worker = np.array(worker, np.int64)
        self.count, self.shared, self.places = len(worker), shared, places
        lengths = np.fromiter(map(len, before), np.int64, len(before))
        self.first = offsets_of(lengths)
        self.before = np.fromiter(chain.from_iterable(before), np.int64, int(self.first[-1]))
        self.part, self.op, self.offset, self.slots, self.to = (np.array(column, np.int64) for column in accesses)
        self._held = np.zeros(int(np.diff(self.offset).max(initial=0)), np.uint64)
        self._kernel = twin(kernels, 0)

    def prepare(self, times: int) -> None:
        """Load compiled kernels if that pays for carrying everything out so often."""
        self._kernel = twin(kernels, times * (len(self.slots) + len(self.before) + self.count))

    def writes(self, i: int) -> Longs:
        """The places that an operation writes."""
        return self.to[self._entries(i)]

    def adds_to(self, i: int, place: int) -> bool:
        """Whether an operation reads what is at a place in order to write something there that depends on it."""
        entries, adds = self._entries(i), np.repeat(self.op, np.diff(self.offset))[self._entries(i)] != kernels.COPY
        reads = (self.slots[entries] == place) | (adds & (self.to[entries] == place))
        return bool(reads.any() and (self.to[entries] == place).any())

    def _entries(self, i: int) -> slice:
        return slice(self.offset[self.part[i]], self.offset[self.part[i + 1]])

    def at_first(self, start: Values) -> Values:
        """What all places hold before."""
        state = np.zeros(self.places, np.uint64)
        state[: self.shared] = start
        return state

    def carry_out(self, sequence: Longs, state: Values) -> Values:
        """What all places hold after the operations in this sequence, in the array that is given."""
        with np.errstate(over="ignore"):  # values add up modulo 2^64
            self._kernel.carry_out(
                sequence, self.part, self.op, self.offset, self.slots, self.to, state, self._held
            )  # fmt: skip
        return state

    def ancestors(self, i: int) -> Flags:
        """All that an operation comes after, and itself."""
        mark = np.empty(self.count, np.bool_)
        self._kernel.ancestors(i, self.first, self.before, mark)
        return mark

    def descendants(self, i: int) -> Flags:
        """All that come after an operation, and itself."""
        mark = np.empty(self.count, np.bool_)
        self._kernel.descendants(i, self.first, self.before, mark)
        return mark

    def random_sequences(self, count: int) -> Iterator[Longs]:
        """The operations in some orders that are allowed."""
        random = np.random.default_rng(0)
        order = np.argsort(self.before, kind="stable")
        after = row_numbers(self.first)[order]
        start = np.searchsorted(self.before[order], np.arange(self.count + 1))
        for _ in range(count):
            sequence, ready = np.empty((2, self.count), np.int64)
            waiting = np.diff(self.first)
            draws = random.integers(0, 1 << 62, self.count)
            self._kernel.draw_sequence(draws, start, after, waiting, ready, sequence)
            yield sequence

    def unordered(self) -> list[Race]:
        """Pairs of accesses to a place that nothing orders, one of each pair writing; neighbours come first.

        Where all neighbours in the history of a place are ordered, all accesses are: order is transitive, and what
        comes between two writes is a neighbour of both. Where some are not, others need not be.
        """
        history = self._history()
        if not len(history.place):
            return []
        near = self._open(history, *history.neighbours())
        if not near:
            return []
        places = np.unique(np.array([race.place for race in near]))
        pairs = {race[:2] for race in near}
        return [*near, *(race for race in self._open(history, *history.all_pairs(places)) if race[:2] not in pairs)]

    def _history(self) -> _History:
        operation = np.repeat(row_numbers(self.part), np.diff(self.offset))
        place, operation = np.concatenate([self.slots, self.to]), np.concatenate([operation, operation])
        writes = np.arange(len(place)) >= len(self.slots)
        shared = place < self.shared
        place, operation, writes = place[shared], operation[shared], writes[shared]
        order = np.lexsort((writes, operation, place))
        place, operation, writes = place[order], operation[order], writes[order]
        last = np.ones(len(place), np.bool_)  # what reads and writes a place in one operation counts as a write
        last[:-1] = (place[1:] != place[:-1]) | (operation[1:] != operation[:-1])
        return _History(place[last], operation[last], writes[last])

    def _open(self, history: _History, a: Longs, b: Longs) -> list[Race]:
        """Those of some pairs of accesses whose operations nothing orders, each two operations once."""
        pairs = np.stack([history.operation[a], history.operation[b]], axis=1)
        pairs, where = np.unique(pairs, axis=0, return_index=True)
        apart = self.worker[pairs[:, 0]] != self.worker[pairs[:, 1]]
        pairs, place = pairs[apart], history.place[a[where[apart]]]
        loose = ~self._ordered(pairs)
        return [Race(int(x), int(y), int(p)) for (x, y), p in zip(pairs[loose], place[loose], strict=True)]

    def _ordered(self, pairs: Longs) -> Flags:
        """For every pair of operations, whether the first comes before the second.

        A clock per operation counts, for each worker, how many of its operations come before: with 0-based turns,
        a is before b when b's clock of a's worker is beyond a's turn.
        """
        ordered = np.zeros(len(pairs), np.bool_)
        turn = _turns(self.worker)
        of_first = self.worker[pairs[:, 0]]
        workers = each_once(of_first)
        width = max(1, CLOCK_BYTES // (4 * max(1, self.count)))
        for begin in range(0, len(workers), width):
            some = workers[begin : begin + width]
            clock = self._clocks(some, turn)
            here = np.flatnonzero(np.isin(of_first, some))
            a, b = pairs[here, 0], pairs[here, 1]
            ordered[here] = clock[b, np.searchsorted(some, self.worker[a])] > turn[a]
        return ordered

    def _clocks(self, workers: Longs, turn: Longs) -> NDArray[np.int32]:
        clock = np.zeros((self.count, len(workers)), np.int32)
        column = np.full(int(self.worker.max()) + 1, -1)
        column[workers] = np.arange(len(workers))
        kernel = twin(kernels, len(self.before) * len(workers) / 10)
        kernel.clocks(self.first, self.before, self.worker, turn, column, clock)
        return clock


def _turns(worker: Longs) -> Longs:
    """The how-manieth operation of its worker each is, from 0.

    >>> _turns(np.array([0, 1, 0, 0, 1])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(worker, kind="stable")
    starts = np.flatnonzero(np.diff(worker[order], prepend=-1))
    turn = np.empty(len(worker), np.int64)
    turn[order] = ranges(0, np.diff([*starts, len(worker)]))
    return turn
