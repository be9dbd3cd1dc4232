"""Transfers of a folded schedule, written out for the ranks that somebody asks for, or found in what is written out.

What is known of rank 0's part holds for a schedule whose every transfer, and all that ranks hold and are owed, is the
renaming of rank 0's that it should be. To compare them takes a fraction of what it takes to prove or to order them.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints, each_once
from sim.base.ragged import take
from sim.schedule import NOTHING, Promise, Schedule
from sim.schedule.verify import Verdict
from sim.symmetry.edges import meet
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.renamings import PIECE, Numbers, renamed
from sim.topology import Topology
from sim.trace import Trace


class Moments(NamedTuple):
    """When transfers were ready, left, began to flow and ended, s, and how many bytes they are; a row each."""

    bytes: Floats
    ready: Floats
    left: Floats
    start: Floats
    end: Floats

    def of(self, rows: Numbers) -> "Moments":
        """Return those of some rows."""
        return Moments(*(column[rows] for column in self))


class Chosen(NamedTuple):
    """Transfers of a folded schedule: `klass[i]` is the i-th one's class, in order, `rank[i]` its sender.

    `cause[i]` is the row that the i-th waited for last, or -1.
    """

    klass: Numbers
    rank: Numbers
    cause: Numbers


def written(
    topology: Topology, schedule: FoldedSchedule, verdict: Verdict, size: float, rows: Chosen, moments: Moments
) -> Trace:
    """Return the trace that has just these transfers, between devices of the whole machine."""
    devices = np.array(topology.ranks[: schedule.n], np.int32)
    chosen = _schedule(schedule, rows)
    pair, route = np.unique(chosen.src.astype(np.int64) * schedule.n + chosen.dst, return_inverse=True)
    routes = topology.routes(devices[pair // schedule.n], devices[pair % schedule.n])
    return Trace(
        topology=topology,
        schedule=chosen,
        verdict=verdict,
        size=size,
        began=0.0,
        ended=float(moments.end.max(initial=0.0)),
        bytes=moments.bytes,
        route=route.astype(np.int32),
        routes=routes,
        ready=moments.ready,
        left=moments.left,
        start=moments.start,
        end=moments.end,
        cause=rows.cause.astype(np.int32),
    )


def _schedule(schedule: FoldedSchedule, rows: Chosen) -> Schedule:
    """The chosen transfers with the names that their own ranks have; they promise nothing."""
    one, symmetry = schedule.one, schedule.symmetry
    receiver = symmetry.ranks.turned(rows.rank, schedule.turn[rows.klass])
    moves, move = take(one.moves.astype(np.int64), np.arange(len(one.from_slot)), rows.klass)
    width = np.diff(moves)
    return Schedule(
        name=schedule.name,
        n=schedule.n,
        slots=one.slots,
        promise=None,
        unit_share=schedule.unit_share,
        steps=one.steps,
        step_start=np.searchsorted(rows.klass, one.step_start).astype(np.int64),
        op=one.op[rows.klass],
        src=rows.rank.astype(np.int32),
        dst=receiver.astype(np.int32),
        channel=one.channel[rows.klass],
        moves=moves,
        from_slot=symmetry.places.turned(one.from_slot[move], np.repeat(rows.rank, width)).astype(np.int32),
        to_slot=symmetry.places.turned(one.to_slot[move], np.repeat(receiver, width)).astype(np.int32),
        phases=one.phases,
    )


def promise_of(schedule: FoldedSchedule, ranks: Numbers) -> Promise:
    """Return what some ranks hold at first and are owed, by their own names, as if nobody else took part."""
    symmetry, row = schedule.symmetry, schedule.promise
    laid = row.given.shape[1]
    place = symmetry.places.turned(np.arange(laid).reshape(-1, 1), ranks).T
    columns = []
    for held in (row.given[0], row.owed[0]):
        table = np.full((len(ranks), laid), NOTHING, np.int32)
        names = np.where(held < 0, NOTHING, symmetry.names.turned(np.maximum(held, 0), ranks.reshape(-1, 1)))
        np.put_along_axis(table, place, names.astype(np.int32), axis=1)
        columns.append(table)
    held_first, held_last = columns
    first, last = (np.repeat(np.minimum(column, len(ranks)), len(ranks), axis=0) for column in (row.first, row.last))
    return replace(row, given=held_first, owed=held_last, first=first, last=last)


def is_whole(part: FoldedSchedule, schedule: Schedule) -> bool:
    """Return whether a schedule is rank 0's part and all its renamings, transfer by transfer, and so is its promise."""
    one, promise = part.one, schedule.promise
    if promise is None or schedule.switches or schedule.flaw:
        return False
    if (schedule.n, schedule.transfers, schedule.steps) != (part.n, part.transfers, part.steps):
        return False
    if schedule.fixed_bytes is not None or schedule.work is not None:
        return False
    return (
        bool((schedule.step_start == one.step_start * part.n).all())
        and _same_ends(part, schedule)
        and _same_slots(part, schedule)
        and promises_alike(part, promise)
    )


