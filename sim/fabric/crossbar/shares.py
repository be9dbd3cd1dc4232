"""Shares of a crossbar put right after flows have ended, link by link in the order of shares.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

import numpy as np

from sim.base.compiled import helper, part
from sim.fabric.crossbar.table import (
    BEFORE,
    BITS,
    BLOCK,
    FRESH,
    LINK,
    NAME,
    NEXT,
    PLACE,
    ROOM,
    SEEN,
    SHARE,
    SINCE_ROW,
    SIZE,
    START,
    WORD,
    below,
    changes,
    empty_table,
    hand_over,
    is_crossed,
    move,
    tabulate,
    tell,
)
from sim.fabric.links import (
    DUE,
    HELD,
    LEAST,
    LOST,
    PASSED,
    RATE,
    VISITS,
)
from sim.fabric.max_min import SAME

EFFORT = 8
"""Flows that could be visited in the time that one link's share is put right in."""


@part
def put_right(net, bar, time):
    """Give every link of the crossbar its share now that flows have left, and return when the next is through, in s.

    Links have their turn in the order of shares, from the first that may have changed. One that comes out below the one
    before it takes its place; what that one has told is forgotten until it has its turn again.
    """
    count, cursor, total = bar.count, bar.cursor, bar.cursor[0, SIZE] + bar.cursor[1, SIZE]
    count[FRESH] -= 1
    if count[FRESH] <= 0:
        wipe(net, bar)
    net.count[VISITS] += EFFORT * (total - count[START])
    begin(bar)
    at = count[START]
    while at < total:
        side = np.int64(bar.turn[at])
        other = 1 - side
        row, block = np.int64(cursor[side, NEXT]), np.int64(cursor[other, BLOCK])
        have = bar.lines[ROOM, side, row]
        if cursor[other, BITS] > 0:
            have -= changes(bar.table[other], bar.crosses[side, block, row] & below(cursor[other, BITS]))
        held = bar.rows[HELD, side, row]
        if held > 0:
            share = max(0.0, have) / held
        else:
            share = np.inf if have >= -SAME * net.capacity[bar.rows[LINK, side, bar.rows[NAME, side, row]]] else 0.0
        if at > 0 and share < share_before(bar, at - 1) * (1 - SAME):
            at -= 1
            step_back(bar, at, side)
            continue
        if cursor[side, BLOCK] != row >> 5:
            tell(bar, side, 1.0)
            cursor[side, BLOCK], cursor[side, BITS] = row >> 5, 0
            empty_table(bar, side)
            bar.rows[SINCE_ROW, other, row >> 5] = cursor[other, NEXT]
        bar.rows[SEEN, side, row] = cursor[other, BITS]
        bar.lines[SHARE, side, row] = share
        bar.lines[BEFORE, side, row] = bar.lines[RATE, side, row]
        bar.lines[RATE, side, row] = share if held > 0 else 0.0
        tabulate(bar.table[side], cursor[side, BITS], bar.lines[RATE, side, row] - bar.lines[BEFORE, side, row])
        cursor[side, BITS] += 1
        cursor[side, NEXT] += 1
        at += 1
    for side in range(2):
        if cursor[side, BITS] > 0:
            tell(bar, side, 1.0)
    count[START] = total
    return soonest(net, bar, time)


@helper
def share_before(bar, at):
    """The share of the link at a place in the order that has had its turn last."""
    side = np.int64(bar.turn[at])
    return bar.lines[SHARE, side, bar.cursor[side, NEXT] - 1]


@helper
def wipe(net, bar):
    """Have all shares worked out from the capacities again, so that rounding does not add up."""
    bar.count[START], bar.count[FRESH] = 0, (bar.cursor[0, SIZE] + bar.cursor[1, SIZE]) >> 1
    for side in range(2):
        for row in range(bar.cursor[side, SIZE]):
            bar.lines[ROOM, side, row] = net.capacity[bar.rows[LINK, side, bar.rows[NAME, side, row]]]
            bar.lines[RATE, side, row] = bar.lines[BEFORE, side, row] = 0.0


