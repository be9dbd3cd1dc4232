"""What orders the operations of parallel workers, and whether a program's result depends on what nothing orders.

Thread blocks run side by side. Two operations are ordered when a chain of program order, messages, dependencies and
signals leads from one to the other (Lamport's happened-before, 1978); however a program is replayed, that relation is
the same. Two accesses to one place that are not ordered, one of them a write, are a race unless the result is the same
either way, which is tried.

    worker 0:  copy a -> b   signal
    worker 1:  copy c -> b            wait   copy b -> d

The wait orders worker 0's write before the last copy. Nothing orders the two writes of b: what d holds is chance.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ops.formats.interpreter.replays import Flags, Longs, Race, Replay, Values

MOST_PAIRS, MOST_TRIED = 2_000, 100_000_000
"""Pairs of operations whose orders are tried one by one, and operations carried out for all of them together."""
RANDOM_ORDERS, MOST_RANDOM = 20, 20_000_000
"""Orders tried beside those, and operations carried out in all of them together."""


class Access(NamedTuple):
    """Part of an operation: place `to[k]` takes the value of `slots[k]`, or adds it where `op` is REDUCE."""

    op: int
    slots: Sequence[int]
    to: Sequence[int]


class Trial(NamedTuple):
    """Values that operations are tried on: what shared memory starts with, and what `places` of it are `due` to hold.

    Everything that can be told apart has a value of its own; `due` is None where nothing is promised.
    """

    start: Values
    places: Longs
    due: Values | None


def _longs(*values: int) -> "array[int]":
    return array("q", values)


@dataclass(slots=True)
class Order:
    """Operations by number, each added after all those it comes after: so added, they can be carried out.

    Places below `shared` are memory that several workers reach; those from there up hold messages and sums under way,
    which belong to one operation at a time.
    """

    shared: int
    worker: list[int] = field(default_factory=list)
    before: list[tuple[int, ...]] = field(default_factory=list)
    places: int = 0
    """Shared and private ones."""
    _part: "array[int]" = field(default_factory=lambda: _longs(0))
    _op: "array[int]" = field(default_factory=_longs)
    _offset: "array[int]" = field(default_factory=lambda: _longs(0))
    _slots: "array[int]" = field(default_factory=_longs)
    _to: "array[int]" = field(default_factory=_longs)
    """Accesses of all operations, as `Replay` has them."""

    def __post_init__(self) -> None:
        self.places = self.shared

    def add(self, worker: int, before: Iterable[int], accesses: Iterable[Access] = ()) -> int:
        """An operation after some others, of its worker or not; returns its number."""
        self.worker.append(worker)
        self.before.append(tuple({b for b in before if b >= 0}))
        for op, slots, to in accesses:
            self._op.append(op)
            self._slots.extend(slots)
            self._to.extend(to)
            self._offset.append(len(self._to))
        self._part.append(len(self._op))
        return len(self.worker) - 1

    def private(self, count: int) -> range:
        """Places for a message or a sum under way."""
        self.places += count
        return range(self.places - count, self.places)

    def replay(self) -> Replay:
        """The operations so far, in arrays."""
        accesses = self._part, self._op, self._offset, self._slots, self._to
        return Replay(self.worker, self.before, accesses, self.shared, self.places)


class Trials:
    """Operations tried in different orders, to see whether the result tells them apart."""

    def __init__(self, replay: Replay, trial: Trial) -> None:
        self.replay, self.trial = replay, trial
        self._start = replay.at_first(trial.start)
        self._everything = np.arange(replay.count)

    def race(self) -> Race | None:
        """Operations whose order decides what the places of the trial hold in the end, if there are any."""
        pairs = self.replay.unordered()
        tried = pairs[: min(MOST_PAIRS, 1 + MOST_TRIED // (6 * self.replay.count + 1))]
        self.replay.prepare(6 * len(tried))
        for race in tried:
            if self._differs(race):
                return race
        return pairs[0] if pairs and self._differs_by_chance() else None

    def right_way_round(self, race: Race) -> tuple[int, int] | None:
        """The two operations of a race, the one that must come first in front, where that gives what is due."""
        for a, b in (race[:2], race[1::-1]):
            if self.trial.due is not None and (self._result(self._early(a)) == self.trial.due).all():
                return a, b
        return None

    def _differs(self, race: Race) -> bool:
        """Whether the result tells which of two operations came first, or whether one undid the other."""
        a, b = race[:2]
        usual = self._result(self._early(a))
        return any((result != usual).any() for result in self._others(a, b, race.place))

    def _others(self, a: int, b: int, place: int) -> Iterator[Values]:
        """The results of other orders of two operations: either early, either late, either undone by the other."""
        yield self._result(self._early(b))
        for first, second in ((a, b), (b, a)):
            if self.replay.adds_to(second, place) and place in self.replay.writes(first):
                yield self._undone(first, second)
        yield self._result(self._late(a))
        yield self._result(self._late(b))

    def _early(self, i: int) -> Longs:
        """Everything in an order in which an operation comes as early as it can."""
        return self._split(self.replay.ancestors(i))

    def _late(self, i: int) -> Longs:
        """Everything in an order in which an operation comes as late as it can."""
        return self._split(~self.replay.descendants(i))

    def _split(self, first: Flags) -> Longs:
        return np.concatenate([self._everything[first], self._everything[~first]])

    def _result(self, sequence: Longs) -> Values:
        return self.replay.carry_out(sequence, self._start.copy())[self.trial.places]

    def _undone(self, first: int, second: int) -> Values:
        """The result where the second operation reads before the first writes, and writes after it."""
        before = self.replay.ancestors(first) | self.replay.ancestors(second)
        after = ~before
        before[[first, second]] = False
        state = self.replay.carry_out(self._everything[before], self._start.copy())
        touched = np.intersect1d(self.replay.writes(first), self.replay.writes(second))
        old = state[touched]
        self.replay.carry_out(np.array([first]), state)
        state[touched] = old
        self.replay.carry_out(np.array([second]), state)
        return self.replay.carry_out(self._everything[after], state)[self.trial.places]

    def _differs_by_chance(self) -> bool:
        usual = self._result(self._everything)
        count = min(RANDOM_ORDERS, max(1, MOST_RANDOM // self.replay.count))
        return any((self._result(some) != usual).any() for some in self.replay.random_sequences(count))


def distinct(places: int) -> Values:
    """A value for every place, no sum of some of which equals a sum of others but by chance of one in 2^64."""
    return np.random.default_rng(0).integers(1, 1 << 64, places, np.uint64)
