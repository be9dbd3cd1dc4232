"""What the transfers of a folded schedule wait for: classes, and by which renaming their senders differ."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Ints, blank
from sim.base.ragged import offsets_of, ranges, take
from sim.schedule import Schedule
from sim.schedule.dependencies import Waits
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.renamings import PIECE, Numbers, renamed

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
    """All of them, those of `sim.schedule.dependencies.derive`; None where there are too many."""
    parts = _meetings(schedule)
    if parts is None:
        return None
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


def waits(part: FoldedSchedule, schedule: Schedule) -> Waits | None:
    """Return what every transfer of a schedule waits for, which `is_whole`, as `dependencies.derive` does.

    None where ranks block in a way that the part does not, or classes wait for too many.
    """
    if part.ordered != (schedule.after is not None):
        return None
    if schedule.after is not None and max(int(end.max(initial=-1)) for end in schedule.after) >= schedule.transfers:
        return None  # marks have rows of their own
    every = edges(part)
    if every is None or len(every.earlier) * part.n >= 1 << 31:
        return None
    n, classes = part.n, part.classes
    each = np.bincount(every.earlier, minlength=classes)
    edge = offsets_of(each)
    start = blank(part.transfers + 1, np.int64)
    rows = start[:-1].reshape(classes, n)
    np.multiply(each.reshape(-1, 1), np.arange(n), out=rows)
    rows += edge[:-1].reshape(-1, 1) * n
    start[-1] = edge[-1] * n
    after = blank(len(every.earlier) * n, np.int32)
    changes = np.flatnonzero(np.diff(each, prepend=-1, append=-1))
    for first, stop in zip(changes[:-1].tolist(), changes[1:].tolist(), strict=True):
        wide = int(each[first])
        step = max(1, PIECE // (n * max(1, wide)))
        for k in range(first, stop if wide else first, step):
            few = slice(int(edge[k]), int(edge[min(k + step, stop)]))
            later = _successors(part, ClassWaits(*(column[few] for column in every)))
            some = after[few.start * n : few.stop * n].reshape(-1, n, wide)
            some[...] = later.reshape(-1, wide, n).transpose(0, 2, 1)
    pending = blank(part.transfers, np.int32)
    pending.reshape(classes, n)[...] = np.bincount(every.later, minlength=classes).reshape(-1, 1)
    return Waits(pending, start, after)


def _successors(part: FoldedSchedule, some: ClassWaits) -> Ints:
    """Of every rank's transfer the one that waits for it, a row per wait; those of one class in order for each rank."""
    ranks = np.arange(part.n)
    later = renamed(part.symmetry.ranks, some.renaming.reshape(-1, 1), ranks).view(np.int32)
    later += (some.later * part.n).astype(np.int32).reshape(-1, 1)
    again = (np.diff(some.earlier) == 0) & (np.diff(some.later) == 0)
    if again.any():
        place = _place_in_group(again)
        for turn in range(int(place.max()) + 1):  # neighbours change places until all are in order
            high = np.flatnonzero((place > 0) & (place % 2 == turn % 2))
            low, top = np.minimum(later[high - 1], later[high]), np.maximum(later[high - 1], later[high])
            later[high - 1], later[high] = low, top
    return later


def _place_in_group(again: NDArray[np.bool_]) -> Numbers:
    """For each of some rows its place among those that are alike; `again[i]` says that row i + 1 is as row i."""
    number = np.arange(len(again) + 1)
    first = np.concatenate([[True], ~again])
    return number - np.maximum.accumulate(np.where(first, number, 0))


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


def _meetings(schedule: FoldedSchedule) -> list[ClassWaits] | None:
    """Where transfers of two classes meet in a slot, written and read, read and written, or written twice.

    A slot is read as it was last written, by all who wrote it in one step. It is written again after them, and after
    all who have read it since, or in that step.
    """
    one, symmetry, every = schedule.one, schedule.symmetry, schedule.one.steps + 1
    owner = one.transfer_of.astype(np.int64)
    reads, writes = (slot * np.int64(every) + one.step_of[owner] for slot in (one.from_slot, one.to_slot))
    readers, writers = (np.argsort(keys, kind="stable") for keys in (reads, writes))
    reads_in_order, writes_in_order = reads[readers], writes[writers]
    met = []
    for keys, name in ((reads, "read"), (writes, "written twice")):
        stop = np.searchsorted(writes_in_order, keys)
        last = writes_in_order[np.maximum(stop - 1, 0)]
        written = (stop > 0) & (last // every == keys // every)
        last = np.where(written, last, keys // every * every)
        met.append((name, writers, np.where(written, np.searchsorted(writes_in_order, last), stop), stop))
        if keys is writes:
            begin, end = np.searchsorted(reads_in_order, last), np.searchsorted(reads_in_order, keys)
            met.append(("written", readers, begin, end))
    if sum(float((stop - start).sum()) for *_, start, stop in met) > MOST:
        return None
    edges = []
    for kind, others, start, stop in met:
        earlier, later = owner[others[ranges(start, stop - start)]], np.repeat(owner, stop - start)
        sent, back = schedule.turn[earlier], symmetry.back(schedule.turn[later])
        renaming = {"read": sent, "written": back}.get(kind)
        edges.append(ClassWaits(earlier, later, symmetry.ranks.turned(sent, back) if renaming is None else renaming))
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
