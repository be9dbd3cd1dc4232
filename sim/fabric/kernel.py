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
    BOTTLENECK,
    DUE,
    FIRED,
    GONE,
    HELD,
    HISTORY,
    IS_VACATED,
    LEAST,
    LISTED,
    LOAD,
    LONE,
    LOST,
    NONE,
    PASSED,
    RATE,
    SINCE,
    STALE,
    TICKET,
    TRANSFER,
    VACATED,
    VISITS,
    Net,
    bind,
    crossed,
    enter,
    find,
    make_stale,
    record,
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
"""Entries of `FabricState.count`."""

Array = Any


class FabricState(NamedTuple):
    """All state of the fabric; times in seconds, sizes in bytes.

    Large arrays are allocated for the worst case and touched as needed. A row is a transfer, or a mark between steps.
    """

    count: Array
    """Lengths of lists, and work done: `JOBS` to `WAVES`."""
    now: Array
    """One entry: the moment up to which all is simulated."""
    gamma: Array
    """One entry: seconds per byte reduced."""
    net: Net
    calendar: Calendar
    lead: Array
    """Per route: from ready to the first byte, overhead and latencies together."""
    op: Array
    """Per row, as all up to `wave`: 0 copies, 1 reduces."""
    route: Array
    size: Array
    pending: Array
    """How many it still waits for."""
    after_start: Array
    after: Array
    """What waits for row i: `after[after_start[i]:after_start[i + 1]]`."""
    ready: Array
    start: Array
    end: Array
    cause: Array
    """What it waited for last, or -1."""
    wave: Array
    """Transfers of this wave: what has arrived from the front, what has begun to flow where others do from the back."""
    job_stop: Array
    """Per job: the row after its last."""
    job_left: Array
    """Per job: how many rows have not ended."""
    job_end: Array
    """Per job: when it starts; once it has ended, when it did."""
    finished: Array
    """Jobs that have ended and were not told of yet."""


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
def launch(fabric, job):
    """Start the transfers of a job that wait for nothing."""
    time = fabric.job_end[job]
    for i in range(fabric.job_stop[job - 1] if job > 0 else 0, fabric.job_stop[job]):
        if fabric.pending[i] == 0:
            fabric.ready[i] = time
            fabric.cause[i] = NONE
            push(fabric.calendar, time + fabric.lead[fabric.route[i]], BEGIN, i)


@jit
def touch(fabric, link, time):
    """Have the flows on a link whose capacity has changed share anew."""
    net = fabric.net
    fabric.now[0] = max(fabric.now[0], time)
    bind(net, fabric.route, fabric.size, link, fabric.now[0])
    if net.state[link, LOAD] > 0:
        make_stale(net.count, net.stale, net.state, find(net.parent, link))


@jit
def divert(fabric, i, other, time):
    """Have the rest of a flow take another route from now on."""
    net, state = fabric.net, fabric.net.state
    fabric.now[0] = max(fabric.now[0], time)
    slot = np.int64(NONE)
    start = net.route_start[fabric.route[i]]
    for k in range(start, net.route_start[fabric.route[i] + 1]):
        link = np.int64(net.route_links[k])
        bind(net, fabric.route, fabric.size, link, fabric.now[0])
        make_stale(net.count, net.stale, state, find(net.parent, link))
        state[link, LOAD] -= 1
        if crossed(net, start, k):
            continue
        state[link, LISTED] -= 1
        at, held_end, last = net.first[link], net.first[link] + state[link, HELD], net.first[link] + state[link, LISTED]
        while net.flow[net.members[at], TRANSFER] != i or net.flow[net.members[at], BOTTLENECK] == GONE:
            at += 1
        slot = np.int64(net.members[at])
        if at < held_end:
            state[link, HELD] -= 1
            swap(net.members, net.elsewhere, at, held_end - 1)
            at = held_end - 1
        swap(net.members, net.elsewhere, at, last)
    left = net.finish[slot]
    held = np.int64(net.flow[slot, BOTTLENECK])
    if held != NONE:
        left -= net.clock[held, PASSED] + net.clock[held, RATE] * (fabric.now[0] - net.clock[held, SINCE])
        net.clock[held, LEAST] = LOST
    net.flow[slot, BOTTLENECK] = GONE
    fabric.route[i] = other
    for k in range(net.route_start[other], net.route_start[other + 1]):
        bind(net, fabric.route, fabric.size, np.int64(net.route_links[k]), fabric.now[0])
    enter(net, i, other, max(0.0, left))


