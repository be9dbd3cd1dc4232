"""Bytes in motion: the kernel that moves every active flow to the next moment that matters.

A transfer whose dependencies are met begins to flow after its lead (overhead plus the route's latency), gets
its max-min fair share of every link on its route until its bytes are through, and ends after its reduction.
What happens at one instant is handled together (a wave). Flows that share links, directly or through others,
form a group; only groups that a wave has changed are solved again, and each has one event in the calendar:
its earliest completion. A flow alone on its links is a group of one and never needs solving.

Plain functions over the arrays of a `World`, interpreted or compiled (see `sim.speed`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.speed import helper, jit

REDUCE = 1
BEGIN, FLOW, END = np.int64(0), np.int64(1), np.int64(2)
"""What a calendar entry holds: transfers about to flow, groups with a completion, reductions about to end.
Typed, like the index arrays below, so that each helper is compiled once."""
IDLE, HORIZON, DONE, PAUSED = 0, 1, 2, 3
"""Why `advance` returned: nothing left to happen, the horizon, a finished job, the work allowance."""
HEAP, NODES, SPARE_NODE, FLOWS, SPARE_FLOW, SPOILT, FINISHED, HISTORY, SOLVES, ALLOWANCE, WAVES = range(11)
"""Columns of `World.count`."""
LOAD, OWNER, USERS, STAMP, FIRST = range(5)
"""Columns of `World.use`: active flows, a flow of the group that uses the link; the rest is for solving."""
TRANSFER, PARENT, FOLLOW, TAIL, TICKET, DIRTY, SEEN = range(7)
"""Columns of `World.group`: the flow's transfer, the group it belongs to, the group's calendar node."""
LEFT, SINCE, RATE, DUE = range(4)
"""Columns of `World.motion`: bytes left at `SINCE` s, B/s, and when the last byte is through."""
KIND, CHAIN = range(2)
ITEM, NEXT = range(2)
"""Columns of `World.heap` and `World.nodes`: a moment's kind and first node; a node's item and next node."""
SAME = 1e-12
"""Moments closer than this, relative, are one: rounding may not split what is simultaneous."""
NONE = -1

Array = Any


class World(NamedTuple):
    """All state of the fabric. Large arrays are allocated for the worst case and touched as needed.

    One row per link: `capacity` (B/s), `use`, `room`. Per route: `route_links[route_start[r]:...]` and `lead`,
    the seconds from ready to the first byte. Per transfer: `op` to `cause`; times in seconds, sizes in bytes;
    `after[after_start[i]:...]` wait for transfer i, `cause` is what it waited for last. Per active flow:
    `group` and `motion`. The calendar: `heap` of moments, each with a chain of `nodes`; `last_*` is the newest
    moment of each kind, so that simultaneous entries share one. `history` keeps (time, rate) per change.
    """

    count: Array
    now: Array
    gamma: Array
    capacity: Array
    use: Array
    room: Array
    route_start: Array
    route_links: Array
    lead: Array
    op: Array
    route: Array
    size: Array
    pending: Array
    after_start: Array
    after: Array
    job: Array
    ready: Array
    start: Array
    end: Array
    cause: Array
    group: Array
    motion: Array
    heap_time: Array
    heap: Array
    nodes: Array
    last_time: Array
    last_node: Array
    arrived: Array
    spoilt: Array
    flows: Array
    uses: Array
    links: Array
    level: Array
    level_link: Array
    job_left: Array
    job_end: Array
    finished: Array
    history_transfer: Array
    history: Array


@helper
def _push(count, heap_time, heap, nodes, last_time, last_node, time, kind, item):
    """Enter an item into the calendar; returns its node."""
    node = count[SPARE_NODE]
    if node >= 0:
        count[SPARE_NODE] = nodes[node, NEXT]
    else:
        node = count[NODES]
        count[NODES] = node + 1
    nodes[node, ITEM] = item
    nodes[node, NEXT] = NONE
    if last_node[kind] >= 0 and last_time[kind] == time:
        nodes[last_node[kind], NEXT] = node
    else:
        at = count[HEAP]
        count[HEAP] = at + 1
        while at > 0:
            up = (at - 1) // 2
            if heap_time[up] <= time:
                break
            heap_time[at] = heap_time[up]
            heap[at, KIND] = heap[up, KIND]
            heap[at, CHAIN] = heap[up, CHAIN]
            at = up
        heap_time[at] = time
        heap[at, KIND] = kind
        heap[at, CHAIN] = node
        last_time[kind] = time
    last_node[kind] = node
    return node


@helper
def _pop(count, heap_time, heap, last_time, last_node):
    """Take the earliest moment off the calendar; its fields must have been read before."""
    kind = heap[0, KIND]
    if last_time[kind] == heap_time[0]:
        last_node[kind] = NONE
    size = count[HEAP] - 1
    count[HEAP] = size
    time = heap_time[size]
    at = 0
    while True:
        low = 2 * at + 1
        if low >= size:
            break
        if low + 1 < size and heap_time[low + 1] < heap_time[low]:
            low += 1
        if heap_time[low] >= time:
            break
        heap_time[at] = heap_time[low]
        heap[at, KIND] = heap[low, KIND]
        heap[at, CHAIN] = heap[low, CHAIN]
        at = low
    heap_time[at] = time
    heap[at, KIND] = heap[size, KIND]
    heap[at, CHAIN] = heap[size, CHAIN]


@helper
def _find(group, flow):
    """The representative of a flow's group."""
    root = flow
    while group[root, PARENT] != root:
        root = group[root, PARENT]
    while group[flow, PARENT] != root:
        up = group[flow, PARENT]
        group[flow, PARENT] = root
        flow = up
    return root


