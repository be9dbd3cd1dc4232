"""What the transfers of a folded schedule wait for: classes, and by which renaming their senders differ."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Ints
from sim.base.ragged import ranges, take
from sim.schedule import Schedule, dependencies
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.renamings import Numbers

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


def without_detours(schedule: FoldedSchedule, waits: ClassWaits) -> ClassWaits:
    """The same less those that others imply: what a transfer's newest wait has waited for, and that in turn, has ended.

    In a ring a slot is written again by what has travelled all the way round since it was read.
    """
    turned, (before, by) = schedule.symmetry.ranks.turned, _newest(schedule, waits)
    depth = depths(schedule, waits)
    at, renaming = waits.later, np.zeros(len(waits.later), np.int64)
    newest = (before[waits.later] == waits.earlier) & (by[waits.later] == waits.renaming)
    steps = np.maximum(0, depth[waits.later] - depth[waits.earlier])
    while steps.any():
        odd = steps & 1 == 1
        renaming = np.where(odd, turned(renaming, by[at]), renaming)
        at, steps = np.where(odd, before[at], at), steps >> 1
        before, by = before[before], turned(by, by[before])
    implied = (at == waits.earlier) & (renaming == waits.renaming) & ~newest
    return ClassWaits(*(column[~implied] for column in waits))


def depths(schedule: FoldedSchedule, waits: ClassWaits) -> Numbers:
    """How many transfers of every class's have ended before it, each the newest that the next waits for."""
    before, _ = _newest(schedule, waits)
    depth: Numbers = (before != np.arange(schedule.classes)).astype(np.int64)
    while (before[before] != before).any():
        depth += depth[before]
        before = before[before]
    return depth


def side_by_side(schedule: FoldedSchedule) -> int:
    """How many of a rank's transfers are under way at once, or wait for some that are not, if all took equally long."""
    every = edges(schedule)
    if every is None:
        return schedule.classes
    waits = without_detours(schedule, every)
    depth = depths(schedule, waits)
    since = depth.copy()
    since[waits.later[::-1]] = depth[waits.earlier[::-1]] + 1  # of several the first, whose class is lowest
    length = int(depth.max(initial=0)) + 2
    come = np.bincount(np.minimum(since, depth), minlength=length)
    return int(np.cumsum(come - np.bincount(depth + 1, minlength=length)).max())


def _newest(schedule: FoldedSchedule, waits: ClassWaits) -> tuple[Numbers, Numbers]:
    """Of every class the class it waits for that is highest, and the renaming; itself where it waits for none."""
    before, by = np.arange(schedule.classes), np.zeros(schedule.classes, np.int64)
    before[waits.later], by[waits.later] = waits.earlier, waits.renaming  # of several the last, whose class is highest
    return before, by


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