@helper
def history_is_short(fabric):
    """Might the next wave's changes of rate find no room? Each entry and each flow can change once or twice."""
    room = len(fabric.net.history)
    return room > 0 and fabric.net.count[HISTORY] + 2 * fabric.calendar.size[NODES] + fabric.count[FLOWS] >= room


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
def settle(net, calendar, route, size, wave, begun, time):
    """At the end of a wave: let flows share what has to be shared, max-min fairly, and expect the next completions.

    The last `begun` of `wave` are the transfers that have begun to flow where others do. Only groups in which
    somebody's share may have changed are solved.
    """
    count, state = net.count, net.state
    for k in range(count[VACATED]):
        link = net.vacated[k]
        state[link, IS_VACATED] = 0
        if state[link, LOAD] == 0:
            state[link, LISTED] = state[link, HELD] = 0
        elif state[link, HELD] > 0:
            make_stale(count, net.stale, state, find(net.parent, link))
    count[VACATED] = 0
    for k in range(begun):
        i = np.int64(wave[len(wave) - 1 - k])
        for m in range(net.route_start[route[i]], net.route_start[route[i] + 1]):
            if state[net.route_links[m], LONE] != NONE:
                bind(net, route, size, np.int64(net.route_links[m]), time)
        enter(net, i, route[i], size[i])
    if count[STALE] > 0:
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
def complete(net, route, root, limit, wave):
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


@helper
def is_free(net, start, stop):
    """Whether nobody flows over the links of a route, nor shares others with them."""
    for k in range(start, stop):
        link = net.route_links[k]
        if net.state[link, LOAD] > 0 or net.ring[link] != link:
            return False
    return True


@helper
def flow_alone(net, calendar, i, start, stop, size, moment):
    """Let a transfer have its whole route to itself; the first link of it keeps its rate and its completion."""
    state = net.state
    entrance = np.int64(net.route_links[start])
    rate = np.inf
    for k in range(start, stop):
        link = net.route_links[k]
        state[link, LOAD] += 1
        state[link, LONE] = i
        rate = min(rate, net.capacity[link] / state[link, LOAD])
    net.clock[entrance, RATE], net.clock[entrance, SINCE] = rate, moment
    if rate > 0:
        state[entrance, TICKET] = push(calendar, moment + size / rate, FLOW, entrance)
        if len(net.history) > 0:
            record(net, i, moment, rate)


@helper
def leave_alone(net, i, entrance, start, stop):
    """Take a transfer that had its route to itself off its links."""
    for k in range(start, stop):
        net.state[net.route_links[k], LOAD] -= 1
        net.state[net.route_links[k], LONE] = NONE
    net.state[entrance, TICKET] = NONE


@helper
def release(fabric, i, moment):
    """Let go what waits for a transfer that has ended, and count it off its job."""
    for e in range(fabric.after_start[i], fabric.after_start[i + 1]):
        j = np.int64(fabric.after[e])
        fabric.pending[j] -= 1
        if fabric.pending[j] == 0:
            fabric.ready[j] = moment
            fabric.cause[j] = i
            push(fabric.calendar, moment + fabric.lead[fabric.route[j]], BEGIN, j)
    job = job_of(fabric.job_stop, fabric.count[JOBS], i)
    fabric.job_left[job] -= 1
    if fabric.job_left[job] == 0:
        fabric.job_end[job] = moment
        fabric.finished[fabric.count[FINISHED]] = job
        fabric.count[FINISHED] += 1