@helper
def _join(group, a, b):
    """Make the groups of two representatives one."""
    if a != b:
        group[group[a, TAIL], FOLLOW] = b
        group[a, TAIL] = group[b, TAIL]
        group[b, PARENT] = a
        group[a, TICKET] = NONE
        group[b, TICKET] = NONE


@helper
def _spoil(count, group, spoilt, root):
    """Have a group solved at the end of this wave."""
    group[root, TICKET] = NONE
    if group[root, DIRTY] == 0:
        group[root, DIRTY] = 1
        spoilt[count[SPOILT]] = root
        count[SPOILT] += 1


@helper
def _record(count, history_transfer, history, transfer, time, rate):
    """Keep a change of rate, if anyone wants to know; counts on when there is no more room."""
    if len(history) > 0:
        k = count[HISTORY]
        count[HISTORY] = k + 1
        if k < len(history):
            history_transfer[k] = transfer
            history[k, 0] = time
            history[k, 1] = rate


@helper
def _gather(w, time):
    """Collect the flows of all spoiled groups, brought up to `time`; returns how many there are."""
    count, group, motion, flows = w.count, w.group, w.motion, w.flows
    stamp = count[SOLVES]
    found = 0
    for d in range(count[SPOILT]):
        group[w.spoilt[d], DIRTY] = 0
        root = _find(group, w.spoilt[d])
        if group[root, SEEN] == stamp:
            continue
        group[root, SEEN] = stamp
        p = root
        while p >= 0:
            following = group[p, FOLLOW]
            if group[p, TRANSFER] < 0:
                group[p, FOLLOW] = count[SPARE_FLOW]
                count[SPARE_FLOW] = p
            else:
                motion[p, LEFT] = max(0.0, motion[p, LEFT] - motion[p, RATE] * (time - motion[p, SINCE]))
                motion[p, SINCE] = time
                flows[found] = p
                found += 1
            p = following
    count[SPOILT] = 0
    for f in range(found):
        p = flows[f]
        group[p, PARENT] = p
        group[p, FOLLOW] = NONE
        group[p, TAIL] = p
        group[p, TICKET] = NONE
    return found


