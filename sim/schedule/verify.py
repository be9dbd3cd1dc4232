"""Is a schedule correct? Every contribution, exactly once, in the right place; proved on every run.

Small schedules are replayed with exact sets of contributors. At scale each rank contributes a random 64-bit
number and sums are taken modulo 2^64: a missing, doubled or misplaced contribution changes the sum, and
passes unnoticed with probability 2^-64 per place. Blocks are always followed by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import blank
from sim.base.compiled import compiled, is_compiled, twin
from sim.errors import first_few
from sim.schedule import replay as kernels
from sim.schedule.model import Promise, Schedule
from sim.schedule.steps import NOTHING
from sim.topology import Ints

Words = NDArray[np.uint64]
EXACT_BYTES = 1 << 26
"""Exact sets are followed while they fit this much memory; fingerprints beyond."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`verdict` is ok, wrong or unchecked (no promise to check); `reason` is one sentence.

    Files can also be judged deadlock, malformed or duplicate_connection; `ranks` is how many take part in what one
    says, 0 where nobody got to know.
    """

    verdict: str
    reason: str = ""
    step: int = -1
    rank: int = -1
    slot: int = -1
    ranks: int = field(default=0, compare=False)

    @property
    def ok(self) -> bool:
        """Nothing is known to be wrong."""
        return self.verdict in ("ok", "unchecked")


@dataclass(frozen=True, eq=False)
class Proof:
    """What a replay found: the verdict, and on request what every move carried.

    `carried[m]` is the block that move m carries; `left[m]` are the contributors at its destination after
    it, as bits of 64-rank words. Both are empty unless asked for.
    """

    schedule: Schedule
    verdict: Verdict
    carried: Ints
    left: Words

    @cached_property
    def counts(self) -> Ints:
        """How many ranks have contributed at each move's destination after it."""
        counts: Ints = np.bitwise_count(self.left).sum(axis=1, dtype=np.int32)
        return counts


def verify(schedule: Schedule) -> Verdict:
    """Replay the schedule and compare the outcome with its promise."""
    return prove(schedule).verdict


def prove(schedule: Schedule, *, blocks: bool = False, contributors: bool = False) -> Proof:
    """Replay, keeping the block each move carries and, exactly, the contributors it leaves behind."""
    promise = schedule.promise
    if promise is None:
        custom = Verdict("unchecked", "a custom schedule promises nothing")
        return Proof(schedule, _unless_flawed(custom, schedule), _no_ints(), _no_words(0))
    end = _replayed(schedule, promise, blocks=blocks, contributors=contributors)
    first = _first_wrong(schedule, promise, end)
    if first < 0:
        return Proof(schedule, _unless_flawed(Verdict("ok"), schedule), end.carried, end.left)
    rank, slot = divmod(first, schedule.slots)
    verdict = _unless_flawed(_explain(schedule, promise, end, rank, slot), schedule)
    return Proof(schedule, verdict, end.carried, end.left)


class HeldBlock(NamedTuple):
    """What a rank's slot holds: a block and the ranks that contributed to it.

    `block` is one of the reasons of `sim.schedule.replay` where it holds none, such as EMPTY.
    """

    block: int
    ranks: tuple[int, ...]


class Fault(NamedTuple):
    """A place that does not end with what is owed: what it holds, and ranks that are missing or not to be in it.

    `move` is the one that spoiled it, -1 where nothing did; `twice` are the ranks that it brought again.
    """

    rank: int
    slot: int
    owed: HeldBlock
    held: HeldBlock
    missing: tuple[int, ...]
    extra: tuple[int, ...]
    move: int
    twice: tuple[int, ...]