@helper
def begin(bar):
    """Set the cursors where something may have changed first; links before it in the open blocks have not changed."""
    low, high = np.int64(0), np.int64(bar.cursor[0, SIZE])
    while low < high:
        middle = (low + high) >> 1
        if bar.rows[PLACE, 0, middle] < bar.count[START]:
            low = middle + 1
        else:
            high = middle
    bar.cursor[0, NEXT], bar.cursor[1, NEXT] = low, bar.count[START] - low
    for side in range(2):
        row = np.int64(bar.cursor[side, NEXT])
        open_block(bar, side, row >> 5, row & 31)


@helper
def open_block(bar, side, block, bits):
    """Open a block of a side of which some links have had their turn and have not changed."""
    bar.cursor[side, BLOCK], bar.cursor[side, BITS] = block, bits
    bar.rows[SINCE_ROW, 1 - side, block] = bar.cursor[1 - side, NEXT]
    for row in range(WORD * block, WORD * block + bits):
        bar.lines[BEFORE, side, row] = bar.lines[RATE, side, row]
    for eighth in range(4):
        for k in range(256):
            bar.table[side, eighth, k] = 0.0


@helper
def reopen_block(bar, side):
    """Open the block before again, of which all links have had their turn, and have the other side forget it."""
    bar.cursor[side, BLOCK] -= 1
    bar.cursor[side, BITS] = WORD
    first = WORD * bar.cursor[side, BLOCK]
    empty_table(bar, side)
    for bit in range(WORD):
        tabulate(bar.table[side], bit, bar.lines[RATE, side, first + bit] - bar.lines[BEFORE, side, first + bit])
    tell(bar, side, -1.0)


@part
def step_back(bar, at, side):
    """Have the next link of a side change places with the one before it in the order, at `at`, whose turn is undone."""
    cursor, before, row = bar.cursor, np.int64(bar.turn[at]), np.int64(bar.cursor[side, NEXT])
    last = np.int64(cursor[before, NEXT]) - 1
    if at < bar.count[START]:
        bar.count[START] = at
        if (last + 1) & 31 == 0 and cursor[before, BITS] == 0:
            open_block(bar, before, last >> 5, np.int64(WORD))
        bar.lines[BEFORE, before, last] = bar.lines[RATE, before, last]
    elif cursor[before, BITS] == 0:
        reopen_block(bar, before)
    bar.lines[RATE, before, last] = bar.lines[BEFORE, before, last]
    cursor[before, BITS] -= 1
    cursor[before, NEXT] = last
    block = cursor[1 - before, BLOCK]
    bar.rows[SINCE_ROW, before, block] = min(bar.rows[SINCE_ROW, before, block], last)
    if before == side:
        move(bar, side, last, last + 1)
        return
    bar.turn[at], bar.turn[at + 1] = side, before
    bar.rows[PLACE, side, row], bar.rows[PLACE, before, last] = at, at + 1
    if is_crossed(bar, side, row, last):
        hand_over(bar, side, row, last)


@helper
def soonest(net, bar, time):
    """When each link's first flow is through, and the first of all, in s."""
    first = np.inf
    for side in range(2):
        finish, least, passed, rate = (
            bar.finish[side],
            bar.lines[LEAST, side],
            bar.lines[PASSED, side],
            bar.lines[RATE, side],
        )
        for row in range(bar.cursor[side, SIZE]):
            if least[row] == LOST:
                least[row] = np.inf
                number = bar.rows[NAME, side, row]
                for other in range(bar.cursor[1 - side, SIZE]):
                    least[row] = min(least[row], finish[number, other])
            bar.lines[DUE, side, row] = np.inf
            if bar.rows[HELD, side, row] > 0 and rate[row] > 0:
                bar.lines[DUE, side, row] = time + max(0.0, least[row] - passed[row]) / rate[row]
                first = min(first, bar.lines[DUE, side, row])
    return first
