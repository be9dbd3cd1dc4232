"""Transfers of a folded schedule, written out for the ranks that somebody asks for."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sim.base.arrays import Floats, each_once
from sim.base.ragged import take
from sim.schedule import NOTHING, Promise, Schedule
from sim.schedule.verify import Verdict
from sim.symmetry.edges import meet
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.renamings import Numbers
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
    ranks = np.empty(len(path), np.int64)
    ranks[-1] = rank
    for k in range(len(path) - 2, -1, -1):
        ranks[k] = schedule.symmetry.ranks.turned(ranks[k + 1], sender[k])
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