def _same_ends(part: FoldedSchedule, schedule: Schedule) -> bool:
    """Whether ranks send in their order, on the channels and to the receivers that the part says.

    Of transfers that come again in a run the first ones are looked at, and the part's classes beside each other.
    """
    n, one, ranks = part.n, part.one, np.arange(part.n)
    columns: tuple[tuple[NDArray[Any], NDArray[Any]], ...] = ((schedule.channel, one.channel), (schedule.op, one.op))
    step = max(1, PIECE // n)
    for run in schedule.runs:
        if run.first % n or run.length % n:
            return False
        first, stop, length = run.first // n, run.stop // n, run.length // n
        for of_rank_0 in (part.turn, one.channel, one.op):
            again = of_rank_0[first:stop].reshape(run.often, length)
            if (again != again[:1]).any():
                return False
        for k in range(first, first + length, step):
            some = slice(k, min(k + step, first + length))
            rows = slice(some.start * n, some.stop * n)
            due = renamed(part.symmetry.ranks, part.turn[some].reshape(-1, 1), ranks)
            differs = (schedule.src[rows].reshape(-1, n) != ranks) | (schedule.dst[rows].reshape(-1, n) != due)
            for column, of_rank_0 in columns:
                differs |= column[rows].reshape(-1, n) != of_rank_0[some].reshape(-1, 1)
            if differs.any():
                return False
    return True


def _same_slots(part: FoldedSchedule, schedule: Schedule) -> bool:
    """Whether every message reads and fills the slots that rank 0's does, by its own ranks' names, in any order."""
    n, one, places = part.n, part.one, part.symmetry.places
    width = np.diff(one.moves).astype(np.int64)
    if len(schedule.from_slot) != n * len(one.from_slot):
        return False
    if not (one.single and schedule.single) and (np.diff(schedule.moves).reshape(-1, n) != width.reshape(-1, 1)).any():
        return False
    filled = places.turned(one.to_slot, np.repeat(part.turn, width)).astype(np.int32)  # by the names of its sender
    columns: list[tuple[Ints, Ints]] = [(schedule.from_slot, one.from_slot), (schedule.to_slot, filled)]
    if schedule.to_slot is schedule.from_slot and (filled == one.from_slot).all():
        del columns[1]
    changes = np.flatnonzero(np.diff(width, prepend=-1, append=-1))
    for first, stop in zip(changes[:-1].tolist(), changes[1:].tolist(), strict=True):
        wide = int(width[first])
        step = max(1, PIECE // (n * max(1, wide)))
        for k in range(first, stop if wide else first, step):
            few = slice(int(one.moves[k]), int(one.moves[min(k + step, stop)]))
            rows = slice(few.start * n, few.stop * n)
            some = [(slots[rows], of_rank_0[few]) for slots, of_rank_0 in columns]
            if not _same_moves(some, part, wide, schedule.slots):
                return False
    return True


def _same_moves(columns: list[tuple[Ints, Ints]], part: FoldedSchedule, wide: int, slots: int) -> bool:
    """Whether messages of some classes, which carry `wide` slots each, read and fill those of rank 0's, renamed.

    `columns` are the slots that are read and filled, of all ranks and of rank 0, or one for both.
    """
    n, ranks = part.n, np.arange(part.n).reshape(1, -1, 1)
    said = [written.reshape(-1, n, wide) for written, _ in columns]
    due = [renamed(part.symmetry.places, few.reshape(-1, 1, wide), ranks).view(np.int32) for _, few in columns]
    differs = np.zeros(len(said[0]), np.bool_)
    for written, names in zip(said, due, strict=True):
        differs |= (written != names).any(axis=(1, 2))
    if not differs.any():
        return True
    if wide == 1 or max(int(names.max()) for names in due) >= slots:
        return False
    begin = ranks[0] * slots
    fills = np.full(n * slots, NOTHING, np.int32)
    for k in np.flatnonzero(differs).tolist():  # in an order of their own
        read, expected = said[0][k] + begin, due[0][k] + begin
        if len(each_once(columns[0][1].reshape(-1, wide)[k])) < wide:
            return False
        fills[expected] = due[-1][k]
        if (fills[read] != said[-1][k]).any():
            return False
        fills[read] = NOTHING
        if (fills[expected] != NOTHING).any():
            return False
    return True


def promises_alike(part: FoldedSchedule, promise: Promise) -> bool:
    """Return whether every rank has and is owed what rank 0 is, by its own names."""
    row, n = part.promise, part.n
    if promise.given.shape != (n, row.given.shape[1]) or (promise.blocks, promise.union) != (row.blocks, row.union):
        return False
    owed, first, last = row.owed[0], row.first[0], row.last[0]
    whole = (first == 0) & (last == n)
    if not (whole | (last == first + 1))[owed != NOTHING].all():
        return False
    held = [(row.given[0], promise.given), (owed, promise.owed)]
    held = [(of_rank_0, table) for of_rank_0, table in held if not _same_for_all(part, of_rank_0, table)]
    due, everyone = promise.owed != NOTHING, bool(whole[owed != NOTHING].all())
    if everyone and (((promise.first != 0) & due).any() or ((promise.last != n) & due).any()):
        return False
    sums = [] if everyone else [(first, promise.first), (last - 1, promise.last - 1)]
    step = max(1, PIECE // max(1, len(owed)))
    return all(
        _rows_alike(part, slice(k, min(k + step, n)), held, sums, whole, due)
        for k in range(0, n if held or sums else 0, step)
    )


def _same_for_all(part: FoldedSchedule, of_rank_0: Ints, table: Ints) -> bool:
    """Whether ranks hold the same blocks, and should, as all is called what it lies in or there is none."""
    symmetry, laid = part.symmetry, len(of_rank_0)
    in_place = laid == symmetry.places.total and (of_rank_0 == np.arange(laid)).all()
    in_place = in_place and all(map(np.array_equal, symmetry.names, symmetry.places))
    return bool((in_place or (of_rank_0 == NOTHING).all()) and (table == of_rank_0).all())


def _rows_alike(
    part: FoldedSchedule,
    rows: slice,
    held: list[tuple[Ints, Ints]],
    sums: list[tuple[Ints, Ints]],
    whole: NDArray[np.bool_],
    due: NDArray[np.bool_],
) -> bool:
    """Whether some ranks have the blocks of rank 0, and where they are due the sums, each with all ranks' table."""
    symmetry, laid, ranks = part.symmetry, due.shape[1], np.arange(rows.start, rows.stop).reshape(-1, 1)
    at = renamed(symmetry.places, np.arange(laid), symmetry.back(ranks)).astype(np.int64)
    if at.max(initial=0) >= laid:
        return False
    at += np.arange(len(ranks)).reshape(-1, 1) * laid
    for of_rank_0, table in held:
        names = renamed(symmetry.names, np.maximum(of_rank_0, 0), ranks).view(np.int32)
        if (table[rows] != np.where(of_rank_0 < 0, NOTHING, names).reshape(-1)[at]).any():
            return False
    for of_rank_0, table in sums:
        names = renamed(symmetry.ranks, np.maximum(of_rank_0, 0), ranks).view(np.int32)
        if ((table[rows] != np.where(whole, of_rank_0, names).reshape(-1)[at]) & due[rows]).any():
            return False
    return True


def cause_senders(schedule: FoldedSchedule, later: Numbers, earlier: Numbers) -> Numbers:
    """Return whose transfer of class `earlier[i]` rank 0's of class `later[i]` waits for.

    Two transfers of rank 0 meet in a slot that one reads and the other fills, at the rank that has both; where they
    meet in none, an order of steps made one wait, and the sender is the same.
    """
    one, symmetry, turn = schedule.one, schedule.symmetry, schedule.turn
    onward, back = turn[later], symmetry.back(turn[earlier])
    sender = np.zeros(len(later), np.int64)
    for own, other, renaming in (
        (one.to_slot, one.from_slot, onward),
        (one.to_slot, one.to_slot, symmetry.ranks.turned(onward, back)),
        (one.from_slot, one.to_slot, back),
    ):
        sender = np.where(meet(one, own, later, other, earlier), renaming, sender)
    return sender


def chain(schedule: FoldedSchedule, path: Numbers, rank: int, sender: Numbers) -> Chosen:
    """Return the transfers of a critical path that ends at a transfer which `rank` sends.

    `path` are its classes in order; rank 0's transfer of class `path[k + 1]` waits for that of rank `sender[k]`.
    """
    ranks = schedule.symmetry.ranks.turned_in_a_row(rank, sender[::-1])[::-1]
    return Chosen(path, ranks, np.arange(-1, len(path) - 1))


def exchanged(schedule: FoldedSchedule, ranks: Numbers) -> tuple[Numbers, Numbers]:
    """Return class and sender of every transfer that some ranks send or receive, in the order of both."""
    turn = schedule.turn.reshape(-1, 1)
    senders = np.concatenate(
        [
            np.broadcast_to(ranks, (len(turn), len(ranks))),
            schedule.symmetry.ranks.turned(ranks, schedule.symmetry.back(turn)),
        ],
        axis=1,
    )
    return np.divmod(each_once(np.arange(len(turn)).reshape(-1, 1) * schedule.n + senders), schedule.n)


def with_causes(schedule: FoldedSchedule, klass: Numbers, rank: Numbers, cause: Numbers, sender: Numbers) -> Chosen:
    """Return transfers with their causes: class `cause[i]`, or -1, sent by `sender[i]`, where that is a row, too."""
    key, sought = klass * schedule.n + rank, cause * schedule.n + sender
    at = np.minimum(np.searchsorted(key, sought), len(key) - 1)
    return Chosen(klass, rank, np.where((cause >= 0) & (key[at] == sought), at, -1))