@helper
def _list_uses(w, found):
    """Join flows that share a link into groups and list every link's flows; returns the number of links."""
    group, use, room, flows, uses = w.group, w.use, w.room, w.flows, w.uses
    route, route_start, route_links, links = w.route, w.route_start, w.route_links, w.links
    stamp = w.count[SOLVES]
    many = 0
    for f in range(found):
        p = flows[f]
        r = route[group[p, TRANSFER]]
        for k in range(route_start[r], route_start[r + 1]):
            link = route_links[k]
            if use[link, STAMP] != stamp:
                use[link, STAMP] = stamp
                use[link, USERS] = 0
                use[link, OWNER] = p
                room[link] = w.capacity[link]
                links[many] = link
                many += 1
            else:
                _join(group, _find(group, use[link, OWNER]), _find(group, p))
            use[link, USERS] += 1
    total = 0
    for k in range(many):
        use[links[k], FIRST] = total
        total += use[links[k], USERS]
    for f in range(found):
        r = route[group[flows[f], TRANSFER]]
        for k in range(route_start[r], route_start[r + 1]):
            link = route_links[k]
            uses[use[link, FIRST]] = flows[f]
            use[link, FIRST] += 1
    for k in range(many):
        use[links[k], FIRST] -= use[links[k], USERS]
    return many


@helper
def _fill(w, found, many, time):
    """Progressive filling: the link that offers least per flow fixes the rate of its flows, again and again."""
    group, motion, use, room, uses = w.group, w.motion, w.use, w.room, w.uses
    route, route_start, route_links = w.route, w.route_start, w.route_links
    level, level_link = w.level, w.level_link
    stamp = w.count[SOLVES]
    size = 0
    for k in range(many):
        link = w.links[k]
        size = _raise(level, level_link, size, room[link] / use[link, USERS], link)
    for f in range(found):
        group[w.flows[f], SEEN] = -stamp
    fixed = 0
    while fixed < found:
        share, link = level[0], level_link[0]
        size = _lower(level, level_link, size)
        if use[link, USERS] == 0:
            continue
        fair = max(0.0, room[link]) / use[link, USERS]
        if fair > share * (1 + SAME):
            size = _raise(level, level_link, size, fair, link)
            continue
        k = use[link, FIRST]
        while use[link, USERS] > 0:
            p = uses[k]
            k += 1
            if group[p, SEEN] != -stamp:
                continue
            group[p, SEEN] = stamp
            fixed += 1
            i = group[p, TRANSFER]
            if fair != motion[p, RATE]:
                motion[p, RATE] = fair
                _record(w.count, w.history_transfer, w.history, i, time, fair)
            motion[p, DUE] = time + motion[p, LEFT] / fair if fair > 0 else np.inf
            for m in range(route_start[route[i]], route_start[route[i] + 1]):
                room[route_links[m]] -= fair
                use[route_links[m], USERS] -= 1


@helper
def _solve(w, time):
    """Share links max-min fairly among the flows of all spoiled groups, and form their groups anew."""
    group, motion = w.group, w.motion
    w.count[SOLVES] += 1
    found = _gather(w, time)
    w.count[ALLOWANCE] -= 8 * found
    _fill(w, found, _list_uses(w, found), time)
    for f in range(found):
        p = w.flows[f]
        if group[p, PARENT] == p:
            soonest = np.inf
            q = p
            while q >= 0:
                soonest = min(soonest, motion[q, DUE])
                q = group[q, FOLLOW]
            if soonest < np.inf:
                group[p, TICKET] = _push(
                    w.count, w.heap_time, w.heap, w.nodes, w.last_time, w.last_node, soonest, FLOW, p
                )


@helper
def _raise(level, level_link, size, share, link):
    """Add a link to the heap of fair shares; returns the heap's size."""
    at = size
    while at > 0:
        up = (at - 1) // 2
        if level[up] <= share:
            break
        level[at] = level[up]
        level_link[at] = level_link[up]
        at = up
    level[at] = share
    level_link[at] = link
    return size + 1