@jit
def advance(fabric, horizon):
    """Let time pass until `horizon`, until a job has finished, or until nothing is left to happen.

    Returns IDLE, HORIZON, DONE or PAUSED. One pass of the outer loop is a wave, one of the inner loop a
    calendar entry: it begins transfers, completes flows or ends reductions. What arrives is listed in
    `wave`, then either goes on to its reduction or releases what waits for it.

    Five moments of a rank that sends 1 MB of partial sums over an idle link of 1 GB/s and 2 us (overhead 1 us, gamma
    0.1 ns per byte), and of what waits for it:

        0 us       the job is launched: the transfer is ready, its BEGIN is entered for 0 + 3 us
        3 us       BEGIN: alone on its route, so its FLOW is entered for 3 + 1000 us; nothing to settle
        1003 us    FLOW: the last byte is there; a reduction, so its END is entered for 1003 + 100 us
        1103 us    END: what waits for it alone is ready, its BEGIN is entered for 1103 + 3 us
        1106 us    BEGIN of the next, and so on, until the calendar is empty

    >>> from sim.engine import simulate
    >>> from sim.machines import build
    >>> from sim.schedule import reduce, unroll
    >>> chain = unroll([reduce(0, 1, slot=0), reduce(1, 2, slot=0)], name="chain", n=3, promise=None)
    >>> machine = build("switch:ranks=3,bandwidth=1GBps,latency=1us,overhead=1us,gamma=0.1ns")
    >>> trace = simulate(machine, chain, size=1e6)
    >>> [[round(moment * 1e6) for moment in (trace.ready[i], trace.start[i], trace.end[i])] for i in range(2)]
    [[0, 3, 1103], [1103, 1106, 2206]]
    """
    count, now, net, calendar, wave = fabric.count, fabric.now, fabric.net, fabric.calendar, fabric.wave
    route, route_start, size = fabric.route, net.route_start, fabric.size
    gamma = fabric.gamma[0]
    while count[LAUNCHED] < count[JOBS]:
        launch(fabric, count[LAUNCHED])
        count[LAUNCHED] += 1
    begun = np.int64(0)  # an integer of numpy's: numba would compile `settle` for a literal nought as well
    while True:
        if begun + net.count[STALE] + net.count[VACATED] + net.count[FIRED] > 0:
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
        if count[ALLOWANCE] < 0 or history_is_short(fabric):
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
                live = kind != FLOW or net.state[item, TICKET] == node
                node = free(calendar, node)
                count[ALLOWANCE] -= 1
                arrivals = 0
                if kind == BEGIN:
                    fabric.start[item] = moment
                    first, stop = route_start[route[item]], route_start[route[item] + 1]
                    if first == stop or size[item] == 0:
                        wave[0] = item
                        arrivals = 1
                    else:
                        count[FLOWS] += 1
                        if is_free(net, first, stop):
                            flow_alone(net, calendar, item, first, stop, size[item], moment)
                        else:
                            begun += 1
                            wave[len(wave) - begun] = item
                elif kind == FLOW and live:
                    i = np.int64(net.state[item, LONE])
                    if i == NONE:
                        arrivals = complete(net, route, item, limit, wave)
                    else:
                        leave_alone(net, i, item, route_start[route[i]], route_start[route[i] + 1])
                        wave[0] = i
                        arrivals = 1
                    count[FLOWS] -= arrivals
                elif kind == END:
                    wave[0] = item
                    arrivals = 1
                for a in range(arrivals):
                    i = np.int64(wave[a])
                    fabric.end[i] = moment
                    if gamma > 0 and kind != END and fabric.op[i] == REDUCE:
                        push(calendar, moment + gamma * size[i], END, i)
                    else:
                        release(fabric, i, moment)