def places(schedule: Schedule, steps: int) -> list[list[HeldBlock]]:
    """What every rank's slots hold after so many steps, exactly. Raises ValueError for a schedule without a promise."""
    if schedule.promise is None:
        raise ValueError(f"{schedule.name} promises nothing, so nobody can say what it holds")
    begun = replace(schedule, step_start=schedule.step_start[: steps + 1])
    end = _replayed(begun, schedule.promise, blocks=False, contributors=True)
    return [[_place(end, rank, slot) for slot in range(schedule.slots)] for rank in range(schedule.n)]


def _place(end: "_End", rank: int, slot: int) -> HeldBlock:
    block = int(end.block[rank, slot])
    return HeldBlock(block, tuple(_members(end.who[rank, slot])) if block != kernels.EMPTY else ())


def faults(schedule: Schedule) -> list[Fault]:
    """Every place that is wrong in the end, exactly; none where `verify` says ok, or there is no promise."""
    promise = schedule.promise
    if promise is None:
        return []
    end = _replayed(schedule, promise, blocks=False, contributors=True)
    owed, wrong = end.owed(promise), _wrong(promise, end)
    faults = []
    for rank, slot in np.argwhere(wrong).tolist():
        due, held = HeldBlock(int(promise.owed[rank, slot]), tuple(_members(owed[rank, slot]))), _place(end, rank, slot)
        move = int(end.blame[rank, slot])
        doubled = held.block == kernels.DOUBLED
        same = held.block == due.block
        faults.append(
            Fault(
                rank,
                slot,
                due,
                held,
                tuple(sorted({*due.ranks} - {*held.ranks})) if same else (),
                tuple(sorted({*held.ranks} - {*due.ranks})) if same else (),
                move,
                tuple(_brought_twice(schedule, promise, move)) if doubled else (),
            )
        )
    return faults


def _wrong(promise: Promise, end: "_End") -> NDArray[np.bool_]:
    """Which places, by rank and slot, do not hold what they are owed."""
    laid = promise.given.shape[1]
    owes = promise.owed != NOTHING
    differs = (end.block[:, :laid] != promise.owed) | (end.who[:, :laid] != end.owed(promise)).any(axis=2)
    wrong: NDArray[np.bool_] = owes & differs
    return wrong


def _first_wrong(schedule: Schedule, promise: Promise, end: "_End") -> int:
    """The first place that does not hold what it is owed, counted rank by rank; -1 where all do."""
    if not is_compiled(kernels):
        wrong = np.argwhere(_wrong(promise, end))
        return int(wrong[0] @ (schedule.slots, 1)) if len(wrong) else -1
    columns = (np.ascontiguousarray(column) for column in (promise.owed, promise.first, promise.last))
    return int(compiled(kernels).astray(*columns, end.due, end.exact, schedule.slots, _in_halves(end.held), end.held))


def _unless_flawed(verdict: Verdict, schedule: Schedule) -> Verdict:
    return Verdict("wrong", schedule.flaw) if schedule.flaw else verdict


@dataclass(frozen=True, eq=False)
class _End:
    """The state of every place after the last step; arrays as `sim.schedule.replay.replay` fills them."""

    exact: bool
    marks: Words
    held: Words
    spoiled: Ints
    carried: Ints
    left: Words

    @property
    def who(self) -> Words:
        """The contributors, by rank and slot."""
        return self.held[:, kernels.FIRST :].reshape(len(self.marks), -1, self.marks.shape[1])

    @property
    def block(self) -> Ints:
        """The block, or a reason why there is none, by rank and slot."""
        return _in_halves(self.held)[:, kernels.BLOCK].reshape(len(self.marks), -1)

    @property
    def blame(self) -> Ints:
        """The move that spoiled a place, or -1, by rank and slot."""
        block = self.block
        return np.where(block < 0, self.spoiled.reshape(block.shape) - 1, -1)

    @cached_property
    def due(self) -> Words:
        """The marks of the first ranks together, of none of them to all."""
        due = np.zeros((len(self.marks) + 1, self.marks.shape[1]), np.uint64)
        if self.exact:
            np.bitwise_or.accumulate(self.marks, axis=0, out=due[1:])
        else:
            np.cumsum(self.marks, axis=0, out=due[1:])
        return due

    def owed(self, promise: Promise) -> Words:
        """The marks that the promise asks for at every place."""
        last, first = self.due[np.maximum(promise.last, 0)], self.due[np.maximum(promise.first, 0)]
        return last & ~first if self.exact else last - first


