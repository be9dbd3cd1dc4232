"""Program order: ranks that block, each at one step at a time, as in an MPI library."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.ragged import ranges
from sim.schedule.dependencies import distinct
from sim.schedule.model import Schedule


class _Turns(NamedTuple):
    """Turn i is what one rank does in one step: transfers `members[start[i]:start[i] + size[i]]`.

    Turns of a rank stand in the order of their steps; `previous[i]` is the size of the one before, 0 for its first.
    """

    members: NDArray[np.int64]
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    previous: NDArray[np.int64]


def in_rank_order(schedule: Schedule, *, by_channel: bool = False) -> Schedule:
    """The same schedule with blocking ranks: each finishes its part of one step before its part of the next.

    A rank's part is all it sends and receives in that step, so a message also waits for its receiver to be
    free, as a rendezvous does. Ranks do not wait for each other otherwise. `by_channel` lets every channel of a
    rank block on its own.

    A binomial tree of four ranks has three transfers, 0 -> 2 in its first step, 0 -> 1 and 2 -> 3 in its second. Rank 0
    takes part in transfers 0 and 1, rank 2 in 0 and 2; so both later ones wait for the first:

    >>> from sim.schedule import copy, unroll
    >>> tree = unroll([copy(0, 2, slot=0), copy([0, 2], [1, 3], slot=0)], name="tree", n=4, promise=None)
    >>> before, after = in_rank_order(tree).after
    >>> before.tolist(), after.tolist()
    ([0, 0], [1, 2])

    Where a turn of five follows a turn of five, a mark between them (a row that takes no time) needs five pairs on
    either side instead of twenty-five. Rank 0 sends to five ranks twice; each of those has a pair of its own:

    >>> twice = unroll([copy(0, range(1, 6), slot=0)] * 2, name="twice", n=6, promise=None)
    >>> before, after = in_rank_order(twice).after
    >>> mark = twice.transfers
    >>> (after == mark).sum(), (before == mark).sum(), len(before)
    (np.int64(5), np.int64(5), 15)
    """
    turns = _turns(schedule, by_channel=by_channel)
    marked = turns.previous * turns.size > 2 * (turns.previous + turns.size)
    mark = schedule.transfers - 1 + np.cumsum(marked)
    turn = np.repeat(np.arange(len(turns.size)), turns.size)  # of every member
    members, opens, closes = turns.members, marked[turn], np.append(marked[1:], False)[turn]
    waits = np.where(marked, 0, turns.previous)[turn]
    earlier = members[ranges((turns.start - turns.previous)[turn], waits)]
    before = np.concatenate([earlier, members[closes], mark[turn[opens]]])
    after = np.concatenate([np.repeat(members, waits), mark[turn[closes] + 1], members[opens]])
    return replace(schedule, after=distinct(before, after, schedule.transfers + int(marked.sum())))


def _turns(schedule: Schedule, *, by_channel: bool) -> _Turns:
    """All turns. A message belongs to one of its sender and one of its receiver, a local transfer to one."""
    away = np.nonzero(schedule.src != schedule.dst)[0]
    members = np.concatenate([np.arange(schedule.transfers), away])
    key = np.concatenate([schedule.src, schedule.dst[away]]).astype(np.int64)
    if by_channel:
        key = key * (int(schedule.channel.max(initial=0)) + 1) + schedule.channel[members]
    key = key * schedule.steps + schedule.step_of[members]
    order = np.argsort(key, kind="stable")
    in_order = key[order]
    start = np.flatnonzero(np.diff(in_order, prepend=-1))
    keys, size = in_order[start], np.diff(start, append=len(in_order))
    follows = np.diff(keys // max(schedule.steps, 1), prepend=-1) == 0
    return _Turns(members[order], start, size, np.where(follows, np.concatenate([[0], size[:-1]]), 0))
