"""Connections: what goes from one place to another on one channel, a message at a time.

A message that is ready while its connection sends another waits in line. When the connection is free it sends the
earliest of the schedule that stands there, whichever was ready first. Latencies of those in line pass meanwhile.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.base.compiled import helper
from sim.fabric.links import NONE
from sim.fabric.lone import flow_alone, is_free
from sim.fabric.max_min import SAME
from sim.fabric.rows import WIDTH

FLOWING, BEFORE, HEAD, TAIL = range(4)
"""Columns of `Connections.state`: the transfer under way, the one that has just left to those in line, the first and
the last of these; NONE where there is none."""

Array = Any


class Connections(NamedTuple):
    """Who flows and who waits, a row per connection."""

    state: Array
    """`FLOWING` to `TAIL`."""


def no_connections() -> Connections:
    """For a fabric without transfers."""
    return Connections(np.zeros((0, 4), np.int32))


@helper
def turn(fabric, i):
    """A transfer's place in the schedule, next to others of its connection."""
    width = fabric.alike.count[WIDTH]
    if width > 0:
        return np.int64(fabric.alike.class_of[i // width])
    return np.int64(i)


@helper
def queue(fabric, i, begun):
    """Let a transfer stand in line; returns 1 and lists its connection in `wave` if that may send now, else 0."""
    state, behind = fabric.connections.state, fabric.behind
    c = np.int64(fabric.connection[i])
    tail = np.int64(state[c, TAIL])
    if tail == NONE:
        state[c, HEAD] = i
        state[c, TAIL] = i
        if state[c, FLOWING] != NONE:
            return 0
        fabric.wave[len(fabric.wave) - 1 - begun] = c
        return 1
    if turn(fabric, tail) < turn(fabric, i):
        behind[tail] = i
        state[c, TAIL] = i
        return 0
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
    return 0


@helper
def vacate(fabric, i, begun):
    """Note that a transfer's bytes are through; returns 1 and lists its connection if another stands in line."""
    c = np.int64(fabric.connection[i])
    fabric.connections.state[c, FLOWING] = NONE
    if fabric.connections.state[c, HEAD] == NONE:
        return 0
    fabric.connections.state[c, BEFORE] = i
    fabric.wave[len(fabric.wave) - 1 - begun] = c
    return 1


@helper
def begin_to_flow(fabric, begun):
    """Have the connections listed in `wave` send their next; returns how many flows share links, listed there now."""
    net, state, wave, now = fabric.net, fabric.connections.state, fabric.wave, fabric.now[0]
    sharing = np.int64(0)
    for k in range(begun):
        c = np.int64(wave[len(wave) - 1 - k])
        i = np.int64(state[c, HEAD])
        state[c, FLOWING] = i
        if state[c, TAIL] == i:
            state[c, HEAD] = NONE
            state[c, TAIL] = NONE
        else:
            state[c, HEAD] = fabric.behind[i]
            fabric.behind[i] = NONE
        before = state[c, BEFORE]
        if before != NONE:
            state[c, BEFORE] = NONE
            if now > (fabric.ready[i] + fabric.lead[fabric.route[i]]) * (1 + SAME):
                fabric.behind[i] = before
        fabric.start[i] = now
        start, stop = net.route_start[fabric.route[i]], net.route_start[fabric.route[i] + 1]
        if is_free(net, start, stop):
            flow_alone(net, fabric.calendar, i, start, stop, fabric.size[i], now)
        else:
            sharing += 1
            wave[len(wave) - sharing] = i
    return sharing
