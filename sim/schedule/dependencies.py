"""What happens before what: every transfer's dependencies, derived from the slots that are read and written.

Happens-before is a partial order; what has no dependency left to wait for starts, whatever its step.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Ints, blank
from sim.base.compiled import twin
from sim.base.ragged import Index
from sim.errors import InputError
from sim.schedule import replay
from sim.schedule.model import Schedule

MOST = 1 << 30
"""Moves of a schedule: twice a move's number, and one more, is noted in 32 bits."""


class Waits(NamedTuple):
    """Row i waits for `pending[i]` others and is waited for by `after[start[i]:start[i + 1]]`."""

    pending: Ints
    start: NDArray[np.int64]
    after: Ints

    @property
    def rows(self) -> int:
        """Transfers and the marks that stand between them: of a program order, or in lock-step one after each step."""
        return len(self.pending)


_DERIVED: WeakKeyDictionary[Schedule, Waits] = WeakKeyDictionary()


def waits(schedule: Schedule) -> Waits:
    """What every transfer of a schedule waits for; derived once."""
    if schedule not in _DERIVED:
        _DERIVED[schedule] = derive(schedule)
    return _DERIVED[schedule]


def derived(schedule: Schedule) -> Waits | None:
    """Return what every transfer waits for where that is known already."""
    return _DERIVED.get(schedule)


def note(schedule: Schedule, waits: Waits | None) -> None:
    """Keep what `derive` would find, where somebody knows it."""
    if waits is not None:
        _DERIVED[schedule] = waits


def derive(schedule: Schedule) -> Waits:
    """Read after write, write after write and write after read, and the schedule's own program order.

    Raises InputError for more moves than there are numbers for.
    """
    rows, moved = schedule.transfers, len(schedule.from_slot)
    if moved > MOST:
        raise InputError("schedule.too_many_moves", schedule=schedule.name, moved=moved, most=MOST)
    kernel = twin(replay, moved * 12)
    pending, start = blank(rows, np.int32), blank(rows + 2, np.int64)
    scratch = blank((schedule.places * schedule.slots, 2), np.int32), blank((moved, 2), np.int32)
    room = 3 * moved + 64
    while True:
        before = blank(room, np.int32)
        columns = schedule.src, schedule.dst, schedule.moves, schedule.owner, schedule.from_slot, schedule.to_slot
        lists = pending, start, before
        count = int(kernel.dependencies(schedule.slots, schedule.step_start, *columns, *lists, *scratch))
        if count <= room:
            break
        room = count
    before = before[:count]
    if schedule.after is not None:
        pending, before = _joined(pending, before, *schedule.after)
        start = _counted(before, len(pending))
    return _turned(pending, start, before, kernel)


def _joined(pending: Ints, before: Ints, earlier: Ints, later: Ints) -> tuple[Ints, Ints]:
    """Add a program order, whose marks become rows of their own, to what transfers wait for."""
    rows = 1 + max(len(pending) - 1, int(earlier.max(initial=-1)), int(later.max(initial=-1)))
    waiting = np.repeat(np.arange(len(pending)), pending)
    awaited, row = distinct(np.concatenate([before, earlier]), np.concatenate([waiting, later]), rows)
    return np.bincount(row, minlength=rows).astype(np.int32), awaited


def distinct(before: Index, after: Index, rows: int) -> tuple[Ints, Ints]:
    """Return each pair of rows once, in order of the later row."""
    pairs = np.sort(after * np.int64(rows) + before)
    later, earlier = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], max(rows, 1))
    return earlier.astype(np.int32), later.astype(np.int32)


def _counted(before: Ints, rows: int) -> NDArray[np.int64]:
    """How many wait for every row, as `successors` takes it."""
    start = np.zeros(rows + 2, np.int64)
    start[2:] = np.bincount(before, minlength=rows)
    return start


def lockstep(schedule: Schedule) -> Waits:
    """Every step waits for the whole step before: row `transfers + k` marks the end of step k."""
    real, marks = schedule.transfers, max(0, schedule.steps - 1)
    step = schedule.step_of
    late = np.nonzero(step > 0)[0]
    early = np.nonzero(step < marks)[0]
    waiting = np.concatenate([late, real + step[early]])
    before = np.concatenate([real + step[late] - 1, early]).astype(np.int32)
    before = before[np.argsort(waiting, kind="stable")]
    pending = np.bincount(waiting, minlength=real + marks).astype(np.int32)
    return _turned(pending, _counted(before, real + marks), before, twin(replay, len(before)))


def gated(waits: Waits, gates: list[NDArray[np.int64]]) -> Waits:
    """The same with a row more per gate, for which the rows it holds back wait too."""
    if not gates:
        return waits
    pending = np.concatenate([waits.pending, np.zeros(len(gates), np.int32)])
    for held in gates:
        pending[held] += 1
    ends = waits.start[-1] + np.cumsum([len(held) for held in gates])
    return Waits(pending, np.concatenate([waits.start, ends]), np.concatenate([waits.after, *gates]).astype(np.int32))


def _turned(pending: Ints, start: NDArray[np.int64], before: Ints, kernel: Any) -> Waits:
    after = blank(len(before), np.int32)
    kernel.successors(pending, before, start, after)
    return Waits(pending, start[:-1], after)
