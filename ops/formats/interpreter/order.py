"""What orders the operations of parallel workers, and whether a program's result depends on what nothing orders.

Thread blocks run side by side. Two operations are ordered when a chain of program order, messages, dependencies and
signals leads from one to the other (Lamport's happened-before, 1978); however a program is replayed, that relation is
the same. Two accesses to one place that are not ordered, one of them a write, are a race unless the result is the same
either way, which is tried.

    worker 0:  copy a -> b   signal
    worker 1:  copy c -> b            wait   copy b -> d

The wait orders worker 0's write before the last copy. Nothing orders the two writes of b: what d holds is chance.
"""

import heapq
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.schedule import REDUCE

Longs = NDArray[np.int64]
Values = NDArray[np.uint64]

CLOCK_BYTES = 1 << 26
"""Memory that one table of clocks takes at most."""
MOST_TRIED = 200
"""Pairs of operations whose orders are tried one by one."""
RANDOM_ORDERS, MOST_RANDOM = 20, 400_000
"""Orders tried beside those, and operations carried out in all of them together."""


class Access(NamedTuple):
    """Part of an operation: place `to[k]` takes the value of `slots[k]`, or adds it where `op` is REDUCE."""

    op: int
    slots: Sequence[int]
    to: Sequence[int]


class Race(NamedTuple):
    """Two operations that nothing orders and a place that both touch; the result depends on who comes first."""

    first: int
    second: int
    place: int


class Trial(NamedTuple):
    """Values that operations are tried on: what shared memory starts with, and what `places` of it are `due` to hold.

    Everything that can be told apart has a value of its own; `due` is None where nothing is promised.
    """

    start: Values
    places: Longs
    due: Values | None