@helper
def _lower(level, level_link, size):
    """Take the least share off the heap; returns the heap's size."""
    size -= 1
    share, link = level[size], level_link[size]
    at = 0
    while True:
        low = 2 * at + 1
        if low >= size:
            break
        if low + 1 < size and level[low + 1] < level[low]:
            low += 1
        if level[low] >= share:
            break
        level[at] = level[low]
        level_link[at] = level_link[low]
        at = low
    level[at] = share
    level_link[at] = link
    return size


@jit
def launch(w, first, stop, time):
    """Start the transfers of a job that wait for nothing."""
    for i in range(first, stop):
        if w.pending[i] == 0:
            w.ready[i] = time
            w.cause[i] = NONE
            moment = time + w.lead[w.route[i]]
            _push(w.count, w.heap_time, w.heap, w.nodes, w.last_time, w.last_node, moment, BEGIN, i)


@jit
def touch(w, link, time):
    """Have the flows on a link whose capacity has changed share anew."""
    w.now[0] = max(w.now[0], time)
    if w.use[link, LOAD] > 0:
        _spoil(w.count, w.group, w.spoilt, _find(w.group, w.use[link, OWNER]))


@jit
def divert(w, flow, other, time):
    """Have the rest of a flow take another route from now on."""
    group, use, route_start, route_links = w.group, w.use, w.route_start, w.route_links
    w.now[0] = max(w.now[0], time)
    i = group[flow, TRANSFER]
    for k in range(route_start[w.route[i]], route_start[w.route[i] + 1]):
        use[route_links[k], LOAD] -= 1
    w.route[i] = other
    for k in range(route_start[other], route_start[other + 1]):
        link = route_links[k]
        if use[link, LOAD] == 0:
            use[link, OWNER] = flow
        else:
            _join(group, _find(group, use[link, OWNER]), _find(group, flow))
        use[link, LOAD] += 1
    _spoil(w.count, group, w.spoilt, _find(group, flow))


@jit
def history_is_short(w):
    """Might the next wave's changes of rate find no room? Each entry and each flow can change once or twice."""
    room = len(w.history)
    return room > 0 and w.count[HISTORY] + 2 * w.count[NODES] + w.count[FLOWS] >= room


