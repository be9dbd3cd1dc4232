"""Transfers that are not written down: all ranks do alike, so a class of transfers says what each of them is.

Transfer (k, r) is the one of class k that rank r sends. Its row is there from the first moment something it waits for
has ended until it and all others of its class have: a block of rows, one per rank, that later classes use again. So
memory grows with what is under way, not with the schedule.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.base.compiled import helper
from sim.fabric.calendar import BEGIN, NODES, push
from sim.fabric.links import NONE

WIDTH, FREE, SOON, LOGGED, LACKING = range(5)
"""Entries of `Alike.count`: ranks, or 0 where all transfers are written down; blocks that are free; classes without a
block that wait for one with a block; entries of the log; blocks that were wanted and not there."""

AWAITING = -2

Array = Any


class Alike(NamedTuple):
    """What the transfers of each class are, and the blocks of rows that classes under way have."""

    count: Array
    """`WIDTH` to `LACKING`."""
    class_of: Array
    """Per block: its class."""
    left: Array
    """Per block: how many of its transfers have not ended."""
    free: Array
    """Blocks that are free, the first `FREE` of it."""
    block_of: Array
    """Per class, as all up to `after_start`: its block, NONE, or AWAITING where it waits for a class that has one."""
    waits: Array
    """How many transfers each of its transfers waits for."""
    op: Array
    size: Array
    route: Array
    """The route of rank 0's; rank r's is r further."""
    connection: Array
    """The connection of rank 0's; rank r's is r further. NONE where no other class has the same."""
    after_start: Array
    after: Array
    """Classes that wait for class k: `after[after_start[k]:after_start[k + 1]]`, and beside each whose transfers."""
    shift: Array
    """Rank r's transfer is awaited by that of rank `peer[shift, r]`."""
    peer: Array
    watched: Array
    """Per route: whether it is kept when its transfers began and ended."""
    log: Array
    """Number `k * width + r` of each transfer that is kept."""
    log_start: Array
    log_end: Array


def nothing_alike() -> Alike:
    """For a fabric whose transfers are all written down."""
    ints, wide, floats = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0)
    return Alike(
        count=np.zeros(5, np.int64),
        **dict.fromkeys(("class_of", "left", "free", "block_of", "waits"), ints),
        **dict.fromkeys(("route", "connection", "after", "shift"), ints),
        **dict.fromkeys(("op", "watched"), np.zeros(0, np.uint8)),
        **dict.fromkeys(("after_start", "log"), wide),
        **dict.fromkeys(("size", "log_start", "log_end"), floats),
        peer=np.zeros((0, 0), np.int32),
    )


@helper
def open_block(fabric, k):
    """Give a class its block of rows; returns its first row, or NONE where there is no block."""
    alike = fabric.alike
    alike.count[SOON] -= alike.block_of[k] == AWAITING
    if alike.count[FREE] == 0:
        alike.count[LACKING] += 1
        return np.int64(NONE)
    alike.count[FREE] -= 1
    block = alike.free[alike.count[FREE]]
    width = alike.count[WIDTH]
    alike.class_of[block] = k
    alike.block_of[k] = block
    alike.left[block] = width
    for e in range(alike.after_start[k], alike.after_start[k + 1]):
        if alike.block_of[alike.after[e]] == NONE:
            alike.block_of[alike.after[e]] = AWAITING
            alike.count[SOON] += 1
    first = np.int64(block) * width
    waits, size, route, op, connection = alike.waits[k], alike.size[k], alike.route[k], alike.op[k], alike.connection[k]
    for r in range(width):
        fabric.pending[first + r] = waits
        fabric.size[first + r] = size
        fabric.route[first + r] = route + r
        fabric.connection[first + r] = connection + r if connection != NONE else NONE
        fabric.behind[first + r] = NONE
        fabric.op[first + r] = op
    return first


@helper
def launch_alike(fabric, time):
    """Start the transfers of all classes that wait for nothing."""
    alike = fabric.alike
    for k in range(len(alike.waits)):
        if alike.waits[k] == 0:
            first = open_block(fabric, k)
            if first == NONE:
                return
            for i in range(first, first + alike.count[WIDTH]):
                push(fabric.calendar, time + fabric.lead[fabric.route[i]], BEGIN, i)


@helper
def release_alike(fabric, i, moment):
    """Let go what waits for a transfer that has ended; its block is free when all of its class have."""
    alike = fabric.alike
    width = alike.count[WIDTH]
    block = i // width
    r = i - block * width
    k = alike.class_of[block]
    if alike.watched[fabric.route[i]]:
        at = alike.count[LOGGED]
        alike.log[at] = np.int64(k) * width + r
        alike.log_start[at] = fabric.start[i]
        alike.log_end[at] = moment
        alike.count[LOGGED] = at + 1
    for e in range(alike.after_start[k], alike.after_start[k + 1]):
        later = np.int64(alike.after[e])
        first = np.int64(alike.block_of[later]) * width
        if first < 0:
            first = open_block(fabric, later)
            if first == NONE:
                return
        j = first + alike.peer[alike.shift[e], r]
        fabric.pending[j] -= 1
        if fabric.pending[j] == 0:
            push(fabric.calendar, moment + fabric.lead[fabric.route[j]], BEGIN, j)
    alike.left[block] -= 1
    if alike.left[block] == 0:
        alike.free[alike.count[FREE]] = block
        alike.count[FREE] += 1


@helper
def blocks_are_short(fabric):
    """Whether the next wave might want more blocks than are free, or more of the calendar than there is."""
    count = fabric.alike.count
    if count[WIDTH] == 0:
        return False
    return count[FREE] < count[SOON] or count[LACKING] > 0 or calendar_is_short(fabric)


@helper
def calendar_is_short(fabric):
    """Whether one wave's entries might find no room in the calendar.

    In a wave a row begins or ends, and is given out again and begins; a group of links, of which there are no more than
    links, has a completion when it is solved and one when it is not. What was expected of groups that have been solved
    anew since stays in the calendar until its moment, so that rows alone are no bound of the whole.
    """
    wave = 2 * (len(fabric.op) + len(fabric.net.capacity))
    return fabric.calendar.size[NODES] + wave > len(fabric.calendar.nodes)
