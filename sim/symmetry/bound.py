"""The lower bound of a folded schedule, from rank 0's promise; `sim.trace.metrics.lower_bound` gives the reasons."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints
from sim.schedule import NOTHING
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.renamings import Numbers
from sim.topology import Topology
from sim.trace.metrics import among, cut, distinct, groupings, quickest

Mask = NDArray[np.bool_]


def lower_bound(topology: Topology, schedule: FoldedSchedule, weight: float, *, block_by_block: bool = False) -> float:
    """No schedule that moves and adds blocks of `weight` bytes between the first n ranks can be faster, in seconds.

    With `block_by_block` bytes are added as `sim.trace.metrics.lower_bound` adds them, so both are the same bit by bit.
    """
    devices = np.array(topology.ranks[: schedule.n], np.int32)
    best = _latency_bound(topology, schedule, devices)
    for group in groupings(topology, devices):
        across = cut(topology, group)
        if across is None:
            continue
        traffic = _traffic(schedule, group[devices], len(across.into))
        seconds = [0.0]
        for blocks, capacity in ((traffic.enters, across.into), (traffic.leaves, across.out_of)):
            needed = _added(weight, int(blocks.max(initial=0)))[blocks] if block_by_block else blocks * weight
            with np.errstate(divide="ignore", invalid="ignore"):
                seconds.append(float(np.max(np.where(needed > 0, needed / capacity, 0.0))))
        if not schedule.promise.union:
            each = np.full(schedule.promise.blocks, weight)
            moved = math.fsum(traffic.messages * each) if block_by_block else int(traffic.messages.sum()) * weight
            seconds.append(float(moved / across.out_of.sum()))
        best = max(best, across.shortest + max(seconds) if max(seconds) > 0 else 0.0)
    return best


def _added(weight: float, most: int) -> Floats:
    """So many times a weight, added up one after the other; from none to `most`."""
    return np.concatenate([[0.0], np.cumsum(np.full(most, weight))])


class _Holders(NamedTuple):
    """Which groups hold which blocks: those of `everywhere` are in every group, for others there are pairs.

    A pair is `group * blocks + block`; every one is there once.
    """

    everywhere: Mask
    pairs: Numbers

    def per_block(self, groups: int) -> Numbers:
        """How many groups hold each block."""
        blocks = len(self.everywhere)
        return np.where(self.everywhere, groups, np.bincount(self.pairs % blocks, minlength=blocks))

    def per_group(self, groups: int, counted: Mask) -> Numbers:
        """How many of the blocks that count each group holds."""
        blocks = len(self.everywhere)
        alone = self.pairs[counted[self.pairs % blocks]] // blocks
        return np.bincount(alone, minlength=groups) + np.count_nonzero(self.everywhere & counted)


class _BlockCounts(NamedTuple):
    """Blocks that must enter and leave every group, and messages between groups, one block each."""

    enters: Numbers
    leaves: Numbers
    messages: Numbers
    """Of each block."""


class _Owed(NamedTuple):
    """Rank 0's due: blocks, and whether all ranks are summed, else the one contributor.

    `same` says for each block whether all who are owed it are owed the same.
    """

    block: Numbers
    whole: Mask
    contributor: Numbers
    same: Mask


def _traffic(schedule: FoldedSchedule, group: Numbers, groups: int) -> _BlockCounts:
    """What the promise moves between groups; `group[r]` is rank r's."""
    owed = _owed(schedule)
    gives = _holders(schedule, schedule.promise.given[0][schedule.promise.given[0] != NOTHING], group)
    takes = _holders(schedule, owed.block, group)
    givers, takers = gives.per_block(groups), takes.per_block(groups)
    both = _both(gives, takes, groups)
    every = np.ones(len(owed.same), np.bool_)
    messages = np.where(owed.same & (takers > 0), np.maximum(0, givers + takers - 1 - (both > 0)), 0)
    enters = takes.per_group(groups, every) - _at_home(schedule, owed, takes, group, groups)
    leaves = _leaving(gives, takes, owed.same, takers, groups)
    return _BlockCounts(enters, leaves, messages)


def _owed(schedule: FoldedSchedule) -> _Owed:
    promise, symmetry = schedule.promise, schedule.symmetry
    due = promise.owed[0] != NOTHING
    block, first = promise.owed[0][due].astype(np.int64), promise.first[0][due].astype(np.int64)
    whole = (first == 0) & (promise.last[0][due] == schedule.n)
    front = symmetry.names.to_front(block)
    orbit = symmetry.names.turned(block, front)
    origin = np.where(whole, -1, symmetry.ranks.turned(first, front))
    alone = _orbit_size(schedule) == schedule.n
    lowest, highest = np.full(promise.blocks, schedule.n), np.full(promise.blocks, -2)
    np.minimum.at(lowest, orbit, origin)
    np.maximum.at(highest, orbit, origin)
    alike = (lowest == highest) & ((highest == -1) | alone)
    names = np.arange(promise.blocks)
    return _Owed(block, whole, first, alike[symmetry.names.turned(names, symmetry.names.to_front(names))])


