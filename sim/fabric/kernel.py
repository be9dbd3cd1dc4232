"""Bytes in motion: the kernel that moves every active flow to the next moment that matters.

A transfer whose dependencies are met begins to flow after its lead (overhead plus the route's latency), once its
connection is free, gets its max-min fair share of every link on its route until its bytes are through, and ends after
its reduction. What happens at one instant is handled together (a wave). A flow alone on its links needs no sharing.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.base.compiled import helper, jit
from sim.fabric.calendar import BEGIN, CHAIN, END, FLOW, HEAP, ITEM, KIND, NODES, Calendar, free, pop, push
from sim.fabric.connections import Connections, begin_to_flow, queue, vacate
from sim.fabric.groups import complete, settle, take_apart
from sim.fabric.links import (
    ANEW,
    BOTTLENECK,
    FIRED,
    GONE,
    HELD,
    HISTORY,
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
    crossed,
    enter,
    find,
    make_stale,
    swap,
)
from sim.fabric.lone import bind, leave_alone
from sim.fabric.max_min import SAME
from sim.fabric.rows import LACKING, WIDTH, Alike, launch_alike, release_alike, rows_are_short

REDUCE = 1
IDLE, HORIZON, DONE, PAUSED = 0, 1, 2, 3
"""Why `advance` returned: nothing left to happen, the horizon, a finished job, the work allowance."""
JOBS, LAUNCHED, FINISHED, ALLOWANCE, WAVES = range(5)
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
    connection: Array
    """NONE where nobody else has the same."""
    behind: Array
    """While it waits for its connection: the next in line; once it flows: who flowed before it, if it waited for that.
    Else NONE."""
    pending: Array
    """How many it still waits for."""
    after_start: Array
    after: Array
    """What waits for row i: `after[after_start[i]:after_start[i + 1]]`."""
    alike: Alike
    """Instead of those two where all ranks do alike."""
    connections: Connections
    ready: Array
    start: Array
    end: Array
    cause: Array
    """What it waited for last, or -1."""
    wave: Array
    """Of this wave: transfers that have arrived from the front; from the back connections that may send their next, and
    `~i` for transfers without one."""
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
    if fabric.alike.count[WIDTH] > 0:
        launch_alike(fabric, time)
        return
    for i in range(fabric.job_stop[job - 1] if job > 0 else 0, fabric.job_stop[job]):
        if fabric.pending[i] == 0:
            fabric.ready[i] = time
            fabric.cause[i] = NONE
            push(fabric.calendar, time + fabric.lead[fabric.route[i]], BEGIN, i)


@jit
def touch(fabric, bar, link, time):
    """Have the flows on a link whose capacity has changed share anew."""
    net = fabric.net
    fabric.now[0] = max(fabric.now[0], time)
    bind(net, fabric.route, fabric.size, link, fabric.now[0])
    take_apart(net, bar, link, fabric.now[0])
    if net.state[link, LOAD] > 0:
        make_stale(net.count, net.stale, net.state, find(net.parent, link), ANEW)


@jit
def divert(fabric, bar, i, other, time):
    """Have the rest of a flow take another route from now on, which is its own; its latency is over."""
    net, state = fabric.net, fabric.net.state
    fabric.now[0] = max(fabric.now[0], time)
    slot = np.int64(NONE)
    start = net.route_start[fabric.route[i]]
    for k in range(start, net.route_start[fabric.route[i] + 1]):
        link = np.int64(net.route_links[k])
        bind(net, fabric.route, fabric.size, link, fabric.now[0])
        take_apart(net, bar, link, fabric.now[0])
        make_stale(net.count, net.stale, state, find(net.parent, link), ANEW)
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
    fabric.lead[other] = fabric.lead[fabric.route[i]]
    fabric.route[i] = other
    for k in range(net.route_start[other], net.route_start[other + 1]):
        bind(net, fabric.route, fabric.size, np.int64(net.route_links[k]), fabric.now[0])
    enter(net, i, other, max(0.0, left))


@helper
def history_is_short(fabric):
    """Whether the next wave's changes of rate might find no room.

    Each entry, and each flow or the one that its connection sends next, can change once or twice.
    """
    room = len(fabric.net.history)
    changing = fabric.calendar.size[NODES] + fabric.connections.flows[0]
    return room > 0 and fabric.net.count[HISTORY] + 2 * changing >= room


@helper
def release(fabric, i, moment):
    """Let go what waits for a transfer that has ended, and count it off its job."""
    if fabric.alike.count[WIDTH] > 0:
        if not release_alike(fabric, i, moment):
            return
    else:
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
def advance(fabric, bar, horizon):
    """Let time pass until `horizon`, until a job has finished, or until nothing is left to happen.

    Returns IDLE, HORIZON, DONE or PAUSED. One pass of the outer loop is a wave, one of the inner loop a
    calendar entry: it begins transfers, completes flows or ends reductions. What arrives is listed in
    `wave`, then either goes on to its reduction or releases what waits for it.

    Five moments of a rank that sends 1 MB of partial sums over an idle link of 1 GB/s and 2 µs (overhead 1 µs, gamma
    0.1 ns per byte), and of what waits for it:

        0 µs       the job is launched: the transfer is ready, its BEGIN is entered for 0 + 3 µs
        3 µs       BEGIN: its connection sends nothing else; alone on its route, so its FLOW is entered for 3 + 1000 µs
        1003 µs    FLOW: the last byte is there; a reduction, so its END is entered for 1003 + 100 µs
        1103 µs    END: what waits for it alone is ready, its BEGIN is entered for 1103 + 3 µs
        1106 µs    BEGIN of the next, and so on, until the calendar is empty

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
        if begun > 0:
            begun = begin_to_flow(fabric, begun)
        if begun + net.count[STALE] + net.count[VACATED] + net.count[FIRED] > 0:
            settle(net, bar, calendar, route, size, wave, begun, now[0])
            begun = np.int64(0)
            count[ALLOWANCE] -= 8 * net.count[VISITS]
            net.count[VISITS] = 0
        if count[FINISHED] > 0:
            return DONE
        if calendar.size[HEAP] == 0:
            return IDLE
        if calendar.time[0] > horizon:
            return HORIZON
        if count[ALLOWANCE] < 0 or history_is_short(fabric) or rows_are_short(fabric):
            return PAUSED
        count[WAVES] += 1
        moment = calendar.time[0]
        limit = moment * (1 + SAME)
        while calendar.size[HEAP] > 0 and calendar.time[0] <= limit and fabric.alike.count[LACKING] == 0:
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
                    first, stop = route_start[route[item]], route_start[route[item] + 1]
                    if first == stop or size[item] == 0:
                        fabric.start[item] = moment
                        wave[0] = item
                        arrivals = 1
                    else:
                        begun += queue(fabric, item, first, stop, begun)
                elif kind == FLOW and live:
                    i = np.int64(net.state[item, LONE])
                    if i == NONE:
                        arrivals = complete(net, bar, route, item, moment, limit, wave)
                    else:
                        leave_alone(net, item, route_start[route[i]], route_start[route[i] + 1])
                        wave[0] = i
                        arrivals = 1
                elif kind == END:
                    wave[0] = item
                    arrivals = 1
                for a in range(arrivals):
                    i = np.int64(wave[a])
                    if kind == FLOW:
                        begun += vacate(fabric, i, begun)
                    fabric.end[i] = moment
                    if gamma > 0 and kind != END and fabric.op[i] == REDUCE:
                        push(calendar, moment + gamma * size[i], END, i)
                    else:
                        release(fabric, i, moment)
