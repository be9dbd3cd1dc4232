"""A group that is a crossbar: taken over from the lists of links, kept while flows only end, and handed back.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

import numpy as np

from sim.base.compiled import helper, part
from sim.fabric.crossbar.table import (
    BEFORE,
    FLOWS,
    FRESH,
    LINK,
    NAME,
    ONE,
    PLACE,
    ROOM,
    ROOT,
    ROW,
    SIZE,
    START,
    WORD,
    clear_crossing,
    is_crossed,
    lift,
)
from sim.fabric.links import (
    AMEND,
    BOTTLENECK,
    CREDIT,
    DUE,
    FIRED,
    GONE,
    HELD,
    HIGHEST,
    LEAST,
    LISTED,
    LOAD,
    LONG,
    LOST,
    NONE,
    PASSED,
    RATE,
    SINCE,
    TAKEN,
    TICKET,
    TRANSFER,
    make_stale,
)
from sim.topology import Routes

FEWEST = 32
"""Links of a side from which on taking a group over is worth it."""
SPARSE = 8
"""So many pairs of an entrance and an exit for a flow are too many."""
PATIENCE = 8
"""Completions after a solve before a group is taken over: where flows keep beginning, too, it would not last."""


MOST = 2048
"""Links of a side up to which a group is taken over: its tables grow with their square."""


def width_of(routes: Routes, links: int) -> int:
    """How many links a side may have of a crossbar that flows over these routes might form; 0 if they hardly do."""
    starts = routes.offsets[:-1][np.diff(routes.offsets) == 2]
    sides = np.zeros((2, links), np.bool_)
    for side in range(2):
        sides[side, routes.links[starts + side]] = True
    entrances, exits = sides.sum(1).tolist()
    fits = min(entrances, exits) >= FEWEST and max(entrances, exits) <= MOST
    return max(entrances, exits) if fits and len(starts) * SPARSE >= entrances * exits else 0


@part
def adopt(net, bar, root, time):
    """Take a group over, if it is a crossbar whose flows are not few; returns whether it is.

    Its shares are those of before the last completions, its order is nearly that of its shares.
    """
    if net.count[LONG] > 0 or len(net.history) > 0 or not enlist(net, bar, root) or not connect(net, bar):
        return False
    bar.count[ROOT], bar.count[START] = root, 0
    bar.count[FRESH] = (bar.cursor[0, SIZE] + bar.cursor[1, SIZE]) >> 1
    for side in range(2):
        for row in range(bar.cursor[side, SIZE]):
            link = bar.rows[LINK, side, row]
            held, rate = net.state[link, HELD], net.clock[link, RATE]
            bar.lines[ROOM, side, row], bar.rows[HELD, side, row] = net.room[link], held
            bar.lines[PASSED, side, row] = (
                net.clock[link, PASSED] + rate * (time - net.clock[link, SINCE]) if held else 0.0
            )
            bar.lines[RATE, side, row] = bar.lines[BEFORE, side, row] = rate if held > 0 else 0.0
            bar.lines[LEAST, side, row] = net.clock[link, LEAST] if held > 0 else np.inf
            net.clock[link, DUE] = np.inf
    net.clock[root, SINCE] = time
    return True


@helper
def enlist(net, bar, root):
    """Number a group's links by side, in the order of their shares; returns whether they may be a crossbar."""
    state = net.state
    room = len(bar.rows[LINK, 0])
    bar.cursor[0, SIZE] = bar.cursor[1, SIZE] = flows = 0
    last = net.order[root, HIGHEST]
    link = np.int64(net.ring[last])
    place = 0
    while True:
        side = np.int64(state[link, TAKEN] == 0)  # slots are given out by entrances
        row = bar.cursor[side, SIZE]
        if row == room:
            return False
        bar.number[link] = row
        bar.rows[LINK, side, row], bar.rows[ROW, side, row], bar.rows[NAME, side, row] = link, row, row
        bar.rows[PLACE, side, row], bar.turn[place] = place, side
        bar.cursor[side, SIZE] = row + 1
        flows += state[link, LOAD] * (1 - side)
        place += 1
        if link == last:
            break
        link = np.int64(net.ring[link])
    bar.count[FLOWS] = flows
    return (
        min(bar.cursor[0, SIZE], bar.cursor[1, SIZE]) >= FEWEST
        and flows * SPARSE >= bar.cursor[0, SIZE] * bar.cursor[1, SIZE]
    )


@helper
def connect(net, bar):
    """Note who crosses whom, and until when; returns whether every flow has an entrance and an exit to itself."""
    disconnect(bar)
    for number in range(bar.cursor[0, SIZE]):
        link = bar.rows[LINK, 0, number]
        for k in range(net.first[link], net.first[link] + net.state[link, LISTED]):
            slot = np.int64(net.members[k])
            held_by = np.int64(net.flow[slot, BOTTLENECK])
            if held_by == GONE:
                continue
            leaves_by = ~np.int64(net.elsewhere[k])
            other = np.int64(bar.number[leaves_by])
            if held_by == NONE or net.state[leaves_by, TAKEN] > 0 or is_crossed(bar, 0, number, other):
                return False
            bar.crosses[0, other >> 5, number] |= ONE << np.uint32(other & 31)
            bar.crosses[1, number >> 5, other] |= ONE << np.uint32(number & 31)
            bar.slot[number, other] = slot - net.first[link]
            if held_by == link:
                bar.finish[0, number, other] = net.finish[slot]
            else:
                bar.finish[1, other, number] = net.finish[slot]
    return True


