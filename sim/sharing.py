"""Who gets how much: links shared max-min fairly among the flows that cross them.

A flow is as fast as its bottleneck, the link on its route that offers it least, and all flows with the same
bottleneck are equally fast. So a link counts the bytes it has let each of them pass, a flow only knows how far
that count must come, and a change of speed is one number of the link, however many flows it is for.

Links that carry the same flows, directly or through others, form a group. A group is solved again only when a
flow has come, or has left a link that holds others back; it has one event in the calendar, its earliest
completion. Kernel functions, interpreted or compiled (see `sim.speed`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.calendar import push
from sim.speed import helper

FLOW = np.int64(1)
"""What a calendar entry holds here: a link whose group, or whose lone flow, has a completion."""
SPOILT, BEREFT, FIRED, VISITS, HISTORY = range(5)
"""Entries of `Net.count`: lengths of three lists, flows visited by solves, changes of rate kept."""
LOAD, LONE, TICKET, LISTED, MINE, TAKEN, SPOILED, LEFT = range(8)
"""Columns of `Net.use`. `LOAD` flows cross the link; if one does and is alone on its whole route, `LONE` is that
transfer. `TICKET` is the calendar node of the group or lone flow. `LISTED` entries of `members` are in use, the
first `MINE` of them for flows the link holds back. `TAKEN` slots of its own have been given out, each once: other
lists may still name a flow that is no more. The rest is for solving."""
RATE, SINCE, PASSED, LEAST, DUE = range(5)
"""Columns of `Net.pace`: B/s of each flow the link holds back since `SINCE` s, when it had let each pass `PASSED`
bytes; at `LEAST` bytes the first of them is through, at `DUE` s."""
LOST = -1.0
"""`LEAST` when flows it held back have got another bottleneck."""
ROOM, OPEN = range(2)
"""Columns of `Net.share`: B/s a solve has not handed out yet, and to how many flows."""
SLOT, WAY = range(2)
"""Columns of `Net.members`: a flow's slot, and where else it goes: the complement of its only other link, or its
route if it has one link or more than two."""
TRANSFER, ROUTE, BOTTLENECK = range(3)
"""Columns of `Net.flow`, a row per slot."""
NONE = -1
STILL = -2
"""As a bottleneck: not known yet; the flow is no more."""
SAME = 1e-12
"""Moments and shares closer than this, relative, are one: rounding may not split what is simultaneous."""

Array = Any


class Net(NamedTuple):
    """Links, routes, and the flows on them.

    One row per link: `capacity` (B/s), `use`, `pace`, `share`; `parent` and `beside` hold a group together, as a
    tree and as a ring; `members[first[k]:...]` are the flows that cross link k, and `flow` and `finish` have a
    slot for every flow at the same place of its entrance, so that flows that come in together lie together.
    `finish` is what the bottleneck's `PASSED` must come to, or the bytes left while no bottleneck is known.
    Route r is `route_links[route_start[r]:...]`. `history` keeps (time, rate) per change of a transfer's rate.
    """

    count: Array
    capacity: Array
    use: Array
    pace: Array
    room: Array
    unfixed: Array
    parent: Array
    beside: Array
    first: Array
    members: Array
    ways: Array
    flow: Array
    finish: Array
    route_start: Array
    route_links: Array
    links: Array
    spoilt: Array
    bereft: Array
    fired: Array
    level: Array
    level_link: Array
    history_transfer: Array
    history: Array


@helper
def record(net, transfer, time, rate):
    """Keep a change of rate, if anyone wants to know; counts on when there is no more room."""
    k = net.count[HISTORY]
    net.count[HISTORY] = k + 1
    if k < len(net.history):
        net.history_transfer[k] = transfer
        net.history[k, 0] = time
        net.history[k, 1] = rate


@helper
def find(parent, link):
    """The representative of a link's group."""
    root = link
    while parent[root] != root:
        root = parent[root]
    while parent[link] != root:
        up = parent[link]
        parent[link] = root
        link = up
    return root


