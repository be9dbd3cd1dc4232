"""Flows that share: links that carry the same flows form a group, which has one completion in the calendar.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

import numpy as np

from sim.base.compiled import helper
from sim.fabric.amend import amend
from sim.fabric.calendar import FLOW, push
from sim.fabric.crossbar.group import PATIENCE, adopt, arrive, dissolve
from sim.fabric.crossbar.shares import put_right
from sim.fabric.crossbar.table import CALM, FLOWS, ROOT
from sim.fabric.links import (
    AMEND,
    ANEW,
    BOTTLENECK,
    CREDIT,
    DUE,
    FEW,
    FIRED,
    GONE,
    HELD,
    IS_STALE,
    IS_VACATED,
    LEAST,
    LISTED,
    LOAD,
    LONE,
    NONE,
    PASSED,
    RATE,
    SINCE,
    STALE,
    TICKET,
    TRANSFER,
    VACATED,
    enter,
    find,
    make_stale,
    swap,
)
from sim.fabric.lone import bind
from sim.fabric.max_min import fill, gather


@helper
def expect(net, calendar, root):
    """Enter a group's earliest completion into the calendar; links that carry nothing any more part."""
    soonest = np.inf
    link, load = root, 0
    while True:
        load += net.state[link, LOAD]
        soonest = min(soonest, net.clock[link, DUE])
        link = net.ring[link]
        if link == root:
            break
    if soonest < np.inf:
        net.state[root, TICKET] = push(calendar, soonest, FLOW, root)
    while load == 0 and net.ring[root] != root:
        link = net.ring[root]
        net.ring[root] = net.ring[link]
        net.parent[link] = net.ring[link] = link


@helper
def settle(net, bar, calendar, route, size, wave, begun, time):
    """At the end of a wave: let flows share what has to be shared, max-min fairly, and expect the next completions.

    The last `begun` of `wave` are the transfers that have begun to flow where others do. Only groups in which
    somebody's share may have changed are solved; where only a few flows have left, what was is put right. That is done
    until half as many flows have left links as there are links in a group, so that rounding does not add up and groups
    that have come apart are noticed.
    """
    count, state = net.count, net.state
    for k in range(count[VACATED]):
        link = net.vacated[k]
        state[link, IS_VACATED] = 0
        if state[link, LOAD] == 0:
            state[link, LISTED] = state[link, HELD] = 0
        elif state[link, HELD] > 0:
            root = find(net.parent, link)
            net.order[root, CREDIT] -= 2
            make_stale(count, net.stale, state, root, AMEND if net.order[root, CREDIT] > FEW else ANEW)
    count[VACATED] = 0
    for k in range(begun):
        i = np.int64(wave[len(wave) - 1 - k])
        for m in range(net.route_start[route[i]], net.route_start[route[i] + 1]):
            take_apart(net, bar, np.int64(net.route_links[m]), time)
            if state[net.route_links[m], LONE] != NONE:
                bind(net, route, size, np.int64(net.route_links[m]), time)
        enter(net, i, route[i], size[i])
    anew = 0
    for k in range(count[STALE]):
        root = net.stale[k]
        if state[root, IS_STALE] == AMEND and net.parent[root] == root and put_in_order(net, bar, calendar, root, time):
            state[root, IS_STALE] = 0
        else:
            net.stale[anew] = root
            anew += 1
    count[STALE] = anew
    if count[STALE] > 0:
        bar.count[CALM] = 0
        amount = gather(net)
        fill(net, amount, time)
        for k in range(amount):
            if net.parent[net.links[k]] == net.links[k]:
                expect(net, calendar, net.links[k])
    for k in range(count[FIRED]):
        root = net.fired[k]
        if net.parent[root] == root and state[root, TICKET] == NONE:
            expect(net, calendar, root)
    count[FIRED] = 0