@dataclass(slots=True)
class Order:
    """Operations by number, each added after all those it comes after: so added, they can be carried out.

    Places below `shared` are memory that several workers reach; those from there up hold messages and sums under way,
    which belong to one operation at a time.
    """

    shared: int
    worker: list[int] = field(default_factory=list)
    accesses: list[tuple[Access, ...]] = field(default_factory=list)
    before: list[tuple[int, ...]] = field(default_factory=list)
    places: int = 0
    """Shared and private ones."""

    def __post_init__(self) -> None:
        self.places = self.shared

    def add(self, worker: int, before: Iterable[int], accesses: Iterable[Access] = ()) -> int:
        """An operation after some others, of its worker or not; returns its number."""
        self.worker.append(worker)
        self.accesses.append(tuple(accesses))
        self.before.append(tuple({b for b in before if b >= 0}))
        return len(self.worker) - 1

    def private(self, count: int) -> range:
        """Places for a message or a sum under way."""
        self.places += count
        return range(self.places - count, self.places)

    def race(self, trial: Trial) -> Race | None:
        """Operations whose order decides what the places of the trial hold in the end, if there are any."""
        pairs = self._unordered()
        for race in pairs[:MOST_TRIED]:
            if self._differs(race, trial.start, trial.places):
                return race
        return pairs[0] if pairs and self._differs_by_chance(trial.start, trial.places) else None

    def right_way_round(self, race: Race, trial: Trial) -> tuple[int, int] | None:
        """The two operations of a race, the one that must come first in front, where that gives what is due."""
        for a, b in (race[:2], race[1::-1]):
            if trial.due is not None and (self._with_first(a, trial.start)[trial.places] == trial.due).all():
                return a, b
        return None

    def carried_out(self, sequence: Iterable[int], start: Values, overwritten: tuple[int, int] | None = None) -> Values:
        """What all places hold after the operations in this sequence.

        Of the two `overwritten`, which follow each other, the second reads before the first writes.
        """
        state = np.zeros(self.places, np.uint64)
        state[: self.shared] = start
        for i in sequence:
            if overwritten and i == overwritten[0]:
                touched = np.intersect1d(self.writes(i), self.writes(overwritten[1]))
                old = state[touched]
            for access in self.accesses[i]:
                slots, to = np.array(access.slots), np.array(access.to)
                state[to] = state[to] + state[slots] if access.op == REDUCE else state[slots]
            if overwritten and i == overwritten[0]:
                state[touched] = old
        return state

    def random_sequence(self, draw: random.Random) -> Iterator[int]:
        """The operations in some order that is allowed."""
        after: list[list[int]] = [[] for _ in self.worker]
        waiting = [len(before) for before in self.before]
        for i, before in enumerate(self.before):
            for b in before:
                after[b].append(i)
        ready = [(draw.random(), i) for i, count in enumerate(waiting) if not count]
        heapq.heapify(ready)
        while ready:
            _, i = heapq.heappop(ready)
            yield i
            for j in after[i]:
                waiting[j] -= 1
                if not waiting[j]:
                    heapq.heappush(ready, (draw.random(), j))

    def writes(self, i: int) -> Longs:
        """The places that an operation writes."""
        return np.array([*chain.from_iterable(access.to for access in self.accesses[i])], np.int64)

    def _differs(self, race: Race, start: Values, result: Longs) -> bool:
        """Whether the result tells which of two operations came first, or whether one undid the other."""
        first, second = self._ancestors(race.first), self._ancestors(race.second)
        both = first | second
        everything = range(len(self.worker))
        outcomes = (
            self._with_first(race.first, start),
            self._with_first(race.second, start),
            *(
                self.carried_out([*sorted(both), a, b, *_without(everything, both, a, b)], start, (a, b))
                for a, b in ((race.first, race.second), (race.second, race.first))
                if self._adds_to(b, race.place) and race.place in self.writes(a)
            ),
        )
        return any((outcome[result] != outcomes[0][result]).any() for outcome in outcomes[1:])

    def _with_first(self, i: int, start: Values) -> Values:
        """What all places hold when an operation comes as early as it can."""
        before = self._ancestors(i)
        return self.carried_out([*sorted(before), i, *_without(range(len(self.worker)), before, i)], start)

    def _adds_to(self, i: int, place: int) -> bool:
        """Whether an operation reads what is at a place in order to write something there that depends on it."""
        reads = (access.slots if access.op != REDUCE else (*access.slots, *access.to) for access in self.accesses[i])
        return any(place in places for places in reads) and place in self.writes(i)

    def _differs_by_chance(self, start: Values, result: Longs) -> bool:
        usual = self.carried_out(range(len(self.worker)), start)[result]
        draw = random.Random(0)
        for _ in range(min(RANDOM_ORDERS, max(1, MOST_RANDOM // len(self.worker)))):
            if (self.carried_out(self.random_sequence(draw), start)[result] != usual).any():
                return True
        return False

    def _ancestors(self, i: int) -> set[int]:
        """All that an operation comes after."""
        ancestors: set[int] = set()
        stack = [i]
        while stack:
            for b in self.before[stack.pop()]:
                if b not in ancestors:
                    ancestors.add(b)
                    stack.append(b)
        return ancestors

    def _unordered(self) -> list[Race]:
        """Pairs of neighbours in the history of a place that nothing orders, one of each pair writing.

        Where all neighbours are ordered, all accesses are: order is transitive, and what comes between two writes
        is a neighbour of both.
        """
        place, operation, writes = self._history()
        if not len(place):
            return []
        index = np.arange(len(place))
        opens = np.concatenate([[True], place[1:] != place[:-1]])  # the first access to each place
        first_of_place = np.maximum.accumulate(np.where(opens, index, 0))
        last_write = np.maximum.accumulate(np.where(writes, index, -1))
        before = np.concatenate([[-1], last_write[:-1]])
        has_earlier = before >= first_of_place
        earlier, later = [before[has_earlier]], [index[has_earlier]]
        next_write = np.minimum.accumulate(np.where(writes, index, len(place))[::-1])[::-1]
        after = np.concatenate([next_write[1:], [len(place)]])
        end_of_place = np.concatenate([np.flatnonzero(opens)[1:], [len(place)]])[np.cumsum(opens) - 1]
        read = ~writes & (after < end_of_place)
        earlier.append(index[read])
        later.append(after[read])
        a, b = np.concatenate(earlier), np.concatenate(later)
        pairs, where = np.unique(np.stack([operation[a], operation[b]], axis=1), axis=0, return_index=True)
        worker = np.array(self.worker)
        apart = worker[pairs[:, 0]] != worker[pairs[:, 1]]
        pairs, where = pairs[apart], place[a[where[apart]]]
        unordered = ~self._ordered(pairs)
        return [Race(int(x), int(y), int(p)) for (x, y), p in zip(pairs[unordered], where[unordered], strict=True)]

    def _history(self) -> tuple[Longs, Longs, NDArray[np.bool_]]:
        """Every access to shared memory as place, operation and whether it writes, sorted by place, then operation."""
        parts = [
            (i, part, k)
            for i, accesses in enumerate(self.accesses)
            for _, *ends in accesses
            for k, part in enumerate(ends)
        ]
        counts = [len(part) for _, part, _ in parts]
        place = np.fromiter(chain.from_iterable(part for _, part, _ in parts), np.int64, sum(counts))
        operation = np.repeat(np.array([i for i, _, _ in parts], np.int64), counts)
        write = np.repeat(np.array([k == 1 for _, _, k in parts], bool), counts)
        shared = place < self.shared
        place, operation, write = place[shared], operation[shared], write[shared]
        order = np.lexsort((write, operation, place))
        place, operation, write = place[order], operation[order], write[order]
        last = np.ones(len(place), bool)  # what reads and writes a place in one operation counts as a write
        last[:-1] = (place[1:] != place[:-1]) | (operation[1:] != operation[:-1])
        return place[last], operation[last], write[last]

    def _ordered(self, pairs: Longs) -> NDArray[np.bool_]:
        """For every pair of operations, whether the first comes before the second.

        A clock per operation counts, for each worker, how many of its operations come before: with 0-based turns,
        a is before b when b's clock of a's worker is beyond a's turn.
        """
        ordered = np.zeros(len(pairs), bool)
        worker = np.array(self.worker)
        turn = _turns(worker)
        of_first = worker[pairs[:, 0]]
        workers = np.unique(of_first)
        width = max(1, CLOCK_BYTES // (4 * max(1, len(worker))))
        for begin in range(0, len(workers), width):
            some = workers[begin : begin + width]
            clocks = self._clocks(some, worker, turn)
            of_these = np.flatnonzero(np.isin(of_first, some))
            a, b = pairs[of_these, 0], pairs[of_these, 1]
            ordered[of_these] = clocks[b, np.searchsorted(some, worker[a])] > turn[a]
        return ordered

    def _clocks(self, workers: Longs, worker: Longs, turn: Longs) -> NDArray[np.int32]:
        clocks = np.zeros((len(worker), len(workers)), np.int32)
        column = np.full(int(worker.max()) + 1, -1)
        column[workers] = np.arange(len(workers))
        for i, before in enumerate(self.before):
            row = clocks[i]
            for b in before:
                np.maximum(row, clocks[b], out=row)
            if column[worker[i]] >= 0:
                row[column[worker[i]]] = turn[i] + 1
        return clocks


def distinct(places: int) -> Values:
    """A value for every place, no sum of some of which equals a sum of others but by chance of one in 2^64."""
    return np.random.default_rng(0).integers(1, 1 << 64, places, np.uint64)


def _turns(worker: Longs) -> Longs:
    """The how-manieth operation of its worker each is, from 0.

    >>> _turns(np.array([0, 1, 0, 0, 1])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(worker, kind="stable")
    starts = np.flatnonzero(np.diff(worker[order], prepend=-1))
    turn = np.empty(len(worker), np.int64)
    turn[order] = np.arange(len(worker)) - np.repeat(starts, np.diff([*starts, len(worker)]))
    return turn


def _without(everything: Sequence[int], some: set[int], *more: int) -> list[int]:
    return [i for i in everything if i not in some and i not in more]
