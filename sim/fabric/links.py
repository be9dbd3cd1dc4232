"""Links, routes, and the flows on them: who crosses what, and which links belong together.

Links that carry the same flows, directly or through others, form a group. Kernel functions, interpreted or compiled
(see `sim.base.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.base.compiled import helper, jit

STALE, VACATED, FIRED, VISITS, HISTORY, LONG, OVERTAKEN, FOUND = range(8)
"""Entries of `Net.count`: lengths of three lists, flows visited by solves, changes of rate kept, whether any flow that
has shared links crosses others than two, each once, and which link others overtake and what is known of its flows."""
LOAD, LONE, TICKET, LISTED, HELD, TAKEN, IS_STALE, IS_VACATED = range(8)
"""Columns of `Net.state`. `LOAD` flows cross the link; if one does and is alone on its whole route, `LONE` is that
transfer. `TICKET` is the calendar node of the group or lone flow. `LISTED` entries of `members` are in use, the
first `HELD` of them for flows the link holds back. `TAKEN` slots of its own have been given out, each once: other
lists may still name a flow that is no more. The rest says which of the lists of links it is in."""
RATE, SINCE, PASSED, LEAST, DUE = range(5)
"""Columns of `Net.clock`: B/s of each flow the link holds back since `SINCE` s, when it had let each pass `PASSED`
bytes; at `LEAST` bytes the first of them is through, at `DUE` s."""
LOST = -1.0
"""`LEAST` when flows it held back have got another bottleneck."""
TRANSFER, BOTTLENECK = range(2)
"""Columns of `Net.flow`, a row per slot."""
NONE = -1
HIGHEST, CREDIT = range(2)
"""Columns of `Net.order`, for the root of a group: the link with the largest share, after which its `ring` goes on with
the smallest; twice how many more losses of flows are put right before the group is solved anew."""
FEW = 16
"""Links that a group is solved anew for as fast as its shares are put right."""
AMEND, ANEW = np.int64(1), np.int64(2)
"""As `IS_STALE`: a few flows have ended; anything may have changed."""
GONE = -2
"""As a bottleneck: not known yet; the flow is no more."""

Array = Any


class Net(NamedTuple):
    """All about links and flows. A flow is a transfer under way that shares links; it has a slot of its entrance's.

    The entrance of a route is its first link; flows that come in together lie together in memory. Links that carry the
    same flows, directly or through others, are a group.
    """

    count: Array
    """Lengths of lists, and work done: `STALE` to `FOUND`."""
    capacity: Array
    """Per link: B/s."""
    state: Array
    """Per link: who is on it, `LOAD` to `IS_VACATED`."""
    clock: Array
    """Per link: how fast and how far the flows are that it holds back, `RATE` to `DUE`."""
    room: Array
    """Per link: B/s that a solve has not handed out yet; once solved, what it has for the flows it holds back."""
    unfixed: Array
    """Per link: how many crossings of flows without a rate a solve has left; once solved, less those it holds back."""
    parent: Array
    """Per link: the one above in its group's tree; the root stands for the group."""
    ring: Array
    """Per link: the next one of its group, round and round; once solved, by growing share."""
    order: Array
    """Per link, if it stands for its group: `HIGHEST` and `CREDIT`."""
    first: Array
    """Per link: where its slots, and its list of members, begin."""
    members: Array
    """The slots of the flows that cross link k, from `first[k]` on."""
    elsewhere: Array
    """Beside every member, what else the flow crosses: `~link` if that is one link, else its route's number."""
    flow: Array
    """Per slot: `TRANSFER` and `BOTTLENECK`."""
    finish: Array
    """Per slot: the `PASSED` of its bottleneck at which the flow is through; without a bottleneck, the bytes left."""
    route_start: Array
    """Per route: where its links begin in `route_links`."""
    route_links: Array
    place: Array
    """For putting shares right: where in the list of the link that falls behind its flow stands that crosses this one,
    or NONE."""
    links: Array
    """For solving: the links to solve, then those of which flows are through."""
    stale: Array
    """Roots of groups that must be solved at the end of this wave."""
    vacated: Array
    """Links that flows have left in this wave."""
    fired: Array
    """Roots of groups that had a completion in this wave."""
    level: Array
    """For solving: a heap of shares, B/s."""
    level_link: Array
    """For solving: the link of every share."""
    history_transfer: Array
    """Per change of rate that is kept: the transfer."""
    history: Array
    """Per change of rate that is kept: s and B/s."""


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
def join(parent, ring, state, a, b):
    """Make the groups of two links one; it has no event until it has been solved."""
    a, b = find(parent, a), find(parent, b)
    if a != b:
        a, b = min(a, b), max(a, b)
        parent[b] = a
        ring[a], ring[b] = ring[b], ring[a]
        state[a, TICKET] = NONE
        state[b, TICKET] = NONE


