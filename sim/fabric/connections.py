"""Connections: what goes from one place to another on one channel, a message at a time.

A message that is ready while its connection sends another waits in line. When the connection is free it sends the
earliest of the schedule that stands there, whichever was ready first. Latencies of those in line pass meanwhile.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.base.compiled import helper
from sim.fabric.links import LONE, NONE
from sim.fabric.lone import flow_alone, is_free, leave_alone
from sim.fabric.max_min import SAME
from sim.fabric.rows import WIDTH

FLOWING, BEFORE, HEAD, TAIL = range(4)
"""Columns of `Connections.state`: the transfer under way, the one that was so before it, the first and the last of
those in line; NONE where there is none."""
UNDECIDED = -1.0
"""When a transfer started that its connection will send at the end of the wave, if nothing earlier comes."""

Array = Any


class Connections(NamedTuple):
    """Who flows and who waits, a row per connection."""

    state: Array
    """`FLOWING` to `TAIL`."""
    flows: Array
    """One entry: how many transfers flow."""


def no_connections() -> Connections:
    """For a fabric without transfers."""
    return Connections(np.zeros((0, 4), np.int32), np.zeros(1, np.int64))


@helper
def turn(fabric, i):
    """A transfer's place in the schedule, next to others of its connection."""
    if fabric.alike.count[WIDTH] > 0:
        return np.int64(fabric.alike.class_of[i])
    return np.int64(i)


@helper
def queue(fabric, i, start, stop, begun):
    """Send a transfer, or let it stand in line; returns 1 and lists it in `wave` if that shows at its end only, else 0.

    Its links are `route_links[start:stop]`.
    A connection that is free sends at once what comes first, and takes it back if something earlier in the schedule
    comes at the same instant. Where its links are free, too, nothing has to be decided at the end of the wave.
    """
    net = fabric.net
    c = np.int64(fabric.connection[i])
    if c != NONE:
        if not has_turn(fabric, c, i):
            return 0
        fabric.connections.state[c, FLOWING] = i
    if is_free(net, start, stop):
        fabric.start[i] = fabric.now[0]
        fabric.connections.flows[0] += 1
        flow_alone(net, fabric.calendar, i, start, stop, fabric.size[i], fabric.now[0])
        return 0
    if c == NONE:
        fabric.wave[len(fabric.wave) - 1 - begun] = ~i
        fabric.start[i] = fabric.now[0]
    else:
        fabric.wave[len(fabric.wave) - 1 - begun] = c
        fabric.start[i] = UNDECIDED
    return 1


@helper
def has_turn(fabric, c, i):
    """Whether a transfer is what connection c sends from now on; if not, it stands in line or has been given a place.

    Of two that come at one instant, the later in the schedule has to stand in line, even if it came first.
    """
    state, start = fabric.connections.state, fabric.start
    flowing = np.int64(state[c, FLOWING])
    if flowing == NONE and state[c, HEAD] == NONE:
        return True
    later, has = i, False
    if flowing != NONE and turn(fabric, i) < turn(fabric, flowing):
        if start[flowing] == UNDECIDED:
            state[c, FLOWING] = i
            start[i] = UNDECIDED
            start[flowing] = np.nan
            later = flowing
        elif start[flowing] == fabric.now[0] and is_alone(fabric, flowing):
            take_back(fabric, flowing)
            later, has = flowing, True
    stand_in_line(fabric, c, later)
    return has


@helper
def is_alone(fabric, i):
    """Whether a transfer flows, and has all its links to itself."""
    return fabric.net.state[fabric.net.route_links[fabric.net.route_start[fabric.route[i]]], LONE] == i


@helper
def take_back(fabric, i):
    """Stop what has begun to flow at this instant, alone on its links."""
    start, stop = fabric.net.route_start[fabric.route[i]], fabric.net.route_start[fabric.route[i] + 1]
    leave_alone(fabric.net, np.int64(fabric.net.route_links[start]), start, stop)
    fabric.start[i] = np.nan
    fabric.connections.flows[0] -= 1


@helper
def stand_in_line(fabric, c, i):
    """Put a transfer among those that wait for connection c, by their places in the schedule."""
    state, behind = fabric.connections.state, fabric.behind
    tail = np.int64(state[c, TAIL])
    if tail == NONE:
        state[c, HEAD] = i
        state[c, TAIL] = i
        return
    if turn(fabric, tail) < turn(fabric, i):
        behind[tail] = i
        state[c, TAIL] = i
        return
    at = np.int64(state[c, HEAD])
    before = np.int64(NONE)
    while turn(fabric, at) < turn(fabric, i):
        before = at
        at = np.int64(behind[at])
    behind[i] = at
    if before == NONE:
        state[c, HEAD] = i
    else:
        behind[before] = i


@helper
def vacate(fabric, i, begun):
    """Note that a transfer's bytes are through; returns 1 and lists its connection if another stands in line."""
    c = np.int64(fabric.connection[i])
    fabric.connections.flows[0] -= 1
    if c == NONE:
        return 0
    fabric.connections.state[c, FLOWING] = NONE
    if fabric.connections.state[c, HEAD] == NONE:
        return 0
    fabric.connections.state[c, BEFORE] = i
    fabric.wave[len(fabric.wave) - 1 - begun] = c
    return 1


@helper
def begin_to_flow(fabric, begun):
    """Have what `wave` lists flow; returns how many share links, listed there now."""
    net, state, wave, now = fabric.net, fabric.connections.state, fabric.wave, fabric.now[0]
    sharing = np.int64(0)
    for k in range(begun):
        c = np.int64(wave[len(wave) - 1 - k])
        i = ~c
        if c >= 0:
            i = np.int64(state[c, FLOWING])
            if i == NONE:
                i = leave_line(fabric, c, now)
            fabric.start[i] = now
            start, stop = net.route_start[fabric.route[i]], net.route_start[fabric.route[i] + 1]
            if is_free(net, start, stop):
                flow_alone(net, fabric.calendar, i, start, stop, fabric.size[i], now)
                continue
        sharing += 1
        wave[len(wave) - sharing] = i
    fabric.connections.flows[0] += begun
    return sharing


@helper
def leave_line(fabric, c, now):
    """Let the first in line for connection c have it; returns that transfer."""
    state = fabric.connections.state
    i = np.int64(state[c, HEAD])
    state[c, FLOWING] = i
    if state[c, TAIL] == i:
        state[c, HEAD] = NONE
        state[c, TAIL] = NONE
    else:
        state[c, HEAD] = fabric.behind[i]
        fabric.behind[i] = NONE
    if now > (fabric.ready[i] + fabric.lead[fabric.route[i]]) * (1 + SAME):
        fabric.behind[i] = state[c, BEFORE]
    return i
