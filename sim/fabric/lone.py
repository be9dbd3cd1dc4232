"""A flow alone on its links, which needs no sharing: one rate and one completion, kept by the first link of its route.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

import numpy as np

from sim.base.compiled import helper
from sim.fabric.calendar import FLOW, push
from sim.fabric.links import LOAD, LONE, NONE, RATE, SINCE, TICKET, enter, record


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
        share = net.capacity[link]
        if state[link, LOAD] > 1:  # a route that crosses it again
            share /= state[link, LOAD]
        rate = min(rate, share)
    net.clock[entrance, RATE], net.clock[entrance, SINCE] = rate, moment
    if rate > 0:
        state[entrance, TICKET] = push(calendar, moment + size / rate, FLOW, entrance)
        if len(net.history) > 0:
            record(net, i, moment, rate)


@helper
def leave_alone(net, entrance, start, stop):
    """Take a transfer that had its route to itself off its links."""
    for k in range(start, stop):
        link = net.route_links[k]
        net.state[link, LOAD] = 0
        net.state[link, LONE] = NONE
    net.state[entrance, TICKET] = NONE


@helper
def bind(net, route, size, link, time):
    """Let a flow that was alone on its links share them, from now on."""
    i = np.int64(net.state[link, LONE])
    if i != NONE:
        r = route[i]
        start, stop = net.route_start[r], net.route_start[r + 1]
        entrance = np.int64(net.route_links[start])
        leave_alone(net, entrance, start, stop)
        enter(net, i, r, max(0.0, size[i] - net.clock[entrance, RATE] * (time - net.clock[entrance, SINCE])))