def _replayed(schedule: Schedule, promise: Promise, *, blocks: bool, contributors: bool) -> _End:
    slots, moved = schedule.slots, len(schedule.from_slot)
    rows = len(promise.given)
    words = (rows + 63) // 64
    exact = contributors or promise.union or rows * slots * words * 8 <= EXACT_BYTES
    marks = _bits(rows) if exact else _fingerprints(rows)
    held, spoiled = _at_first(promise, slots, marks), np.zeros(rows * slots, np.int32)
    largest = int(np.diff(schedule.moves[schedule.step_start]).max(initial=0))
    carried = blank(moved, np.int32) if blocks or contributors else _no_ints()
    left = np.empty((moved, words), np.uint64) if contributors else _no_words(marks.shape[1])
    kernel = twin(kernels, moved * 12 * marks.shape[1])
    with np.errstate(over="ignore"):  # fingerprints add up modulo 2^64
        kernel.replay(
            schedule.n,
            slots,
            schedule.step_start,
            schedule.op,
            schedule.src,
            schedule.dst,
            schedule.moves,
            schedule.owner,
            schedule.from_slot,
            schedule.to_slot,
            exact,
            promise.union,
            _in_halves(held),
            held,
            spoiled,
            carried,
            left,
            np.empty((largest, 2), np.int32),
            np.empty((largest, marks.shape[1]), np.uint64),
        )
    return _End(exact, marks, held, spoiled, carried, left)


def _at_first(promise: Promise, slots: int, marks: Words) -> Words:
    """What every place holds before the first step, as `sim.schedule.replay.replay` takes it."""
    (rows, laid), words = promise.given.shape, marks.shape[1]
    held = blank((rows, slots, kernels.FIRST + words), np.uint64)
    halves = _in_halves(held)
    halves[:, laid:, kernels.BLOCK] = -1
    halves[:, :, kernels.STAMP] = -1
    halves[:, :laid, kernels.BLOCK] = promise.given
    held[:, laid:, kernels.FIRST :] = 0
    held[:, :laid, kernels.FIRST :] = marks[:, np.newaxis]
    if (empty := promise.given == NOTHING).any():
        held[:, :laid, kernels.FIRST :][empty] = 0
    return held.reshape(rows * slots, -1)


def _in_halves(held: Words) -> Ints:
    """The same memory in 32 bits."""
    return held.view(np.int32)


def _no_ints() -> Ints:
    return np.zeros(0, np.int32)


def _no_words(words: int) -> Words:
    return np.zeros((0, words), np.uint64)


