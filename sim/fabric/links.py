"""Links, routes, and the flows on them: who crosses what, and which links belong together.

Links that carry the same flows, directly or through others, form a group. Kernel functions, interpreted or compiled
(see `sim.base.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.base.compiled import helper

SPOILT, BEREFT, FIRED, VISITS, HISTORY = range(5)
"""Entries of `Net.count`: lengths of three lists, flows visited by solves, changes of rate kept."""
LOAD, LONE, TICKET, LISTED, MINE, TAKEN, IS_SPOILT, IS_BEREFT = range(8)
"""Columns of `Net.use`. `LOAD` flows cross the link; if one does and is alone on its whole route, `LONE` is that
transfer. `TICKET` is the calendar node of the group or lone flow. `LISTED` entries of `members` are in use, the
first `MINE` of them for flows the link holds back. `TAKEN` slots of its own have been given out, each once: other
lists may still name a flow that is no more. The rest says which of the lists of links it is in."""
RATE, SINCE, PASSED, LEAST, DUE = range(5)
"""Columns of `Net.pace`: B/s of each flow the link holds back since `SINCE` s, when it had let each pass `PASSED`
bytes; at `LEAST` bytes the first of them is through, at `DUE` s."""
LOST = -1.0
"""`LEAST` when flows it held back have got another bottleneck."""
TRANSFER, BOTTLENECK = range(2)
"""Columns of `Net.flow`, a row per slot."""
NONE = -1
STILL = -2
"""As a bottleneck: not known yet; the flow is no more."""

Array = Any


class Net(NamedTuple):
    """All about links and flows.

    One row per link: `capacity` (B/s), `use`, `pace`, `room` and `unfixed` (what a solve has not handed out yet, and
    to how many); `parent` and `beside` hold a group together, as a tree and as a ring. The flows that cross link k
    are `members[first[k]:...]`, slots in `flow` and `finish` at the same place of their entrance, so that flows that
    come in together lie together. `ways` is where else they go: the complement of their only other link, or their
    route if it has one link or more than two. `finish` is what the bottleneck's `PASSED` must come to, or the bytes
    left while no bottleneck is known. Route r is `route_links[route_start[r]:...]`. Links whose groups must be solved
    are `spoilt`, links that flows have left `bereft`, groups that had a completion `fired`; `links`, `level` and
    `level_link` are for solving. `history` keeps (time, rate) per change of a transfer's rate.
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
    if use[root, IS_SPOILT] == 0:
        use[root, IS_SPOILT] = 1
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
def swap(members, ways, a, b):
    """Let two entries of a list change places."""
    members[a], members[b] = members[b], members[a]
    ways[a], ways[b] = ways[b], ways[a]