@helper
def make_stale(count, stale, state, root, why):
    """Have a group solved at the end of this wave: `AMEND` or `ANEW`, the more thorough if asked for both."""
    if state[root, IS_STALE] == 0:
        stale[count[STALE]] = root
        count[STALE] += 1
    state[root, IS_STALE] = max(state[root, IS_STALE], why)


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
    state, parent, members, elsewhere = net.state, net.parent, net.members, net.elsewhere
    start, stop = net.route_start[r], net.route_start[r + 1]
    entrance = np.int64(net.route_links[start])
    slot = net.first[entrance] + state[entrance, TAKEN]
    state[entrance, TAKEN] += 1
    net.flow[slot, TRANSFER] = i
    net.flow[slot, BOTTLENECK] = NONE
    net.finish[slot] = left
    for k in range(start, stop):
        link = np.int64(net.route_links[k])
        state[link, LOAD] += 1
        if crossed(net, start, k):
            continue
        at = net.first[link] + state[link, LISTED]
        state[link, LISTED] += 1
        other = np.int64(net.route_links[start + stop - 1 - k])
        members[at] = slot
        elsewhere[at] = ~other if stop - start == 2 and other != link else r
        net.count[LONG] |= elsewhere[at] >= 0
        if parent[link] != parent[entrance]:
            join(parent, net.ring, state, entrance, link)
    make_stale(net.count, net.stale, state, find(parent, entrance), ANEW)


@helper
def swap(members, elsewhere, a, b):
    """Let two entries of a list change places."""
    members[a], members[b] = members[b], members[a]
    elsewhere[a], elsewhere[b] = elsewhere[b], elsewhere[a]


@helper
def every_eighth(latency, links, start, stop):
    """The latencies of every eighth link of a route, added up."""
    total = latency[links[start]]
    for k in range(start + 8, stop, 8):
        total += latency[links[k]]
    return total


@jit
def leads(overhead, latency, route_start, route_links, lead):
    """Add up the lead of every route, s: its overhead, and the latencies of its links.

    The order of the additions is part of the numbers: the links after the first are added up first, in eight columns
    from eight links on, and then added to the first.
    """
    for r in range(len(lead)):
        lead[r] = overhead[r]
        start, stop = np.int64(route_start[r]) + 1, np.int64(route_start[r + 1])
        if start > stop:
            continue
        rest, k = 0.0, start
        if stop - start >= 8:
            k += (stop - start) & ~7
            a, b = every_eighth(latency, route_links, start, k), every_eighth(latency, route_links, start + 1, k)
            c, d = every_eighth(latency, route_links, start + 2, k), every_eighth(latency, route_links, start + 3, k)
            e, f = every_eighth(latency, route_links, start + 4, k), every_eighth(latency, route_links, start + 5, k)
            g, h = every_eighth(latency, route_links, start + 6, k), every_eighth(latency, route_links, start + 7, k)
            rest = ((a + b) + (c + d)) + ((e + f) + (g + h))
        for m in range(k, stop):
            rest += latency[route_links[m]]
        lead[r] = overhead[r] + (latency[route_links[start - 1]] + rest)
