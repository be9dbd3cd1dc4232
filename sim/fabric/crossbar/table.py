"""Groups in which every flow crosses one entrance and one exit, as all-to-all on a switch: shares put right at once.

When all sizes differ every completion changes nearly all shares a little. In such a group who crosses whom is a table
of bits, a row per link and a column per link of the other side, both in the order of shares. What a link gives each of
its flows changes by some B/s; for 32 links of one side the sums of these changes over all sets of each eight of them
are tabled, so that a link of the other side that comes later learns what it loses by four look-ups, not flow by flow.

An example: entrances a and b of 6 and 8 B/s, exits x and y of 10; flows a-x, a-y, b-y. In the order of shares, a gives
3 each, y has 10 - 3 left and gives b-y 7, x and b hold nobody back: order a, y, x, b. When a-x ends, a gives a-y 6 and
comes out after y's (10 / 2 = 5): they change places, a-y is held back by y at 5 B/s, and so is b-y.

Rows of a side are in the order of shares, numbers of its links stay. Kernel functions, interpreted or compiled (see
`sim.base.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.base.arrays import blank
from sim.base.compiled import helper
from sim.fabric.links import HELD, LEAST, LOST, NONE, PASSED, RATE

ROOT, CALM, START, FLOWS, FRESH = range(5)
"""Entries of `Crossbar.count`: the group, or NONE; completions since one was last solved; the first place in the order
where something may have changed; flows under way; completions before rounding is wiped off."""
SIZE, BLOCK, BITS, NEXT = range(4)
"""Columns of `Crossbar.cursor`: how many links a side has, the block of them whose changes are being tabled, how many
of it are, and the row of the link that comes next."""
BEFORE, ROOM, SHARE = 1, 5, 6
"""Of `Crossbar.lines`, which has `RATE`, `PASSED`, `LEAST` and `DUE` as `Net.clock` does, all of the moment that is
`SINCE` of the group's root there: what `RATE` was when others learnt of it last, what is left for the flows that a link
holds back, and what it would give each; in B/s."""
ROW, LINK, NAME, PLACE, SEEN, SINCE_ROW = 0, 1, 2, 3, 5, 6
"""Of `Crossbar.rows`, which has `HELD` as `Net.state` does. Of a number: its row and its link. Of a row: its number,
its place in the order of shares, and how many links of the other side's open block came before. Of a block of the other
side: the row from which on its changes have to be told."""
WORD = 32
"""Links of a block."""
ONE, BYTE = np.uint32(1), np.uint32(255)
MARGIN = 16
"""Rows more than there are, so that words of a row do not all fall into one set of a cache."""

Array = Any


class Crossbar(NamedTuple):
    """A group taken over from the lists of links; side 0 are entrances, side 1 exits."""

    count: Array
    """`ROOT` to `FRESH`."""
    cursor: Array
    """Per side: `SIZE` to `NEXT`."""
    number: Array
    """Per link of the network: its number on its side."""
    turn: Array
    """Per place in the order of shares: the side whose next row it is."""
    lines: Array
    """`ROOM` to `DUE`, per side and row."""
    rows: Array
    """`ROW` to `SINCE_ROW`, per side and number, row or block."""
    crosses: Array
    """Per side, block of the other side, and row: a bit for every row of the block with which there is a flow. After
    the blocks, bits on their way from one to another."""
    finish: Array
    """Per side, number, and number on the other side: the `PASSED` at which the flow is through; else infinite."""
    slot: Array
    """Per entrance's and exit's number: which of the entrance's slots the flow has."""
    table: Array
    """Per side, eighth row, and set of eight rows of its open block: the sum of their changes, B/s."""


