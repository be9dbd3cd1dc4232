"""Who gets how much: the fair share, max-min, of every link for the flows that cross it.

A flow is as fast as its bottleneck, the link on its route that offers it least, and all flows with the same
bottleneck are equally fast. So a link counts the bytes it has let each of them pass, a flow only knows how far
that count must come, and a change of speed is one number of the link, however many flows it is for.

An example: A -> B lets 6 B/s through, B -> C 10; flow a takes 3 bytes over A -> B, b 6 bytes over both, c 28 bytes over
B -> C.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

import numpy as np

from sim.base.compiled import helper
from sim.fabric.links import (
    BOTTLENECK,
    CREDIT,
    DUE,
    FEW,
    GONE,
    HELD,
    HIGHEST,
    IS_STALE,
    LEAST,
    LISTED,
    LOAD,
    LOST,
    NONE,
    PASSED,
    RATE,
    SINCE,
    STALE,
    TAKEN,
    TICKET,
    TRANSFER,
    VISITS,
    find,
    join,
    record,
    swap,
)

SAME = 1e-12
"""Moments and shares closer than this, relative, are one: rounding may not split what is simultaneous."""


@helper
def gather(net):
    """Collect the links in use of all stale groups and take the groups apart; returns how many there are."""
    state, links = net.state, net.links
    amount = 0
    for k in range(net.count[STALE]):
        link = net.stale[k]
        while state[link, IS_STALE] != NONE:
            following = net.ring[link]
            state[link, IS_STALE] = NONE
            state[link, TICKET] = NONE
            net.parent[link] = net.ring[link] = link
            net.order[link, CREDIT] = 0
            net.clock[link, DUE] = np.inf
            links[amount] = link
            amount += 1
            link = following
    net.count[STALE] = 0
    in_use = 0
    for k in range(amount):
        link = links[k]
        state[link, IS_STALE] = 0
        if state[link, LOAD] > 0:
            links[in_use] = link
            in_use += 1
    return in_use


@helper
def fill(net, amount, time):
    """Progressive filling: the link that offers least per flow fixes the rate of its flows, again and again.

    In the example above, at 0 s, A -> B offers 6 / 2 and B -> C 10 / 2: A -> B comes first, fixes a and b at 3 B/s and
    leaves B -> C 10 - 3 for c alone. Shares in the heap are as old as their entry: one that has grown since sinks back.
    Links leave the heap in the order of their shares, in which every group's ring is put for `sim.fabric.amend`.
    """
    state, level, level_link = net.state, net.level, net.level_link
    room, unfixed = net.room, net.unfixed
    size = np.int64(0)
    for entrance in range(2):  # of links that offer the same, entrances come first: their flows lie together
        for k in range(amount):
            link = net.links[k]
            if (state[link, TAKEN] > 0) == entrance:
                room[link] = net.capacity[link]
                unfixed[link] = state[link, LOAD]
                rise(level, level_link, size, room[link] / unfixed[link], link)
                size += 1
    level[size : size + 4] = np.inf
    while size > 0:
        link = level_link[0]
        fair = max(0.0, room[link]) / unfixed[link] if unfixed[link] > 0 else 0.0
        if fair > level[0] * (1 + SAME) and fair > min(level[1], level[2]):
            sink(level, level_link, size, fair, link)
            continue
        size -= 1
        last = level[size]
        level[size] = np.inf
        following = level_link[size]
        level_link[size] = link
        sink(level, level_link, size, last, following)
        if unfixed[link] > 0:
            fix(net, link, fair, time)
        else:
            state[link, HELD] = 0
    for k in range(amount - 1 if amount > FEW else -1, -1, -1):
        link = level_link[k]
        root = find(net.parent, link)
        last = net.order[root, HIGHEST] if net.order[root, CREDIT] > 0 else link
        net.ring[link] = net.ring[last] if last != link else link
        net.ring[last] = link
        net.order[root, HIGHEST] = link
        net.order[root, CREDIT] += 1


@helper
def fix(net, link, fair, time):
    """Make a link the bottleneck of all its flows that have none in this solve, each at the rate `fair`, B/s.

    In the example above, at 1 s, B -> C is fixed at 5 B/s: it held c back and has let 7 bytes pass, so c still has to
    wait for a count of 28; b comes from A -> B, where the count was 3 of 6, and waits for 7 + (6 - 3) = 10 here. The
    least of both, 10, is due (10 - 7) / 5 = 0.6 s later.
    Its list has the flows it held back before in front; those that join swap places with the first that does not.
    """
    state, clock, members, elsewhere, flow, finish = (
        net.state,
        net.clock,
        net.members,
        net.elsewhere,
        net.flow,
        net.finish,
    )
    unfixed = net.unfixed
    first = net.first[link]
    held, stop = first + state[link, HELD], first + state[link, LISTED]
    passed, least, before = 0.0, clock[link, LEAST], np.nan
    if least == LOST:
        k, least = first, np.inf
        while k < held:
            slot = members[k]
            if flow[slot, BOTTLENECK] == link:
                least = min(least, finish[slot])
                k += 1
            else:
                held -= 1
                swap(members, elsewhere, k, held)
    if held > first:
        passed = clock[link, PASSED] + clock[link, RATE] * (time - clock[link, SINCE])
        before = clock[link, RATE]
    else:
        least = np.inf
    clock[link, RATE], clock[link, SINCE], clock[link, PASSED] = fair, time, passed
    crossings = left = unfixed[link]
    for k in range(first, held):
        left -= spread(net, link, np.int64(elsewhere[k]), fair)
    k = newcomers = held
    while left > 0:
        slot = members[k]
        at = np.int64(flow[slot, BOTTLENECK])
        if at == GONE:
            stop -= 1
            swap(members, elsewhere, k, stop)
        elif at != NONE and unfixed[at] <= 0:
            k += 1
        else:
            bytes_left = finish[slot]
            if at != NONE:
                bytes_left -= clock[at, PASSED] + clock[at, RATE] * (time - clock[at, SINCE])
                clock[at, LEAST] = LOST
            finish[slot] = passed + max(0.0, bytes_left)
            least = min(least, finish[slot])
            flow[slot, BOTTLENECK] = link
            swap(members, elsewhere, k, held)
            left -= spread(net, link, np.int64(elsewhere[held]), fair)
            held += 1
            k += 1
    if len(net.history) > 0:
        for k in range(first if fair != before else newcomers, held):
            record(net, np.int64(flow[members[k], TRANSFER]), time, fair)
    unfixed[link] = -crossings
    state[link, HELD], state[link, LISTED] = held - first, stop - first
    clock[link, LEAST] = least
    clock[link, DUE] = time + max(0.0, least - passed) / fair if fair > 0 else np.inf
    net.count[VISITS] += held - first


@helper
def spread(net, link, way, fair):
    """Take a flow's share out of the links on its way but one; returns how often it crosses that one."""
    crossings = 0
    if way < 0:
        crossings = 1
        take(net, link, ~way, fair)
    else:
        for m in range(net.route_start[way], net.route_start[way + 1]):
            other = np.int64(net.route_links[m])
            if other == link:
                crossings += 1
            else:
                take(net, link, other, fair)
    return crossings


@helper
def take(net, link, other, fair):
    """Take a share out of a link, which has a flow in common with another."""
    net.room[other] -= fair
    net.unfixed[other] -= 1
    if net.parent[other] != net.parent[link]:
        join(net.parent, net.ring, net.state, link, other)


@helper
def rise(level, level_link, at, share, link):
    """Put a link into the heap of shares at a free place near its end."""
    while at > 0 and level[(at - 1) >> 1] > share:
        level[at] = level[(at - 1) >> 1]
        level_link[at] = level_link[(at - 1) >> 1]
        at = (at - 1) >> 1
    level[at] = share
    level_link[at] = link


@helper
def sink(level, level_link, size, share, link):
    """Put a link in place of the first in the heap of shares; what follows the heap's end is infinite."""
    at, low = 0, 1
    while low < size:
        low += level[low + 1] < level[low]
        if level[low] >= share:
            break
        level[at] = level[low]
        level_link[at] = level_link[low]
        at, low = low, 2 * low + 1
    level[at] = share
    level_link[at] = link
