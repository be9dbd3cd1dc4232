"""What happens before what: every transfer's dependencies, derived from the slots that are read and written.

Happens-before is a partial order; what has no dependency left to wait for starts, whatever its step.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Ints
from sim.base.compiled import twin
from sim.schedule import replay
from sim.schedule.model import Schedule


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


def derive(schedule: Schedule) -> Waits:
    """Read after write, write after write and write after read, and the schedule's own program order."""
    rows = schedule.transfers
    kernel = twin(replay, len(schedule.from_slot) * 12)
    first = np.zeros(rows + 1, np.int64)
    moved = len(schedule.from_slot)
    scratch = (
        np.empty((schedule.places * schedule.slots, 3), np.int32),
        np.empty((moved, 2), np.int32),
        np.empty(moved, np.int32),
        np.empty(rows, np.int32),
    )
    room = 3 * moved + 64
    while True:
        before = np.empty(room, np.int32)
        columns = schedule.src, schedule.dst, schedule.moves, schedule.from_slot, schedule.to_slot
        count = int(kernel.dependencies(schedule.slots, schedule.step_start, *columns, first, before, *scratch))
        if count <= room:
            break
        room = count
    if schedule.after is not None:
        first, before = _joined(first, before[:count], *schedule.after)
        count = len(before)
    return _turned(first, before[:count], kernel)


def _joined(first: NDArray[np.int64], before: Ints, earlier: Ints, later: Ints) -> tuple[NDArray[np.int64], Ints]:
    """Add a program order, whose marks become rows of their own, to what transfers wait for."""
    rows = 1 + max(len(first) - 2, int(earlier.max(initial=-1)), int(later.max(initial=-1)))
    waiting = np.repeat(np.arange(len(first) - 1), np.diff(first))
    pairs = np.sort(np.concatenate([waiting, later]) * np.int64(rows) + np.concatenate([before, earlier]))
    row, awaited = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], max(rows, 1))
    return np.searchsorted(row, np.arange(rows + 1)), awaited.astype(np.int32)


def lockstep(schedule: Schedule) -> Waits:
    """Every step waits for the whole step before: row `transfers + k` marks the end of step k."""
    real, marks = schedule.transfers, max(0, schedule.steps - 1)
    step = schedule.step_of
    late = np.nonzero(step > 0)[0]
    early = np.nonzero(step < marks)[0]
    first = np.zeros(real + marks + 1, np.int64)
    waiting = np.concatenate([late, real + step[early]])
    before = np.concatenate([real + step[late] - 1, early]).astype(np.int32)
    order = np.argsort(waiting, kind="stable")
    np.cumsum(np.bincount(waiting, minlength=real + marks), out=first[1:])
    return _turned(first, before[order], twin(replay, len(before)))


def gated(waits: Waits, gates: list[NDArray[np.int64]]) -> Waits:
    """The same with a row more per gate, for which the rows it holds back wait too."""
    if not gates:
        return waits
    pending = np.concatenate([waits.pending, np.zeros(len(gates), np.int32)])
    for held in gates:
        pending[held] += 1
    ends = waits.start[-1] + np.cumsum([len(held) for held in gates])
    return Waits(pending, np.concatenate([waits.start, ends]), np.concatenate([waits.after, *gates]).astype(np.int32))


def _turned(first: NDArray[np.int64], before: Ints, kernel: Any) -> Waits:
    start, after = np.zeros(len(first), np.int64), np.empty(len(before), np.int32)
    kernel.successors(first, before, start, after)
    return Waits(np.diff(first).astype(np.int32), start, after)
