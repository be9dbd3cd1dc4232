"""Who gets how much: links shared max-min fairly among the flows that cross them.

A flow is as fast as its bottleneck, the link on its route that offers it least, and all flows with the same
bottleneck are equally fast. So a link counts the bytes it has let each of them pass, a flow only knows how far
that count must come, and a change of speed is one number of the link, however many flows it is for.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

import numpy as np

from sim.base.compiled import helper
from sim.fabric.links import (
    BOTTLENECK,
    DUE,
    IS_SPOILT,
    LEAST,
    LISTED,
    LOAD,
    LOST,
    MINE,
    NONE,
    PASSED,
    RATE,
    SINCE,
    SPOILT,
    STILL,
    TAKEN,
    TICKET,
    TRANSFER,
    VISITS,
    join,
    record,
    swap,
)

SAME = 1e-12
"""Moments and shares closer than this, relative, are one: rounding may not split what is simultaneous."""


@helper
def gather(net):
    """Collect the links in use of all spoiled groups and take the groups apart; returns how many there are."""
    use, links = net.use, net.links
    many = 0
    for k in range(net.count[SPOILT]):
        link = net.spoilt[k]
        while use[link, IS_SPOILT] != NONE:
            following = net.beside[link]
            use[link, IS_SPOILT] = NONE
            use[link, TICKET] = NONE
            net.parent[link] = net.beside[link] = link
            net.pace[link, DUE] = np.inf
            links[many] = link
            many += 1
            link = following
    net.count[SPOILT] = 0
    kept = 0
    for k in range(many):
        link = links[k]
        use[link, IS_SPOILT] = 0
        if use[link, LOAD] > 0:
            links[kept] = link
            kept += 1
    return kept


@helper
def fill(net, many, time):
    """Progressive filling: the link that offers least per flow fixes the rate of its flows, again and again."""
    use, level, level_link = net.use, net.level, net.level_link
    room, unfixed = net.room, net.unfixed
    size = np.int64(0)
    for entrance in range(2):  # of links that offer the same, entrances come first: their flows lie together
        for k in range(many):
            link = net.links[k]
            if (use[link, TAKEN] > 0) == entrance:
                room[link] = net.capacity[link]
                unfixed[link] = use[link, LOAD]
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
        sink(level, level_link, size, last, level_link[size])
        if unfixed[link] > 0:
            fix(net, link, fair, time)
        else:
            use[link, MINE] = 0


@helper
def fix(net, link, fair, time):
    """Make a link the bottleneck of all its flows that have none in this solve."""
    use, pace, members, ways, flow, finish = net.use, net.pace, net.members, net.ways, net.flow, net.finish
    unfixed = net.unfixed
    first = net.first[link]
    mine, stop = first + use[link, MINE], first + use[link, LISTED]
    passed, least, before = 0.0, pace[link, LEAST], np.nan
    if least == LOST:
        k, least = first, np.inf
        while k < mine:
            slot = members[k]
            if flow[slot, BOTTLENECK] == link:
                least = min(least, finish[slot])
                k += 1
            else:
                mine -= 1
                swap(members, ways, k, mine)
    if mine > first:
        passed = pace[link, PASSED] + pace[link, RATE] * (time - pace[link, SINCE])
        before = pace[link, RATE]
    else:
        least = np.inf
    pace[link, RATE], pace[link, SINCE], pace[link, PASSED] = fair, time, passed
    left = unfixed[link]
    for k in range(first, mine):
        left -= spread(net, link, np.int64(ways[k]), fair)
    k = known = mine
    while left > 0:
        slot = members[k]
        at = np.int64(flow[slot, BOTTLENECK])
        if at == STILL:
            stop -= 1
            swap(members, ways, k, stop)
        elif at != NONE and unfixed[at] == 0:
            k += 1
        else:
            bytes_left = finish[slot]
            if at != NONE:
                bytes_left -= pace[at, PASSED] + pace[at, RATE] * (time - pace[at, SINCE])
                pace[at, LEAST] = LOST
            finish[slot] = passed + max(0.0, bytes_left)
            least = min(least, finish[slot])
            flow[slot, BOTTLENECK] = link
            swap(members, ways, k, mine)
            left -= spread(net, link, np.int64(ways[mine]), fair)
            mine += 1
            k += 1
    if len(net.history) > 0:
        for k in range(first if fair != before else known, mine):
            record(net, np.int64(flow[members[k], TRANSFER]), time, fair)
    unfixed[link] = 0
    use[link, MINE], use[link, LISTED] = mine - first, stop - first
    pace[link, LEAST] = least
    pace[link, DUE] = time + max(0.0, least - passed) / fair if fair > 0 else np.inf
    net.count[VISITS] += mine - first


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
        join(net.parent, net.beside, net.use, link, other)


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
