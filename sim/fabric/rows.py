"""Transfers that are not written down: all ranks do alike, so a class of transfers says what each of them is.

Transfer (k, r) is the one of class k that rank r sends. It has a row from the first moment something it waits for has
ended until it has itself, and then the row is another's. So memory grows with what is under way, not with the schedule,
and stays where the processor has it at hand.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.base.compiled import helper
from sim.fabric.calendar import BEGIN, END, NODES, push
from sim.fabric.links import NONE

WIDTH, FREE, SOON, LOGGED, LACKING, LATE = range(6)
"""Entries of `Alike.count`: ranks, or 0 where all transfers are written down; rows that are free; rows that may be
wanted when those there are have ended; entries of the log; transfers whose end waits for free rows; entries of `late`.
"""
SPREAD = 2654435761
"""A prime by which classes are spread over places."""

Array = Any


class Alike(NamedTuple):
    """What the transfers of each class are, and who has which row."""

    count: Array
    """`WIDTH` to `LACKING`."""
    class_of: Array
    """Per row: its class."""
    rank_of: Array
    """Per row: its sender."""
    free: Array
    """Rows that are free, the first `FREE` of it."""
    place: Array
    """Per place, a power of two of them: the first row that stands there and still waits, or NONE."""
    beside: Array
    """Per row that still waits: the next one in the same place, or NONE."""
    waits: Array
    """Per class, as all up to `after_start`: how many transfers each of its transfers waits for."""
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
    held: Array
    """Per route: s before which nothing on it is ready, as one of its ranks is late."""
    late: Array
    """Numbers of the transfers that were ready no sooner for that."""


def nothing_alike() -> Alike:
    """For a fabric whose transfers are all written down."""
    ints, wide, floats = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0)
    return Alike(
        count=np.zeros(6, np.int64),
        **dict.fromkeys(("class_of", "rank_of", "free", "place", "beside", "waits"), ints),
        **dict.fromkeys(("route", "connection", "after", "shift"), ints),
        **dict.fromkeys(("op", "watched"), np.zeros(0, np.uint8)),
        **dict.fromkeys(("after_start", "log", "late"), wide),
        **dict.fromkeys(("size", "log_start", "log_end", "held"), floats),
        peer=np.zeros((0, 0), np.int32),
    )


@helper
def open_row(fabric, k, r):
    """Give rank r's transfer of class k a row, which must be free."""
    alike = fabric.alike
    alike.count[FREE] -= 1
    i = np.int64(alike.free[alike.count[FREE]])
    alike.count[SOON] += alike.after_start[k + 1] - alike.after_start[k]
    alike.class_of[i] = k
    alike.rank_of[i] = r
    fabric.pending[i] = alike.waits[k]
    fabric.size[i] = alike.size[k]
    fabric.route[i] = alike.route[k] + r
    fabric.connection[i] = alike.connection[k] + r if alike.connection[k] != NONE else NONE
    fabric.behind[i] = NONE
    fabric.op[i] = alike.op[k]
    return i


@helper
def waiting_row(fabric, k, r):
    """The row of rank r's transfer of class k, which waits for several; it gets one if it has none."""
    alike = fabric.alike
    at = (np.int64(k) * SPREAD + r) & (len(alike.place) - 1)
    i = np.int64(alike.place[at])
    while i != NONE and (alike.class_of[i] != k or alike.rank_of[i] != r):
        i = np.int64(alike.beside[i])
    if i == NONE:
        i = open_row(fabric, k, r)
        alike.beside[i] = alike.place[at]
        alike.place[at] = i
    return i


@helper
def leave_place(alike, k, r, i):
    """Take a row that waits no more from its place."""
    at = (np.int64(k) * SPREAD + r) & (len(alike.place) - 1)
    other = np.int64(alike.place[at])
    if other == i:
        alike.place[at] = alike.beside[i]
        return
    while alike.beside[other] != i:
        other = np.int64(alike.beside[other])
    alike.beside[other] = alike.beside[i]


@helper
def set_out(fabric, i, moment):
    """Have a transfer that waits for no other begin, when its ranks are there."""
    alike = fabric.alike
    route = fabric.route[i]
    if alike.held[route] > moment:
        moment = alike.held[route]
        alike.late[alike.count[LATE]] = np.int64(alike.class_of[i]) * alike.count[WIDTH] + alike.rank_of[i]
        alike.count[LATE] += 1
    push(fabric.calendar, moment + fabric.lead[route], BEGIN, i)


@helper
def launch_alike(fabric, time):
    """Start the transfers of all classes that wait for nothing; there are rows for them."""
    alike = fabric.alike
    for k in range(len(alike.waits)):
        if alike.waits[k] == 0:
            for r in range(alike.count[WIDTH]):
                set_out(fabric, open_row(fabric, k, r), time)


@helper
def release_alike(fabric, i, moment):
    """Let go what waits for a transfer that has ended, and give its row back.

    False where that wants more rows than are free: then it ends once more, at the same moment, when there are.
    """
    alike = fabric.alike
    k, r = np.int64(alike.class_of[i]), np.int64(alike.rank_of[i])
    first, stop = alike.after_start[k], alike.after_start[k + 1]
    if alike.count[FREE] < stop - first:
        alike.count[LACKING] += 1
        push(fabric.calendar, moment, END, i)
        return False
    if alike.watched[fabric.route[i]]:
        at = alike.count[LOGGED]
        alike.log[at] = k * alike.count[WIDTH] + r
        alike.log_start[at] = fabric.start[i]
        alike.log_end[at] = moment
        alike.count[LOGGED] = at + 1
    for e in range(first, stop):
        later, rank = np.int64(alike.after[e]), np.int64(alike.peer[alike.shift[e], r])
        several = alike.waits[later] > 1
        j = waiting_row(fabric, later, rank) if several else open_row(fabric, later, rank)
        fabric.pending[j] -= 1
        if fabric.pending[j] == 0:
            if several:
                leave_place(alike, later, rank, j)
            set_out(fabric, j, moment)
    alike.count[SOON] -= stop - first
    alike.class_of[i] = NONE
    alike.free[alike.count[FREE]] = i
    alike.count[FREE] += 1
    return True


@helper
def rows_are_short(fabric):
    """Whether the next wave might want more rows than are free, or more of the calendar than there is."""
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
