"""Bytes in motion: the kernel that moves every active flow to the next moment that matters.

A transfer whose dependencies are met begins to flow after its lead (overhead plus the route's latency), gets
its max-min fair share of every link on its route until its bytes are through, and ends after its reduction.
What happens at one instant is handled together (a wave). A flow alone on its links needs no sharing.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.base.compiled import helper, jit
from sim.fabric.calendar import CHAIN, HEAP, ITEM, KIND, NODES, Calendar, free, pop, push
from sim.fabric.links import (
    BEREFT,
    BOTTLENECK,
    DUE,
    FIRED,
    HISTORY,
    IS_BEREFT,
    LEAST,
    LISTED,
    LOAD,
    LONE,
    LOST,
    MINE,
    NONE,
    PASSED,
    RATE,
    SINCE,
    SPOILT,
    STILL,
    TICKET,
    TRANSFER,
    VISITS,
    Net,
    bind,
    crossed,
    enter,
    find,
    record,
    spoil,
    swap,
)
from sim.fabric.max_min import SAME, fill, gather

REDUCE = 1
BEGIN, FLOW, END = np.int64(0), np.int64(1), np.int64(2)
"""What a calendar entry holds: a transfer about to flow, a link whose group or lone flow has a completion, a transfer
whose reduction ends. Typed, like the index arrays, so that each helper is compiled once."""
IDLE, HORIZON, DONE, PAUSED = 0, 1, 2, 3
"""Why `advance` returned: nothing left to happen, the horizon, a finished job, the work allowance."""
JOBS, LAUNCHED, FLOWS, FINISHED, ALLOWANCE, WAVES = range(6)
"""Entries of `World.count`."""

Array = Any


class World(NamedTuple):
    """All state of the fabric. Large arrays are allocated for the worst case and touched as needed.

    Per route: `lead`, the seconds from ready to the first byte. Per transfer: `op` to `cause`; times in seconds,
    sizes in bytes; `after[after_start[i]:...]` wait for transfer i, `cause` is what it waited for last. Per job: the
    row after its last, how many transfers are left, and when it starts or has ended; then the jobs that have finished.
    `wave` lists transfers of this wave: from the front what has arrived, from the back what has begun to flow where
    others do.
    """

    count: Array
    now: Array
    gamma: Array
    net: Net
    calendar: Calendar
    lead: Array
    op: Array
    route: Array
    size: Array
    pending: Array
    after_start: Array
    after: Array
    ready: Array
    start: Array
    end: Array
    cause: Array
    wave: Array
    job_stop: Array
    job_left: Array
    job_end: Array
    finished: Array


@helper
def job_of(job_stop, jobs, i):
    """The job that a transfer belongs to."""
    low, high = 0, jobs - 1
    while low < high:
        middle = (low + high) >> 1
        if job_stop[middle] > i:
            high = middle
        else:
            low = middle + 1
    return low


@helper
def launch(w, job):
    """Start the transfers of a job that wait for nothing."""
    time = w.job_end[job]
    for i in range(w.job_stop[job - 1] if job > 0 else 0, w.job_stop[job]):
        if w.pending[i] == 0:
            w.ready[i] = time
            w.cause[i] = NONE
            push(w.calendar, time + w.lead[w.route[i]], BEGIN, i)


@jit
def touch(w, link, time):
    """Have the flows on a link whose capacity has changed share anew."""
    net = w.net
    w.now[0] = max(w.now[0], time)
    bind(net, w.route, w.size, link, w.now[0])
    if net.use[link, LOAD] > 0:
        spoil(net.count, net.spoilt, net.use, find(net.parent, link))


@jit
def divert(w, i, other, time):
    """Have the rest of a flow take another route from now on."""
    net, use = w.net, w.net.use
    w.now[0] = max(w.now[0], time)
    slot = np.int64(NONE)
    start = net.route_start[w.route[i]]
    for k in range(start, net.route_start[w.route[i] + 1]):
        link = np.int64(net.route_links[k])
        bind(net, w.route, w.size, link, w.now[0])
        spoil(net.count, net.spoilt, use, find(net.parent, link))
        use[link, LOAD] -= 1
        if crossed(net, start, k):
            continue
        use[link, LISTED] -= 1
        at, mine, last = net.first[link], net.first[link] + use[link, MINE], net.first[link] + use[link, LISTED]
        while net.flow[net.members[at], TRANSFER] != i or net.flow[net.members[at], BOTTLENECK] == STILL:
            at += 1
        slot = np.int64(net.members[at])
        if at < mine:
            use[link, MINE] -= 1
            swap(net.members, net.ways, at, mine - 1)
            at = mine - 1
        swap(net.members, net.ways, at, last)
    left = net.finish[slot]
    held = np.int64(net.flow[slot, BOTTLENECK])
    if held != NONE:
        left -= net.pace[held, PASSED] + net.pace[held, RATE] * (w.now[0] - net.pace[held, SINCE])
        net.pace[held, LEAST] = LOST
    net.flow[slot, BOTTLENECK] = STILL
    w.route[i] = other
    for k in range(net.route_start[other], net.route_start[other + 1]):
        bind(net, w.route, w.size, np.int64(net.route_links[k]), w.now[0])
    enter(net, i, other, max(0.0, left))


@helper
def history_is_short(w):
    """Might the next wave's changes of rate find no room? Each entry and each flow can change once or twice."""
    room = len(w.net.history)
    return room > 0 and w.net.count[HISTORY] + 2 * w.calendar.size[NODES] + w.count[FLOWS] >= room


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
def settle(net, calendar, route, size, wave, begun, time):
    """At the end of a wave: let flows share what has to be shared, and expect the next completions.

    The last `begun` of `wave` are the transfers that have begun to flow where others do. Only groups in which
    somebody's share may have changed are solved.
    """
    count, use = net.count, net.use
    for k in range(count[BEREFT]):
        link = net.bereft[k]
        use[link, IS_BEREFT] = 0
        if use[link, LOAD] == 0:
            use[link, LISTED] = use[link, MINE] = 0
        elif use[link, MINE] > 0:
            spoil(count, net.spoilt, use, find(net.parent, link))
    count[BEREFT] = 0
    for k in range(begun):
        i = np.int64(wave[len(wave) - 1 - k])
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
def complete(net, route, root, limit, wave):
    """List in `wave` the transfers of a group that are through by `limit`; returns how many there are.

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
                wave[arrivals] = flow[slot, TRANSFER]
                arrivals += 1
                flow[slot, BOTTLENECK] = STILL
                if k < last:
                    swap(members, ways, k, last)
                use[link, MINE] -= 1
                r = route[flow[slot, TRANSFER]]
                for m in range(net.route_start[r], net.route_start[r + 1]):
                    other = net.route_links[m]
                    use[other, LOAD] -= 1
                    if use[other, IS_BEREFT] == 0:
                        use[other, IS_BEREFT] = 1
                        net.bereft[count[BEREFT]] = other
                        count[BEREFT] += 1
            links[kept], cursor[kept], net.level[kept] = link, k - 1, bytes_through
            kept += 1
        due = kept
    use[root, TICKET] = NONE
    net.fired[count[FIRED]] = root
    count[FIRED] += 1
    return arrivals


@jit
def advance(w, horizon):
    """Let time pass until `horizon`, until a job has finished, or until nothing is left to happen.

    Returns IDLE, HORIZON, DONE or PAUSED. One pass of the outer loop is a wave, one of the inner loop a
    calendar entry: it begins transfers, completes flows or ends reductions. What arrives is listed in
    `wave`, then either goes on to its reduction or releases what waits for it.
    """
    count, now, net, calendar = w.count, w.now, w.net, w.calendar
    capacity, use, pace, beside = net.capacity, net.use, net.pace, net.beside
    route, route_start, route_links, lead = w.route, net.route_start, net.route_links, w.lead
    op, size, pending, ready, start, end, cause = w.op, w.size, w.pending, w.ready, w.start, w.end, w.cause
    after_start, after, wave = w.after_start, w.after, w.wave
    job_stop, job_left, job_end, finished = w.job_stop, w.job_left, w.job_end, w.finished
    gamma = w.gamma[0]
    while count[LAUNCHED] < count[JOBS]:
        launch(w, count[LAUNCHED])
        count[LAUNCHED] += 1
    begun = np.int64(0)  # an integer of numpy's: numba would compile `settle` for a literal nought as well
    while True:
        if begun + net.count[SPOILT] + net.count[BEREFT] + net.count[FIRED] > 0:
            settle(net, calendar, route, size, wave, begun, now[0])
            begun = np.int64(0)
            count[ALLOWANCE] -= 8 * net.count[VISITS]
            net.count[VISITS] = 0
        if count[FINISHED] > 0:
            return DONE
        if calendar.size[HEAP] == 0:
            return IDLE
        if calendar.time[0] > horizon:
            return HORIZON
        if count[ALLOWANCE] < 0 or history_is_short(w):
            return PAUSED
        count[WAVES] += 1
        moment = calendar.time[0]
        limit = moment * (1 + SAME)
        while calendar.size[HEAP] > 0 and calendar.time[0] <= limit:
            kind, node = calendar.heap[0, KIND], np.int64(calendar.heap[0, CHAIN])
            now[0] = moment
            pop(calendar)
            while node >= 0:
                item = np.int64(calendar.nodes[node, ITEM])
                live = kind != FLOW or use[item, TICKET] == node
                node = free(calendar, node)
                count[ALLOWANCE] -= 1
                arrivals = 0
                if kind == BEGIN:
                    start[item] = moment
                    r = route[item]
                    if route_start[r] == route_start[r + 1] or size[item] == 0:
                        wave[0] = item
                        arrivals = 1
                    else:
                        count[FLOWS] += 1
                        alone = True
                        for k in range(route_start[r], route_start[r + 1]):
                            link = route_links[k]
                            if use[link, LOAD] > 0 or beside[link] != link:
                                alone = False
                                break
                        if not alone:
                            begun += 1
                            wave[len(wave) - begun] = item
                        else:
                            door = np.int64(route_links[route_start[r]])
                            rate = np.inf
                            for k in range(route_start[r], route_start[r + 1]):
                                link = route_links[k]
                                use[link, LOAD] += 1
                                use[link, LONE] = item
                                rate = min(rate, capacity[link] / use[link, LOAD])
                            pace[door, RATE], pace[door, SINCE] = rate, moment
                            if rate > 0:
                                use[door, TICKET] = push(calendar, moment + size[item] / rate, FLOW, door)
                                if len(net.history) > 0:
                                    record(net, item, moment, rate)
                elif kind == FLOW:
                    i = np.int64(use[item, LONE])
                    if live and i != NONE:
                        for k in range(route_start[route[i]], route_start[route[i] + 1]):
                            use[route_links[k], LOAD] -= 1
                            use[route_links[k], LONE] = NONE
                        use[item, TICKET] = NONE
                        wave[0] = i
                        arrivals = 1
                    elif live:
                        arrivals = complete(net, route, item, limit, wave)
                    count[FLOWS] -= arrivals
                else:
                    wave[0] = item
                    arrivals = 1
                for a in range(arrivals):
                    i = np.int64(wave[a])
                    end[i] = moment
                    if gamma > 0 and kind != END and op[i] == REDUCE:
                        push(calendar, moment + gamma * size[i], END, i)
                        continue
                    for e in range(after_start[i], after_start[i + 1]):
                        j = np.int64(after[e])
                        pending[j] -= 1
                        if pending[j] == 0:
                            ready[j] = moment
                            cause[j] = i
                            push(calendar, moment + lead[route[j]], BEGIN, j)
                    job = job_of(job_stop, count[JOBS], i)
                    job_left[job] -= 1
                    if job_left[job] == 0:
                        job_end[job] = moment
                        finished[count[FINISHED]] = job
                        count[FINISHED] += 1