def _orbit_size(schedule: FoldedSchedule) -> int:
    """How many blocks a block can be renamed to."""
    names = schedule.symmetry.names
    return int(np.prod([size for size, weight in set(zip(*names, strict=True)) if weight] or [1]))


def _holders(schedule: FoldedSchedule, blocks: Ints | Numbers, group: Numbers) -> _Holders:
    """Who holds the blocks that rank 0 holds, renamed."""
    names, count = schedule.symmetry.names, schedule.promise.blocks
    held = distinct(blocks.astype(np.int64), schedule.promise.blocks)
    orbit = names.turned(held, names.to_front(held))
    full = (np.bincount(orbit, minlength=count) == _orbit_size(schedule))[orbit]
    everywhere = np.zeros(count, np.bool_)
    everywhere[held[full]] = True
    ranks = np.arange(schedule.n).reshape(-1, 1)
    pairs = group.reshape(-1, 1) * count + names.turned(held[~full], ranks)
    return _Holders(everywhere, distinct(pairs.reshape(-1), (int(group.max()) + 1) * count))


def _both(gives: _Holders, takes: _Holders, groups: int) -> Numbers:
    """How many groups both hold each block at first and are owed it."""
    blocks = len(gives.everywhere)
    meeting = gives.pairs[among(gives.pairs, takes.pairs)]
    counts = np.bincount(meeting % blocks, minlength=blocks)
    counts += np.where(gives.everywhere, takes.per_block(groups), 0)
    return counts + np.where(takes.everywhere & ~gives.everywhere, gives.per_block(groups), 0)


def _at_home(schedule: FoldedSchedule, owed: _Owed, takes: _Holders, group: Numbers, groups: int) -> Numbers:
    """How many blocks every group is owed from its own ranks alone."""
    count, symmetry = schedule.promise.blocks, schedule.symmetry
    single = ~owed.whole
    origin = np.full(count, -1)
    steady = single & owed.same[owed.block] & takes.everywhere[owed.block]
    origin[owed.block[steady]] = group[owed.contributor[steady]]
    home = np.bincount(origin[origin >= 0], minlength=groups)
    ranks = np.arange(schedule.n).reshape(-1, 1)
    block = symmetry.names.turned(owed.block[single & ~steady], ranks)
    near = group[symmetry.ranks.turned(owed.contributor[single & ~steady], ranks)] == group.reshape(-1, 1)
    pairs = group.reshape(-1, 1) * count + block
    own, far = (distinct(pairs[which], groups * count) for which in (near, ~near))
    return home + np.bincount(own[~among(own, far)] // count, minlength=groups)


def _leaving(gives: _Holders, takes: _Holders, same: Mask, takers: Numbers, groups: int) -> Numbers:
    """How many blocks every group gives of which another is owed the same sum as all who are owed it."""
    blocks = len(same)
    elsewhere = gives.per_group(groups, same & (takers > 1))
    own = same & (takers == 1)
    alone = gives.pairs[own[gives.pairs % blocks]]
    keeps = among(alone, takes.pairs) | takes.everywhere[alone % blocks]
    elsewhere += np.bincount(alone[~keeps] // blocks, minlength=groups)
    shared = np.nonzero(own & gives.everywhere)[0]
    kept = takes.pairs[(own & gives.everywhere)[takes.pairs % blocks]] // blocks
    kept_everywhere = np.count_nonzero(own & gives.everywhere & takes.everywhere)
    return elsewhere + len(shared) - np.bincount(kept, minlength=groups) - kept_everywhere


def _latency_bound(topology: Topology, schedule: FoldedSchedule, devices: Ints) -> float:
    """The longest of the quickest ways from a few ranks to where their contributions are owed."""
    n, owed, best = schedule.n, _owed(schedule), 0.0
    back = schedule.symmetry.back(owed.contributor[~owed.whole])
    for source in sorted({0, n // 2, n - 1}):
        needed = np.full(n, bool(owed.whole.any()))
        needed[schedule.symmetry.ranks.turned(back, source)] = True
        needed[source] = False
        if needed.any():
            reach = quickest(topology, int(devices[source]))[devices]
            best = max(best, topology.overhead + float(reach[needed].max()))
    return best