@helper
def disconnect(bar):
    """Note that nobody crosses anybody, for links whose rows are their numbers."""
    for side in range(2):
        for block in range((bar.cursor[1 - side, SIZE] + WORD - 1) >> 5):
            for row in range(bar.cursor[side, SIZE]):
                bar.crosses[side, block, row] = 0
        for number in range(bar.cursor[side, SIZE]):
            for other in range(bar.cursor[1 - side, SIZE]):
                bar.finish[side, number, other] = np.inf


@helper
def slot_of(net, bar, side, number, other):
    """The slot of the flow that crosses a link of a side and one of the other."""
    entrance, leaves_by = (number, other) if side == 0 else (other, number)
    return net.first[bar.rows[LINK, 0, entrance]] + bar.slot[entrance, leaves_by]


@part
def dissolve(net, bar, time):
    """Hand the group back to the lists of its links: its flows have bytes left, and no bottleneck yet."""
    flow = net.flow
    root = bar.count[ROOT]
    net.order[root, CREDIT] = 0
    for side in range(2):
        for row in range(bar.cursor[side, SIZE]):
            number = bar.rows[NAME, side, row]
            net.state[bar.rows[LINK, side, number], HELD] = 0
            passed = bar.lines[PASSED, side, row] + bar.lines[RATE, side, row] * (time - net.clock[root, SINCE])
            for other in range(bar.cursor[1 - side, SIZE]):
                if bar.finish[side, number, other] < np.inf:
                    slot = slot_of(net, bar, side, number, other)
                    flow[slot, BOTTLENECK] = NONE
                    net.finish[slot] = max(0.0, bar.finish[side, number, other] - passed)
    bar.count[ROOT] = NONE


@part
def arrive(net, bar, route, time, limit, wave):
    """As `sim.fabric.groups.complete`: list in `wave` the transfers that are through; returns how many there are."""
    due = arrivals = 0
    for side in range(2):
        for row in range(bar.cursor[side, SIZE]):
            bar.lines[PASSED, side, row] += bar.lines[RATE, side, row] * (time - net.clock[bar.count[ROOT], SINCE])
            if bar.lines[DUE, side, row] <= limit:
                net.links[due] = bar.rows[LINK, side, bar.rows[NAME, side, row]]
                due += 1
    net.clock[bar.count[ROOT], SINCE] = time
    for k in range(due):
        link = np.int64(net.links[k])
        side, number = np.int64(net.state[link, TAKEN] == 0), np.int64(bar.number[link])
        row = bar.rows[ROW, side, number]
        through = max(
            bar.lines[LEAST, side, row], bar.lines[PASSED, side, row] + bar.lines[RATE, side, row] * (limit - time)
        )
        finish = bar.finish[side, number]
        for other in range(bar.cursor[1 - side, SIZE]):
            if finish[other] <= through:
                wave[arrivals] = end(net, bar, side, row, other)
                arrivals += 1
        bar.lines[LEAST, side, row] = LOST
    for k in range(arrivals):
        for m in range(net.route_start[route[wave[k]]], net.route_start[route[wave[k]] + 1]):
            link = np.int64(net.route_links[m])
            side = np.int64(net.state[link, TAKEN] == 0)
            lift(bar, side, np.int64(bar.rows[ROW, side, bar.number[link]]))
    root = bar.count[ROOT]
    net.state[root, TICKET] = NONE
    make_stale(net.count, net.stale, net.state, root, AMEND)
    net.fired[net.count[FIRED]] = root
    net.count[FIRED] += 1
    return arrivals


@helper
def end(net, bar, side, row, other_number):
    """Take a flow out that is through, held back by a link of this side; returns its transfer."""
    number, other = bar.rows[NAME, side, row], 1 - side
    other_row = bar.rows[ROW, other, other_number]
    slot = slot_of(net, bar, side, number, other_number)
    net.flow[slot, BOTTLENECK] = GONE
    bar.finish[side, number, other_number] = np.inf
    clear_crossing(bar, side, row, other_row)
    bar.rows[HELD, side, row] -= 1
    bar.lines[ROOM, other, other_row] += bar.lines[RATE, side, row]
    if bar.rows[HELD, side, row] == 0:
        bar.lines[RATE, side, row] = bar.lines[BEFORE, side, row] = 0.0
    bar.count[FLOWS] -= 1
    bar.count[START] = min(bar.count[START], bar.rows[PLACE, side, row])
    for which in range(2):
        link = bar.rows[LINK, side, number] if which == 0 else bar.rows[LINK, other, other_number]
        net.state[link, LOAD] -= 1
        if net.state[link, LOAD] == 0:
            net.state[link, LISTED] = net.state[link, HELD] = 0
    return np.int64(net.flow[slot, TRANSFER])
