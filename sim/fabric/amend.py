"""After a few flows have ended: the shares of their group put right from what they were, link by link.

Between solves a link keeps what it has left for the flows it holds back (`room`) and how often these cross it
(`unfixed`, negative), and a group keeps its links in the order of their shares (`ring`), which a completion hardly
changes. So a change of a link's share is told to the links that its flows cross, and no flow is asked: only one that
crosses two links which have changed places in the order gets another bottleneck.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

import numpy as np

from sim.base.compiled import helper
from sim.fabric.calendar import FLOW, push
from sim.fabric.links import (
    BOTTLENECK,
    DUE,
    FOUND,
    HELD,
    HIGHEST,
    LEAST,
    LISTED,
    LONG,
    LOST,
    NONE,
    OVERTAKEN,
    PASSED,
    RATE,
    SINCE,
    TICKET,
    TRANSFER,
    VISITS,
    record,
    swap,
)
from sim.fabric.max_min import SAME

NEAR = 32
"""Entries of a list that are looked at together."""
UNKNOWN, NOTED, SEVERAL = np.int64(0), np.int64(1), np.int64(2)
"""Where the flows of the link that falls behind stand in its list: not looked for yet, in `place`, or not to be told by
one other link each."""


@helper
def amend(net, calendar, root, time):
    """Put a group's shares right after flows have left, and expect its next completion.

    Returns whether it did, or gave up as too much has changed.

    In the example of `sim.fabric.max_min`, at 1 s, a has left A -> B, which has 6 B/s for b alone; B -> C, next in the
    order, has 10 - 3 = 7 for c. A -> B goes from 3 up to 6, so B -> C has 10 - 6 = 4 left, less than the link before
    it: it overtakes, and holds back b, too, who crosses both. Each gets (4 + 6) / 2 = 5 B/s, A -> B holds back nobody.
    """
    clock, links, level = net.clock, net.links, net.level
    last = net.order[root, HIGHEST]
    link = np.int64(net.ring[last])
    links[0] = link
    amount, allowance = 1, np.int64(64) + 2 * net.state[link, HELD]
    while link != last:
        link = np.int64(net.ring[link])
        links[amount] = link
        amount += 1
        allowance += 2 * net.state[link, HELD]
    k = 0
    while k < amount and allowance > 0:
        link = np.int64(links[k])
        share = offer(net, link)
        too_late = k > 0 and share < level[k - 1] * (1 - SAME)
        rises = share > clock[link, RATE] and k + 1 < amount
        if too_late or (rises and offer(net, np.int64(links[k + 1])) < share * (1 - SAME)):
            k -= too_late
            allowance -= 1 + overtake(net, k, time)
            continue
        level[k] = share
        if net.unfixed[link] < 0 and share != clock[link, RATE]:
            allowance -= change(net, link, share, time)
        k += 1
    forget(net)
    last = np.int64(links[amount - 1])
    net.order[root, HIGHEST] = last
    soonest = np.inf
    for k in range(amount):
        link = np.int64(links[k])
        net.ring[last] = link
        last = link
        expire(net, link, time)
        soonest = min(soonest, clock[link, DUE])
    if allowance > 0 and soonest < np.inf:
        net.state[root, TICKET] = push(calendar, soonest, FLOW, root)
    return allowance > 0


@helper
def offer(net, link):
    """What a link has for each of the flows it holds back, B/s."""
    if net.unfixed[link] < 0:
        return max(0.0, net.room[link]) / -net.unfixed[link]
    return np.inf if net.room[link] >= -SAME * net.capacity[link] else 0.0


@helper
def change(net, link, share, time):
    """Let a link give each of the flows it holds back another share, and the others on their ways what that leaves."""
    room, elsewhere = net.room, net.elsewhere
    bring_up(net.clock, link, time)
    more = share - net.clock[link, RATE]
    net.clock[link, RATE] = share
    first = net.first[link]
    held = net.state[link, HELD]
    start, stop = np.uint64(first), np.uint64(first + held)
    long_ways = 0
    if net.count[LONG] > 0:
        for k in range(start, stop):  # several are read at once
            long_ways += elsewhere[k] >= 0
    if long_ways == 0:  # without a branch, and with indices that need not be looked at, in half the time
        for k in range(start, stop):
            room[np.uint64(~elsewhere[k])] -= more
    else:
        for k in range(start, stop):
            way = np.int64(elsewhere[k])
            if way < 0:
                room[~way] -= more
            else:
                for m in range(net.route_start[way], net.route_start[way + 1]):
                    if net.route_links[m] != link:
                        room[net.route_links[m]] -= more
    net.count[VISITS] += held
    return held


@helper
def overtake(net, k, time):
    """Let the link at k in the order and the next change places; what crosses both is held back by the other now."""
    links, elsewhere, state, place = net.links, net.elsewhere, net.state, net.place
    old, new = np.int64(links[k]), np.int64(links[k + 1])
    links[k], links[k + 1] = new, old
    first = net.first[old]
    before = state[old, HELD]
    if net.count[OVERTAKEN] != old:
        forget(net)
        net.count[OVERTAKEN] = old
    elif net.count[FOUND] == UNKNOWN:  # it falls behind one after the other: where its flows stand is found out once
        note(net, old)
    if net.count[FOUND] == NOTED:
        at = np.int64(place[new])
        if at != NONE:
            last = first + before - 1
            place[~np.int64(elsewhere[last])] = at
            place[new] = NONE
            give(net, at, old, new, time)
    else:
        at = next_crossing(net, first, first, first + before, new)
        while at < first + state[old, HELD]:
            give(net, at, old, new, time)
            at = next_crossing(net, first, at, first + state[old, HELD], new)
    return before if state[old, HELD] < before else 0


@helper
def note(net, link):
    """Note where in the list of a link its flows stand, by the other link each of them crosses, if that tells them."""
    first, stop = net.first[link], net.first[link] + net.state[link, HELD]
    net.count[FOUND] = NOTED
    if net.count[LONG] > 0:
        net.count[FOUND] = SEVERAL
        return
    for k in range(first, stop):
        net.place[~np.int64(net.elsewhere[k])] = k
    for k in range(first, stop):
        if net.place[~np.int64(net.elsewhere[k])] != k:
            net.count[FOUND] = SEVERAL
    if net.count[FOUND] == SEVERAL:
        for k in range(first, stop):
            net.place[~np.int64(net.elsewhere[k])] = NONE


@helper
def forget(net):
    """Forget where the flows of a link stand, as another falls behind, or time passes."""
    if net.count[FOUND] == NOTED:
        first = net.first[net.count[OVERTAKEN]]
        for k in range(first, first + net.state[net.count[OVERTAKEN], HELD]):
            net.place[~np.int64(net.elsewhere[k])] = NONE
    net.count[FOUND] = UNKNOWN
    net.count[OVERTAKEN] = NONE


@helper
def next_crossing(net, first, at, stop, link):
    """Where in a list, from `at` on, the next flow stands that crosses a link, too; `stop` where none does."""
    elsewhere = net.elsewhere
    while at < stop:
        near = np.int64(1)
        if first + NEAR <= stop:
            at = min(at, stop - NEAR)  # the last ones once more with some before, rather than one by one
            near = np.int64(0)
            for entry in range(np.uint64(at), np.uint64(at + NEAR)):  # without a branch: several are read at once
                near += (elsewhere[entry] == ~link) | (elsewhere[entry] >= 0)
        following = min(at + NEAR, stop)
        while near > 0 and at < following:
            way = np.int64(elsewhere[at])
            crosses = way == ~link
            if way >= 0:
                for m in range(net.route_start[way], net.route_start[way + 1]):
                    crosses |= net.route_links[m] == link
            if crosses:
                return at
            at += 1
        at = following
    return stop


@helper
def give(net, at, old, new, time):
    """Have a link hold back a flow that another did, at whose place in its list stands its last one now."""
    last = net.first[old] + net.state[old, HELD] - 1
    swap(net.members, net.elsewhere, at, last)
    net.state[old, HELD] -= 1
    hand(net, np.int64(net.members[last]), np.int64(net.elsewhere[last]), old, new, time)


@helper
def hand(net, slot, way, old, new, time):
    """Give a flow another bottleneck; what it has left to wait for there is what it had left here."""
    clock, state, room, unfixed, finish = net.clock, net.state, net.room, net.unfixed, net.finish
    if state[new, HELD] == 0:
        clock[new, RATE], clock[new, PASSED], clock[new, LEAST] = 0.0, 0.0, np.inf
    bring_up(clock, old, time)
    bring_up(clock, new, time)
    if finish[slot] <= clock[old, LEAST]:
        clock[old, LEAST] = LOST
    finish[slot] = clock[new, PASSED] + max(0.0, finish[slot] - clock[old, PASSED])
    clock[new, LEAST] = min(clock[new, LEAST], finish[slot])
    net.flow[slot, BOTTLENECK] = new
    to = net.first[new] + state[new, HELD]
    swap(net.members, net.elsewhere, place_of(net.members, slot, to, net.first[new] + state[new, LISTED]), to)
    state[new, HELD] += 1
    if way < 0:
        unfixed[old] += 1
        room[old] -= clock[new, RATE]
        unfixed[new] -= 1
        room[new] += clock[old, RATE]
    else:
        for m in range(net.route_start[way], net.route_start[way + 1]):
            other = np.int64(net.route_links[m])
            if other == old:
                unfixed[old] += 1
            else:
                room[other] += clock[old, RATE]
            if other == new:
                unfixed[new] -= 1
            else:
                room[other] -= clock[new, RATE]


@helper
def place_of(members, slot, k, stop):
    """Where a slot stands in a list, from k on."""
    apart = True
    while apart and k + NEAR <= stop:
        hits = 0
        for entry in range(np.uint64(k), np.uint64(k + NEAR)):
            hits += members[entry] == slot
        apart = hits == 0
        k += NEAR * apart
    while members[k] != slot:
        k += 1
    return k


@helper
def bring_up(clock, link, time):
    """Count what a link has let pass up to now."""
    clock[link, PASSED] += clock[link, RATE] * (time - clock[link, SINCE])
    clock[link, SINCE] = time


@helper
def expire(net, link, time):
    """Find when the first of a link's flows is through, if their share or themselves have changed."""
    clock, members = net.clock, net.members
    first = net.first[link]
    stop = first + net.state[link, HELD]
    if stop == first:
        clock[link, DUE] = np.inf
    elif clock[link, SINCE] == time:
        if clock[link, LEAST] == LOST:
            clock[link, LEAST] = np.inf
            for k in range(first, stop):
                clock[link, LEAST] = min(clock[link, LEAST], net.finish[members[k]])
        left, rate = max(0.0, clock[link, LEAST] - clock[link, PASSED]), clock[link, RATE]
        clock[link, DUE] = time + left / rate if rate > 0 else np.inf
        if len(net.history) > 0:
            for k in range(first, stop):
                record(net, np.int64(net.flow[members[k], TRANSFER]), time, rate)
