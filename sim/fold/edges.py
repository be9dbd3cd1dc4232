"""What the transfers of a folded schedule wait for: classes, and by which renaming their senders differ."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Ints
from sim.base.ragged import ranges, take
from sim.fold.folded import FoldedSchedule
from sim.fold.symmetry import Numbers
from sim.schedule import Schedule, dependencies

MOST = 1 << 26
"""Pairs of classes that are looked at."""


class ClassWaits(NamedTuple):
    """Rank r's transfer of class `later[e]` waits for one of class `earlier[e]`.

    That is the one whose sender `renaming[e]` renames to r. Sorted by `earlier`; none is there twice.
    """

    earlier: Numbers
    later: Numbers
    renaming: Numbers


def edges(schedule: FoldedSchedule) -> ClassWaits | None:
    """All of them; None where there are too many."""
    waits = dependencies.derive(replace(schedule.one, after=None))
    earlier = np.repeat(np.arange(waits.rows), np.diff(waits.start))
    parts = list(_meetings(schedule, earlier, waits.after.astype(np.int64)))
    if schedule.ordered:
        turns = _turns(schedule)
        if turns is None:
            return None
        parts += turns
    earlier, later, renaming = (np.concatenate(column) for column in zip(*parts, strict=True))
    if float(schedule.classes) ** 2 * schedule.n >= 1 << 62:
        return None
    key = np.sort((earlier * schedule.classes + later) * schedule.n + renaming)
    pair, renaming = np.divmod(key[np.diff(key, prepend=-1) > 0], schedule.n)
    return ClassWaits(*np.divmod(pair, schedule.classes), renaming)


def without_detours(schedule: FoldedSchedule, waits: ClassWaits, most: int) -> ClassWaits:
    """The same less those that others imply: what a transfer's newest wait has waited for, and that in turn, has ended.

    In a ring a slot is written again by what has travelled all the way round since it was read. To look at a wait may
    take as many looks as there are classes; where they come to more than `most`, the rest stays.
    """
    newest = np.full(schedule.classes, -1, np.int64)
    newest[waits.later] = np.arange(len(waits.later))  # of several the last, whose class is the highest
    left = np.flatnonzero(newest[waits.later] != np.arange(len(waits.later)))
    at, by = waits.earlier[newest[waits.later[left]]], waits.renaming[newest[waits.later[left]]]
    implied = np.zeros(len(waits.later), np.bool_)
    looks = 0
    while len(left) and looks + len(left) <= most:
        looks += len(left)
        edge = newest[at]
        onward = (at > waits.earlier[left]) & (edge >= 0)
        left, by, edge = left[onward], by[onward], edge[onward]
        at, by = waits.earlier[edge], schedule.symmetry.ranks.turned(by, waits.renaming[edge])
        implied[left[(at == waits.earlier[left]) & (by == waits.renaming[left])]] = True
    return ClassWaits(*(column[~implied] for column in waits))


def _meetings(schedule: FoldedSchedule, earlier: Numbers, later: Numbers) -> list[ClassWaits]:
    """Where transfers of two classes meet in a slot, read and written, written twice, or written and read."""
    one, symmetry = schedule.one, schedule.symmetry
    sent, back = schedule.turn[earlier], symmetry.back(schedule.turn[later])
    edges = []
    for own, other, renaming in (
        (one.from_slot, one.to_slot, sent),
        (one.to_slot, one.to_slot, symmetry.ranks.turned(sent, back)),
        (one.to_slot, one.from_slot, back),
    ):
        met = meet(one, own, later, other, earlier)
        edges.append(ClassWaits(earlier[met], later[met], renaming[met]))
    return edges


def _turns(schedule: FoldedSchedule) -> list[ClassWaits] | None:
    """What ranks that block add: all that a rank sends and receives in a step waits for all of its step before.

    A message is its sender's and its receiver's, and so waits for both.
    """
    sizes = np.diff(schedule.one.step_start)
    starts, sizes = schedule.one.step_start[:-1][sizes > 0], sizes[sizes > 0]
    if float(sizes[1:] @ sizes[:-1]) > MOST:
        return None
    later = np.arange(starts[1] if len(starts) > 1 else schedule.classes, schedule.classes)
    before = np.repeat(sizes[:-1], sizes[1:])
    earlier = ranges(np.repeat(starts[:-1], sizes[1:]), before)
    later = np.repeat(later, before)
    symmetry, none = schedule.symmetry, np.zeros(len(earlier), np.int64)
    sent, back = schedule.turn[earlier], symmetry.back(schedule.turn[later])
    renamings = none, sent, back, symmetry.ranks.turned(sent, back)
    return [ClassWaits(earlier, later, renaming) for renaming in renamings]


def meet(one: Schedule, own: Ints, late: Numbers, other: Ints, cause: Ints | Numbers) -> NDArray[np.bool_]:
    """For each of some transfers whether a slot of `own` is among those that its cause has in `other`.

    Slots of whichever has fewer are looked up among those of the other, as one may have thousands of its many causes.
    """
    width = np.diff(one.moves)
    narrower = width[late] <= width[cause]
    met = np.zeros(len(late), np.bool_)
    for which, few, rows, many, others in (
        (np.flatnonzero(narrower), own, late, other, cause),
        (np.flatnonzero(~narrower), other, cause, own, late),
    ):
        offsets, values = take(one.moves, few, rows[which])
        row = np.repeat(which, np.diff(offsets))
        keys = np.sort(one.transfer_of * np.int64(one.slots) + many)
        sought = others[row] * np.int64(one.slots) + values
        at = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
        met[row[keys[at] == sought]] = True
    return met