@jit
def advance(w, horizon):
    """Let time pass until `horizon`, until a job has finished, or until nothing is left to happen.

    Returns IDLE, HORIZON, DONE or PAUSED. One pass of the outer loop is a wave, one of the inner loop a
    calendar entry: it begins transfers, completes flows or ends reductions. What arrives is listed in
    `arrived`, then either goes on to its reduction or releases what waits for it.
    """
    count, now, heap_time, heap, nodes = w.count, w.now, w.heap_time, w.heap, w.nodes
    last_time, last_node, group, motion, use = w.last_time, w.last_node, w.group, w.motion, w.use
    route, route_start, route_links, lead, capacity = w.route, w.route_start, w.route_links, w.lead, w.capacity
    op, size, pending, ready, start, end, cause = w.op, w.size, w.pending, w.ready, w.start, w.end, w.cause
    after_start, after, arrived, spoilt = w.after_start, w.after, w.arrived, w.spoilt
    job_of, job_left, job_end, finished = w.job, w.job_left, w.job_end, w.finished
    history_transfer, history = w.history_transfer, w.history
    gamma = w.gamma[0]
    while True:
        if count[SPOILT] > 0:
            _solve(w, now[0])
        if count[FINISHED] > 0:
            return DONE
        if count[HEAP] == 0:
            return IDLE
        if heap_time[0] > horizon:
            return HORIZON
        if count[ALLOWANCE] < 0 or history_is_short(w):
            return PAUSED
        count[WAVES] += 1
        moment = heap_time[0]
        limit = moment * (1 + SAME)
        while count[HEAP] > 0 and heap_time[0] <= limit:
            kind, node = heap[0, KIND], heap[0, CHAIN]
            now[0] = moment
            _pop(count, heap_time, heap, last_time, last_node)
            while node >= 0:
                item, following = nodes[node, ITEM], nodes[node, NEXT]
                live = kind != FLOW or group[item, TICKET] == node
                nodes[node, NEXT] = count[SPARE_NODE]
                count[SPARE_NODE] = node
                node = following
                count[ALLOWANCE] -= 1
                arrivals = 0
                if kind == BEGIN:
                    start[item] = moment
                    r = route[item]
                    if route_start[r] == route_start[r + 1] or size[item] == 0:
                        arrived[0] = item
                        end[item] = moment
                        arrivals = 1
                    else:
                        p = count[SPARE_FLOW]
                        if p >= 0:
                            count[SPARE_FLOW] = group[p, FOLLOW]
                        else:
                            p = count[FLOWS]
                            count[FLOWS] = p + 1
                        group[p, TRANSFER] = item
                        group[p, PARENT] = p
                        group[p, FOLLOW] = NONE
                        group[p, TAIL] = p
                        group[p, TICKET] = NONE
                        group[p, DIRTY] = 0
                        group[p, SEEN] = 0
                        rate = np.inf
                        alone = True
                        for k in range(route_start[r], route_start[r + 1]):
                            link = route_links[k]
                            if use[link, LOAD] == 0:
                                use[link, OWNER] = p
                            else:
                                alone = False
                                _join(group, _find(group, use[link, OWNER]), _find(group, p))
                            use[link, LOAD] += 1
                            rate = min(rate, capacity[link])
                        motion[p, LEFT] = size[item]
                        motion[p, SINCE] = moment
                        motion[p, DUE] = np.inf
                        motion[p, RATE] = rate if alone else 0.0
                        if not alone:
                            _spoil(count, group, spoilt, _find(group, p))
                        elif rate > 0:
                            _record(count, history_transfer, history, item, moment, rate)
                            motion[p, DUE] = moment + size[item] / rate
                            group[p, TICKET] = _push(
                                count, heap_time, heap, nodes, last_time, last_node, motion[p, DUE], FLOW, p
                            )
                elif kind == FLOW:
                    p = item if live else NONE
                    single = live and group[item, TAIL] == item
                    while p >= 0:
                        i = group[p, TRANSFER]
                        if i >= 0 and motion[p, DUE] <= limit:
                            for k in range(route_start[route[i]], route_start[route[i] + 1]):
                                use[route_links[k], LOAD] -= 1
                            group[p, TRANSFER] = NONE
                            arrived[arrivals] = i
                            end[i] = moment
                            arrivals += 1
                        p = group[p, FOLLOW]
                    if single:
                        group[item, FOLLOW] = count[SPARE_FLOW]
                        count[SPARE_FLOW] = item
                    elif live:
                        _spoil(count, group, spoilt, item)
                else:
                    arrived[0] = item
                    arrivals = 1
                for a in range(arrivals):
                    i = arrived[a]
                    if kind == END:
                        end[i] = moment
                    elif gamma > 0 and op[i] == REDUCE:
                        moment_done = end[i] + gamma * size[i]
                        _push(count, heap_time, heap, nodes, last_time, last_node, moment_done, END, i)
                        continue
                    for e in range(after_start[i], after_start[i + 1]):
                        j = np.int64(after[e])
                        pending[j] -= 1
                        if pending[j] == 0:
                            ready[j] = end[i]
                            cause[j] = i
                            begin = end[i] + lead[route[j]]
                            _push(count, heap_time, heap, nodes, last_time, last_node, begin, BEGIN, j)
                    job = job_of[i]
                    job_left[job] -= 1
                    if job_left[job] == 0:
                        job_end[job] = end[i]
                        finished[count[FINISHED]] = job
                        count[FINISHED] += 1