@helper
def join(parent, beside, use, a, b):
    """Make the groups of two links one; it has no event until it has been solved."""
    a, b = find(parent, a), find(parent, b)
    if a != b:
        a, b = min(a, b), max(a, b)
        parent[b] = a
        beside[a], beside[b] = beside[b], beside[a]
        use[a, TICKET] = NONE
        use[b, TICKET] = NONE


@helper
def spoil(count, spoilt, use, root):
    """Have a group solved at the end of this wave."""
    if use[root, SPOILED] == 0:
        use[root, SPOILED] = 1
        spoilt[count[SPOILT]] = root
        count[SPOILT] += 1


@helper
def crossed(net, start, k):
    """Whether a route that starts at `start` has crossed the link at k before: through a host's memory, say."""
    m = start
    while net.route_links[m] != net.route_links[k]:
        m += 1
    return m < k


@helper
def enter(net, i, r, left):
    """Have a transfer share the links of route r with whoever else is there; `left` are its bytes."""
    use, parent, members, ways = net.use, net.parent, net.members, net.ways
    start, stop = net.route_start[r], net.route_start[r + 1]
    door = np.int64(net.route_links[start])
    slot = net.first[door] + use[door, TAKEN]
    use[door, TAKEN] += 1
    net.flow[slot, TRANSFER] = i
    net.flow[slot, ROUTE] = r
    net.flow[slot, BOTTLENECK] = NONE
    net.finish[slot] = left
    for k in range(start, stop):
        link = np.int64(net.route_links[k])
        use[link, LOAD] += 1
        if crossed(net, start, k):
            continue
        at = net.first[link] + use[link, LISTED]
        use[link, LISTED] += 1
        other = np.int64(net.route_links[start + stop - 1 - k])
        members[at] = slot
        ways[at] = ~other if stop - start == 2 and other != link else r
        if parent[link] != parent[door]:
            join(parent, net.beside, use, door, link)
    spoil(net.count, net.spoilt, use, find(parent, door))


@helper
def bind(net, route, size, link, time):
    """Let a flow that was alone on its links share them, from now on."""
    i = np.int64(net.use[link, LONE])
    if i != NONE:
        r = route[i]
        door = net.route_links[net.route_start[r]]
        for k in range(net.route_start[r], net.route_start[r + 1]):
            net.use[net.route_links[k], LONE] = NONE
            net.use[net.route_links[k], LOAD] -= 1
        net.use[door, TICKET] = NONE
        enter(net, i, r, max(0.0, size[i] - net.pace[door, RATE] * (time - net.pace[door, SINCE])))


@helper
def gather(net):
    """Collect the links in use of all spoiled groups and take the groups apart; returns how many there are."""
    use, links = net.use, net.links
    many = 0
    for k in range(net.count[SPOILT]):
        link = net.spoilt[k]
        while use[link, SPOILED] != NONE:
            following = net.beside[link]
            use[link, SPOILED] = NONE
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
        use[link, SPOILED] = 0
        if use[link, LOAD] > 0:
            links[kept] = link
            kept += 1
    return kept


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


@helper
def fill(net, many, time):
    """Progressive filling: the link that offers least per flow fixes the rate of its flows, again and again."""
    use, level, level_link = net.use, net.level, net.level_link
    room, unfixed = net.room, net.unfixed
    size = 0
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
            record(net, flow[members[k], TRANSFER], time, fair)
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
def swap(members, ways, a, b):
    """Let two entries of a list change places."""
    members[a], members[b] = members[b], members[a]
    ways[a], ways[b] = ways[b], ways[a]