def _bits(n: int) -> Words:
    """One bit per rank, in 64-rank words."""
    marks = np.zeros((n, (n + 63) // 64), np.uint64)
    ranks = np.arange(n)
    marks[ranks, ranks // 64] = np.uint64(1) << (ranks % 64).astype(np.uint64)
    return marks


def _fingerprints(n: int) -> Words:
    """One random number per rank; the seed is fixed so that a run can be repeated."""
    return np.random.default_rng(0x51D3).integers(0, 1 << 64, size=(n, 1), dtype=np.uint64)


def _explain(schedule: Schedule, promise: Promise, end: _End, rank: int, slot: int) -> Verdict:
    """One sentence about the first place that is wrong, with the step that spoiled it where that is known."""
    place = f"{schedule.name}: rank {rank} slot {slot}"
    held, move = int(end.block[rank, slot]), int(end.blame[rank, slot])
    owed = int(promise.owed[rank, slot])
    if held >= 0 and held != owed:
        return Verdict("wrong", f"{place} ends with block {held}, not with block {owed}", -1, rank, slot)
    if held >= 0:
        gap = _difference(end, rank, slot, int(promise.first[rank, slot]), int(promise.last[rank, slot]))
        return Verdict("wrong", f"{place}, block {owed}: {gap}", -1, rank, slot)
    if move < 0:
        return Verdict("wrong", f"{place} should end with block {owed}, but no transfer fills it", -1, rank, slot)
    i = int(schedule.transfer_of[move])
    step = int(schedule.step_of[i])
    at = f"step {step + 1}: rank {schedule.src[i]} slot {schedule.from_slot[move]}"
    at += f" -> rank {schedule.dst[i]} slot {schedule.to_slot[move]}"
    doubled = held == kernels.DOUBLED
    twice = f"{place}, block {owed}: {_twice(schedule, promise, move)} counted twice ({at})" if doubled else ""
    return Verdict("wrong", twice or said_of(held, place, owed, at), step, rank, slot)


def said_of(held: int, place: str, owed: int, at: str) -> str:
    """What is wrong with a place that holds no block in the end, for one of the reasons of `sim.schedule.replay`."""
    return {
        kernels.EMPTY: f"{place} should end with block {owed}, but an empty slot was used on the way ({at})",
        kernels.MIXED: f"{place} ends with a sum over different blocks ({at})",
        kernels.CLASH: f"{place} depends on two writers of one step, of which one overwrites ({at})",
    }[held]


def _twice(schedule: Schedule, promise: Promise, move: int) -> str:
    both = _brought_twice(schedule, promise, move)
    return f"{rank_words(both)} {'is' if len(both) == 1 else 'are'}"


def _brought_twice(schedule: Schedule, promise: Promise, move: int) -> list[int]:
    """Which ranks a doubling move brought in again."""
    left = _replayed(schedule, promise, blocks=False, contributors=True).left
    i = int(schedule.transfer_of[move])
    opening = int(schedule.moves[schedule.step_start[schedule.step_of[i]]])
    owners = schedule.dst[schedule.transfer_of[:move]]

    def held(rank: int, slot: int, before: int) -> Words:
        hits = np.nonzero((schedule.to_slot[:before] == slot) & (owners[:before] == rank))[0]
        row: Words = left[hits[-1]] if hits.size else _bits(len(promise.given))[rank]
        return row

    brought = held(int(schedule.src[i]), int(schedule.from_slot[move]), opening)
    present = held(int(schedule.dst[i]), int(schedule.to_slot[move]), move)
    return _members(brought & present)


def _difference(end: _End, rank: int, slot: int, first: int, last: int) -> str:
    """What is missing or too much, from exact sets or by trying single ranks against the fingerprint."""
    marks, who = end.marks, end.who[rank, slot]
    if end.exact:
        owed = np.bitwise_or.reduce(marks[first:last], axis=0)
        missing, extra = _members(owed & ~who), _members(who & ~owed)
    else:
        gap = marks[first:last].sum(axis=0, dtype=np.uint64) - who
        missing = [int(r) for r in np.nonzero(marks == gap)[0]]
        extra = [int(r) for r in np.nonzero(marks == np.zeros(1, np.uint64) - gap)[0]]
        if extra and first <= extra[0] < last:
            return f"rank {extra[0]} is counted twice"
        if not missing and not extra:
            return "more than one contribution is missing or counted twice"
    parts = []
    if missing:
        parts.append(f"{rank_words(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    if extra:
        parts.append(f"{rank_words(extra)} should not be in it")
    return " and ".join(parts)


def _members(words: Words) -> list[int]:
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
    return [int(r) for r in np.nonzero(bits)[0]]


def rank_words(ranks: Sequence[int]) -> str:
    """Ranks in a sentence, the first six by their numbers."""
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {first_few(ranks, 6)}"
