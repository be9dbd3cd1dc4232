"""The proof of a folded schedule, by its symmetry alone: blocks and contributors are renamed with every message.

Rank 0 holds what all others hold, but for names. What it receives comes from a rank that holds, under other names, what
rank 0 itself sends, so one rank's slots are enough to follow. A sum is not a set but a way to make one: this sum and
that one, renamed. In the end every sum that rank 0 is owed is written out, rank by rank, and compared with the promise.
"""

import numpy as np

from sim.base.arrays import Floats
from sim.base.compiled import twin
from sim.schedule import NOTHING, Schedule
from sim.schedule.replay import EMPTY
from sim.schedule.verify import Proof, Verdict, rank_words, said_of
from sim.symmetry import follow
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.renamings import Numbers

AGAIN = 64
"""A sum in which ranks count this often in the mean is not written out."""


def prove(schedule: FoldedSchedule) -> Verdict:
    """Whether every rank ends with what the promise owes it. The sentence is about rank 0; all are as wrong as it."""
    one, promise, symmetry = schedule.one, schedule.promise, schedule.symmetry
    laid = promise.given.shape[1]
    holds = np.zeros((one.slots, 3), np.int64)
    holds[:, 0] = EMPTY
    holds[:laid, 0] = promise.given[0]
    blame = np.full((one.slots, 3), -1, np.int64)
    most = 1 + len(one.from_slot)
    parts, frames = np.zeros((most, 2), np.int64), np.zeros((most, 2), np.int64)
    count = np.ones(most)
    widest = int(np.diff(one.moves[one.step_start]).max(initial=0))
    digits, work = (*symmetry.ranks, *symmetry.names), len(one.from_slot) * 24
    columns = (one.step_start, one.op, symmetry.back(schedule.turn), one.moves, one.from_slot, one.to_slot)
    scratch = np.empty((widest, 4), np.int64)
    twin(follow, work).follow(*digits, *columns, holds, blame, parts, frames, count, scratch)
    owed, block = promise.owed[0], holds[:laid, 0]
    owes = owed != NOTHING
    single = owes & (promise.last[0] == promise.first[0] + 1)
    astray = owes & (block != owed)
    astray |= single & ((holds[:laid, follow.SUM] != 0) | (holds[:laid, follow.FRAME] != promise.first[0]))
    for number in np.unique(holds[:laid, follow.SUM][owes & ~single & ~astray]).tolist():
        if _amiss(schedule, number, parts, frames, count):
            astray |= owes & ~single & (holds[:laid, follow.SUM] == number)
    if not astray.any():
        return Verdict("ok")
    slot = int(np.argmax(astray))
    return _explained(schedule, slot, holds[slot], int(blame[slot, 0]), parts, frames, count)


def _amiss(schedule: FoldedSchedule, number: int, parts: Numbers, frames: Numbers, count: Floats) -> bool:
    """Whether not every rank is in a sum exactly once, or at least once where that is enough."""
    times = _times(schedule, number, parts, frames, count)
    return times is None or bool((times < 1).any() if schedule.promise.union else (times != 1).any())


def _times(schedule: FoldedSchedule, number: int, parts: Numbers, frames: Numbers, count: Floats) -> Numbers | None:
    """How often every rank is in a sum; None where all together are in it too often to be written out."""
    if count[number] > AGAIN * schedule.n:
        return None
    times = np.zeros(schedule.n, np.int64)
    stack = np.empty((number + 2, 2), np.int64)
    work = 8 * float(count[number])
    twin(follow, work).contributors(*schedule.symmetry.ranks, number, parts, frames, times, stack)
    return times


def _explained(
    schedule: FoldedSchedule, slot: int, held: Numbers, move: int, parts: Numbers, frames: Numbers, count: Floats
) -> Verdict:
    """One sentence about the first slot of rank 0 that is wrong, with the step that spoiled it where that is known."""
    one, owed = schedule.one, int(schedule.promise.owed[0, slot])
    place, block = f"{schedule.name}: rank 0 slot {slot}", int(held[0])
    if block >= 0:
        if block != owed:
            return Verdict("wrong", f"{place} ends with block {block}, not with block {owed}", -1, 0, slot)
        times = _times(schedule, int(held[1]), parts, frames, count)
        return Verdict("wrong", f"{place}, block {owed}: {_difference(schedule, slot, held, times)}", -1, 0, slot)
    if move < 0:
        return Verdict("wrong", f"{place} should end with block {owed}, but no transfer fills it", -1, 0, slot)
    i = int(one.transfer_of[move])
    step, renamed = int(one.step_of[i]), schedule.symmetry.back(schedule.turn[i])
    sent = int(schedule.symmetry.places.turned(one.from_slot[move], renamed))
    at = f"step {step + 1}: rank {int(renamed)} slot {sent} -> rank 0 slot {one.to_slot[move]}"
    return Verdict("wrong", said_of(block, place, owed, at), step, 0, slot)


def _difference(schedule: FoldedSchedule, slot: int, held: Numbers, times: Numbers | None) -> str:
    """Which ranks are missing in a sum, or too often in it."""
    if times is None:
        return "more than one contribution is missing or counted twice"
    first, last = int(schedule.promise.first[0, slot]), int(schedule.promise.last[0, slot])
    counted = schedule.symmetry.ranks.turned(np.arange(schedule.n), int(held[2]))
    times = np.bincount(counted, times, schedule.n)
    due = np.zeros(schedule.n)
    due[first:last] = 1
    words = []
    for ranks, what in (
        (np.nonzero(times < due)[0], "missing"),
        (np.nonzero((times > 1) & (due > 0))[0], "counted twice"),
    ):
        if len(ranks):
            words.append(f"{rank_words(ranks.tolist())} {'is' if len(ranks) == 1 else 'are'} {what}")
    extra = np.nonzero((times > 0) & (due == 0))[0]
    return " and ".join([*words, *([f"{rank_words(extra.tolist())} should not be in it"] if len(extra) else [])])


def proof_of(schedule: Schedule, verdict: Verdict) -> Proof:
    """Of the timed form, what its folded schedule's proof has found."""
    return Proof(schedule, verdict, np.zeros(0, np.int32), np.zeros((0, 0), np.uint64))
