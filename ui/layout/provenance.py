"""What every move of a run carries and leaves behind: blocks and contributors, true at every instant."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.base.ragged import ranges
from sim.schedule import NOTHING, Schedule
from sim.schedule.model import narrow
from sim.schedule.verify import prove
from sim.trace import Trace

Array = NDArray[Any]
NAMED = 64
"""Up to this many ranks contributors are named; beyond, they are counted."""


@dataclass(frozen=True, eq=False)
class Contents:
    """Per move of a schedule: the block it carries, who has contributed to what it brings and to what it leaves.

    `brings` and `leaves` are rows of `sets` (bits of ranks, one word) up to NAMED ranks, else numbers of ranks.
    All are empty where nothing was promised, and the last three where contributors were not asked for.
    """

    block: Array
    brings: Array
    leaves: Array
    sets: Array

    @property
    def followed(self) -> bool:
        """Whether anything is known about contributors."""
        return len(self.brings) > 0

    def count(self, number: int) -> int:
        """How many ranks an entry of `brings` or `leaves` stands for."""
        return int(number) if not len(self.sets) else int(np.bitwise_count(self.sets[number]))

    def ranks(self, number: int) -> int:
        """Which ranks it stands for, as bits of a number; only up to NAMED ranks."""
        return int(self.sets[number])


def followed(trace: Trace, end: Array) -> Contents:
    """Replay a trace; transfers of one step are taken in the order of `end`.

    They do not read each other, so their order is free; in order of time, what several of them have added to
    one place is true at every instant.
    """
    schedule = trace.schedule
    order = np.lexsort((end, schedule.step_of))
    slots = np.diff(schedule.moves)[order]
    run = np.concatenate([[0], np.cumsum(slots)])
    moves = ranges(schedule.moves[:-1][order], slots)
    timely = replace(
        schedule,
        op=schedule.op[order],
        src=schedule.src[order],
        dst=schedule.dst[order],
        moves=narrow(run),
        from_slot=schedule.from_slot[moves],
        to_slot=schedule.to_slot[moves],
    )
    proof = prove(timely, blocks=True, contributors=True)
    if not len(proof.left):
        return unfollowed(trace)
    place = np.empty(len(moves), np.int64)
    place[moves] = np.arange(len(moves))
    own = np.arange(schedule.places)
    if schedule.n > NAMED:
        sets = np.zeros(0, np.uint64)
        left: Array = proof.counts
        single: Array = np.ones(schedule.places, np.int32)
    else:
        bits = np.uint64(1) << own.astype(np.uint64)
        sets, number = np.unique(np.concatenate([bits, proof.left[:, 0]]), return_inverse=True)
        single, left = number[: len(own)], number[len(own) :]
    writer = _last_writer(timely)
    brought = np.where(writer >= 0, left[writer], single[timely.src[timely.transfer_of]])
    return Contents(proof.carried[place], brought[place], left[place], sets)


def unfollowed(trace: Trace) -> Contents:
    """Only the blocks: for runs too large to follow every contributor."""
    nothing = np.zeros(0, np.int64)
    proof = prove(trace.schedule, blocks=True)
    return Contents(proof.carried, nothing, nothing, np.zeros(0, np.uint64))


def _last_writer(schedule: Schedule) -> Array:
    """For every move the last move of an earlier step into the place it reads, or -1."""
    count = len(schedule.from_slot)
    transfer = schedule.transfer_of
    written = schedule.dst[transfer].astype(np.int64) * schedule.slots + schedule.to_slot
    read = schedule.src[transfer].astype(np.int64) * schedule.slots + schedule.from_slot
    opening = schedule.moves[schedule.step_start[schedule.step_of[transfer]]]
    keys = written * (count + 1) + np.arange(count)
    order = np.argsort(keys)
    at = np.searchsorted(keys[order], read * (count + 1) + opening) - 1
    writer = order[np.maximum(at, 0)]
    return np.where((at >= 0) & (written[writer] == read), writer, -1)


def at_first(schedule: Schedule) -> Array:
    """The block in every place before the first step, switches after the ranks."""
    held = np.full((schedule.places, schedule.slots), NOTHING, np.int32)
    if schedule.promise is not None:
        rows, laid = schedule.promise.given.shape
        held[:rows, :laid] = schedule.promise.given
    return held