@helper
def expect(net, calendar, root):
    """Enter a group's earliest completion into the calendar; links that carry nothing any more part."""
    soonest = np.inf
    link, load = root, 0
    while True:
        load += net.use[link, LOAD]
        soonest = min(soonest, net.pace[link, DUE])
        link = net.beside[link]
        if link == root:
            break
    if soonest < np.inf:
        net.use[root, TICKET] = push(calendar, soonest, FLOW, root)
    while load == 0 and net.beside[root] != root:
        link = net.beside[root]
        net.beside[root] = net.beside[link]
        net.parent[link] = net.beside[link] = link


@helper
def settle(net, calendar, route, size, fresh, many, time):
    """At the end of a wave: let flows share what has to be shared, and expect the next completions.

    The first `many` of `fresh` are the transfers that have begun to flow where others do. Only groups in which
    somebody's share may have changed are solved.
    """
    count, use = net.count, net.use
    for k in range(count[BEREFT]):
        link = net.bereft[k]
        use[link, LEFT] = 0
        if use[link, LOAD] == 0:
            use[link, LISTED] = use[link, MINE] = 0
        elif use[link, MINE] > 0:
            spoil(count, net.spoilt, use, find(net.parent, link))
    count[BEREFT] = 0
    for k in range(many):
        i = fresh[k]
        for m in range(net.route_start[route[i]], net.route_start[route[i] + 1]):
            if use[net.route_links[m], LONE] != NONE:
                bind(net, route, size, np.int64(net.route_links[m]), time)
        enter(net, i, route[i], size[i])
    if count[SPOILT] > 0:
        found = gather(net)
        fill(net, found, time)
        for k in range(found):
            if net.parent[net.links[k]] == net.links[k]:
                expect(net, calendar, net.links[k])
    for k in range(count[FIRED]):
        root = net.fired[k]
        if net.parent[root] == root and use[root, TICKET] == NONE:
            expect(net, calendar, root)
    count[FIRED] = 0


@helper
def complete(net, root, limit, arrived):
    """List in `arrived` the transfers of a group that are through by `limit`; returns how many there are.

    Its links take turns: what began together ends together, and lies together in the arrays of transfers.
    """
    count, use, pace, members, ways, flow = net.count, net.use, net.pace, net.members, net.ways, net.flow
    links, cursor = net.links, net.level_link
    due = arrivals = 0
    link = root
    while True:
        if pace[link, DUE] <= limit:
            links[due] = link
            cursor[due] = net.first[link] + use[link, MINE] - 1
            net.level[due] = max(pace[link, LEAST], pace[link, PASSED] + pace[link, RATE] * (limit - pace[link, SINCE]))
            due += 1
            pace[link, LEAST] = np.inf
        link = net.beside[link]
        if link == root:
            break
    while due > 0:
        kept = 0
        for d in range(due):
            link, k, bytes_through = links[d], cursor[d], net.level[d]
            if k < net.first[link]:
                more = (pace[link, LEAST] - pace[link, PASSED]) / pace[link, RATE]
                pace[link, DUE] = pace[link, SINCE] + more
                continue
            slot = members[k]
            if net.finish[slot] > bytes_through:
                pace[link, LEAST] = min(pace[link, LEAST], net.finish[slot])
            else:
                last = net.first[link] + use[link, MINE] - 1
                arrived[arrivals] = flow[slot, TRANSFER]
                arrivals += 1
                flow[slot, BOTTLENECK] = STILL
                if k < last:
                    swap(members, ways, k, last)
                use[link, MINE] -= 1
                r = flow[slot, ROUTE]
                for m in range(net.route_start[r], net.route_start[r + 1]):
                    other = net.route_links[m]
                    use[other, LOAD] -= 1
                    if use[other, LEFT] == 0:
                        use[other, LEFT] = 1
                        net.bereft[count[BEREFT]] = other
                        count[BEREFT] += 1
            links[kept], cursor[kept], net.level[kept] = link, k - 1, bytes_through
            kept += 1
        due = kept
    use[root, TICKET] = NONE
    net.fired[count[FIRED]] = root
    count[FIRED] += 1
    return arrivals