@helper
def put_in_order(net, bar, calendar, root, time):
    """Put a group's shares right after flows have left; returns whether it did, as `sim.fabric.amend` does."""
    if bar.count[ROOT] != root:
        bar.count[CALM] += 1
        if bar.count[CALM] != PATIENCE or bar.count[ROOT] != NONE or not adopt(net, bar, root, time):
            return amend(net, calendar, root, time)
    due = put_right(net, bar, time)
    if due < np.inf:
        net.state[root, TICKET] = push(calendar, due, FLOW, root)
    if bar.count[FLOWS] == 0:
        dissolve(net, bar, time)
    return True


@helper
def take_apart(net, bar, link, time):
    """Hand a link's group back to the lists of its links if it is a crossbar: more will change than flows that end."""
    root = bar.count[ROOT]
    if root != NONE and find(net.parent, link) == root:
        dissolve(net, bar, time)
        make_stale(net.count, net.stale, net.state, root, ANEW)


@helper
def complete(net, bar, route, root, time, limit, wave):
    """List in `wave` the transfers of a group that are through by `limit`; returns how many there are.

    In the example of `sim.fabric.max_min`, at 1 s, A -> B and B -> C are a group of which A -> B is due. Its count is
    3: a, which was to wait for 3, is through and leaves the list; b waits for 6, now the least on A -> B. A link whose
    list has been read to its end knows when it is due again: b in (6 - 3) / 3 s, if nothing changes. But a has vacated
    A -> B, so `settle` solves the group anew. B -> C is not due and not looked at.
    Links that are due take turns: what began together ends together, and lies together in the arrays of transfers.
    """
    count, state, clock, members, elsewhere, flow = (
        net.count,
        net.state,
        net.clock,
        net.members,
        net.elsewhere,
        net.flow,
    )
    if bar.count[ROOT] == root:
        return arrive(net, bar, route, time, limit, wave)
    links, cursor = net.links, net.level_link
    due = arrivals = 0
    link = root
    while True:
        if clock[link, DUE] <= limit:
            links[due] = link
            cursor[due] = net.first[link] + state[link, HELD] - 1
            net.level[due] = max(
                clock[link, LEAST], clock[link, PASSED] + clock[link, RATE] * (limit - clock[link, SINCE])
            )
            due += 1
            clock[link, LEAST] = np.inf
        link = net.ring[link]
        if link == root:
            break
    amended = net.order[root, CREDIT] - 2 * due > FEW  # as `settle` counts; what is to be solved anew asks no link
    if not amended:
        net.order[root, CREDIT] = 0
    while due > 0:
        remaining = 0
        for d in range(due):
            link, k, bytes_through = links[d], cursor[d], net.level[d]
            if k < net.first[link]:
                more = (clock[link, LEAST] - clock[link, PASSED]) / clock[link, RATE]
                clock[link, DUE] = clock[link, SINCE] + more
                continue
            slot = members[k]
            if net.finish[slot] > bytes_through:
                clock[link, LEAST] = min(clock[link, LEAST], net.finish[slot])
            else:
                last = net.first[link] + state[link, HELD] - 1
                wave[arrivals] = flow[slot, TRANSFER]
                arrivals += 1
                flow[slot, BOTTLENECK] = GONE
                if k < last:
                    swap(members, elsewhere, k, last)
                state[link, HELD] -= 1
                r = route[flow[slot, TRANSFER]]
                for m in range(net.route_start[r], net.route_start[r + 1]):
                    other = net.route_links[m]
                    state[other, LOAD] -= 1
                    if amended and other == link:
                        net.unfixed[link] += 1
                    elif amended:
                        net.room[other] += clock[link, RATE]
                    if state[other, IS_VACATED] == 0:
                        state[other, IS_VACATED] = 1
                        net.vacated[count[VACATED]] = other
                        count[VACATED] += 1
            links[remaining], cursor[remaining], net.level[remaining] = link, k - 1, bytes_through
            remaining += 1
        due = remaining
    state[root, TICKET] = NONE
    net.fired[count[FIRED]] = root
    count[FIRED] += 1
    return arrivals