def crossbar(links: int, width: int) -> Crossbar:
    """Memory for a group of at most so many links a side, in a network of so many links; nothing is touched yet."""
    blocks, rows = -(-width // WORD), width + MARGIN if width else 0
    return Crossbar(
        count=np.array([NONE, 0, 0, 0, 0], np.int64),
        cursor=np.zeros((2, 4), np.int64),
        number=blank(links if width else 0, np.int64),
        turn=blank(2 * width, np.int64),
        lines=blank((7, 2, rows), np.float64),
        rows=blank((7, 2, rows), np.int64),
        crosses=blank((2, blocks + 1, rows), np.uint32),
        finish=blank((2, width, width), np.float64),
        slot=blank((width, width), np.int32),
        table=blank((2, 4, 256), np.float64),
    )


@helper
def changes(table, word):
    """The sum of the changes of a set of links of a block, B/s."""
    return (table[0, word & BYTE] + table[1, (word >> np.uint32(8)) & BYTE]) + (
        table[2, (word >> np.uint32(16)) & BYTE] + table[3, word >> np.uint32(24)]
    )


@helper
def below(bits):
    """A word of which the lowest bits are set."""
    return np.uint32((np.int64(1) << np.int64(bits)) - 1)


@helper
def tabulate(table, bit, change):
    """Add a link's change to the table of its block: all sets of those before it, with it."""
    eighth, sets = bit >> 3, np.uint64(1) << np.uint64(bit & 7)
    row = table[eighth]
    for k in range(sets):
        row[sets + k] = row[k] + change


@helper
def tell(bar, side, sign):
    """Have the other side learn the changes of a side's open block, or forget them: `sign` is 1.0 or -1.0.

    Links that have had their turn know how many of the block were before them; to all others they all were.
    """
    other, block = 1 - side, bar.cursor[side, BLOCK]
    table, words, room = bar.table[side], bar.crosses[other, block], bar.lines[ROOM, other]
    following = bar.cursor[other, NEXT]
    for k in range(bar.rows[SINCE_ROW, other, block], following):
        room[k] -= sign * changes(table, words[k] & below(bar.rows[SEEN, other, k]))
    first, second, third, fourth = table[0], table[1], table[2], table[3]
    for k in range(np.uint64(following), np.uint64(bar.cursor[other, SIZE])):
        word = words[k]
        room[k] -= sign * (
            (first[word & BYTE] + second[(word >> np.uint32(8)) & BYTE])
            + (third[(word >> np.uint32(16)) & BYTE] + fourth[word >> np.uint32(24)])
        )


@helper
def empty_table(bar, side):
    """Forget what has been tabled of a side."""
    table = bar.table[side]
    for eighth in range(4):
        table[eighth, 0] = 0.0


@helper
def move(bar, side, row, to):
    """Move a link on in the rows of its side; those between come one row before."""
    name, room, held, rate = bar.rows[NAME, side], bar.lines[ROOM, side], bar.rows[HELD, side], bar.lines[RATE, side]
    before, passed, least = bar.lines[BEFORE, side], bar.lines[PASSED, side], bar.lines[LEAST, side]
    own = (name[row], room[row], held[row], rate[row], before[row], passed[row], least[row])
    for k in range(row, to):
        name[k], room[k], held[k], rate[k] = name[k + 1], room[k + 1], held[k + 1], rate[k + 1]
        before[k], passed[k], least[k] = before[k + 1], passed[k + 1], least[k + 1]
        bar.rows[ROW, side, name[k]] = k
    name[to], room[to], held[to], rate[to], before[to], passed[to], least[to] = own
    bar.rows[ROW, side, own[0]] = to
    words = bar.crosses[side]
    for block in range((bar.cursor[1 - side, SIZE] + WORD - 1) >> 5):
        word = words[block, row]
        for k in range(row, to):
            words[block, k] = words[block, k + 1]
        words[block, to] = word
    move_bits(bar, 1 - side, row, to)


@helper
def move_bits(bar, side, bit, to):
    """Move a bit on in the words of all rows of a side; those between come one bit before."""
    carry, rows = bar.crosses[side, (bar.cursor[1 - side, SIZE] + WORD - 1) >> 5], np.uint64(bar.cursor[side, SIZE])
    words, low = bar.crosses[side, bit >> 5], np.uint32(bit & 31)
    for k in range(rows):
        carry[k] = (words[k] >> low) & ONE
    for block in range(bit >> 5, (to >> 5) + 1):
        first = bit & 31 if block == bit >> 5 else 0
        last = to & 31 if block == to >> 5 else 31
        moved = np.uint32(below(last + 1) & ~below(first))
        kept, high = np.uint32(~moved), np.uint32(last)
        words = bar.crosses[side, block]
        if block == to >> 5:
            for k in range(rows):
                words[k] = (words[k] & kept) | (((words[k] & moved) >> ONE) & moved) | (carry[k] << high)
        else:
            following = bar.crosses[side, block + 1]
            for k in range(rows):
                words[k] = (words[k] & kept) | (((words[k] & moved) >> ONE) & moved) | ((following[k] & ONE) << high)


@helper
def is_crossed(bar, side, row, other_row):
    """Whether there is a flow that crosses a link and one of the other side."""
    return (bar.crosses[side, other_row >> 5, row] >> np.uint32(other_row & 31)) & ONE > 0


@helper
def clear_crossing(bar, side, row, other_row):
    """Note that there is none any more; both sides keep it."""
    bar.crosses[side, other_row >> 5, row] &= ~(ONE << np.uint32(other_row & 31))
    bar.crosses[1 - side, row >> 5, other_row] &= ~(ONE << np.uint32(row & 31))


@helper
def hand_over(bar, side, row, other_row):
    """Have a link hold back a flow that one of the other side did: what is left to wait for stays what it was."""
    other = 1 - side
    if bar.rows[HELD, side, row] == 0:
        bar.lines[RATE, side, row] = bar.lines[BEFORE, side, row] = bar.lines[PASSED, side, row] = 0.0
        bar.lines[LEAST, side, row] = np.inf
    number, other_number = bar.rows[NAME, side, row], bar.rows[NAME, other, other_row]
    bytes_through = bar.finish[other, other_number, number]
    bar.finish[other, other_number, number] = np.inf
    if bytes_through <= bar.lines[LEAST, other, other_row]:
        bar.lines[LEAST, other, other_row] = LOST
    bytes_through = bar.lines[PASSED, side, row] + max(0.0, bytes_through - bar.lines[PASSED, other, other_row])
    bar.finish[side, number, other_number] = bytes_through
    bar.lines[LEAST, side, row] = min(bar.lines[LEAST, side, row], bytes_through)
    bar.rows[HELD, other, other_row] -= 1
    bar.rows[HELD, side, row] += 1
    bar.lines[ROOM, other, other_row] -= bar.lines[RATE, side, row]
    bar.lines[ROOM, side, row] += bar.lines[RATE, other, other_row]


@helper
def lift(bar, side, row):
    """Let a link that has lost a flow pass those in the order that give less than it will, as far as is known yet.

    It alone gives much more than before: one of so many flows less.
    """
    other = 1 - side
    place = bar.rows[PLACE, side, row]
    total = bar.cursor[0, SIZE] + bar.cursor[1, SIZE]
    to, other_row, at = row, place - row, place
    while at + 1 < total:
        share = bar.lines[ROOM, side, row] / bar.rows[HELD, side, row] if bar.rows[HELD, side, row] > 0 else np.inf
        if bar.turn[at + 1] == side:
            if bar.rows[HELD, side, to + 1] == 0 or bar.lines[RATE, side, to + 1] >= share:
                break
            to += 1
        else:
            if bar.rows[HELD, other, other_row] == 0 or bar.lines[RATE, other, other_row] >= share:
                break
            if is_crossed(bar, side, row, other_row):
                hand_over(bar, other, other_row, row)
            other_row += 1
        at += 1
    own, theirs = row, place - row
    for k in range(place, at):
        bar.turn[k] = bar.turn[k + 1]
        if bar.turn[k] == side:
            bar.rows[PLACE, side, own] = k
            own += 1
        else:
            bar.rows[PLACE, other, theirs] = k
            theirs += 1
    bar.turn[at] = side
    bar.rows[PLACE, side, to] = at
    if to > row:
        move(bar, side, row, to)
