"""When things happen: a heap of moments, each with a chain of what happens then.

Kernel functions, interpreted or compiled (see `sim.base.compiled`).
"""

from typing import Any, NamedTuple

import numpy as np

from sim.base.compiled import helper

HEAP, NODES, SPARE = range(3)
"""Entries of `Calendar.size`: moments, nodes ever used, the first node that is free again."""
KIND, CHAIN = range(2)
ITEM, NEXT = range(2)
"""Columns of `Calendar.heap` and `Calendar.nodes`: a moment's kind and first node; a node's item and next node."""
BEGIN, FLOW, END = np.int64(0), np.int64(1), np.int64(2)
"""What an entry holds: a transfer about to flow, a link whose group or lone flow has a completion, a transfer whose
reduction ends. Typed, like the index arrays, so that each helper is compiled once."""
KINDS = 3
NONE = -1

Array = Any


class Calendar(NamedTuple):
    """Moments in seconds and their chains of `nodes`.

    `last_*` is the newest moment of each kind, so that entries of one kind made for one moment share it.
    """

    size: Array
    time: Array
    heap: Array
    nodes: Array
    last_time: Array
    last_node: Array


def calendar() -> Calendar:
    """An empty calendar without room."""
    return Calendar(
        size=np.array([0, 0, NONE], np.int64),
        time=np.empty(0),
        heap=np.empty((0, 2), np.int32),
        nodes=np.empty((0, 2), np.int32),
        last_time=np.zeros(KINDS),
        last_node=np.full(KINDS, NONE, np.int32),
    )


@helper
def push(c, time, kind, item):
    """Enter an item; returns its node."""
    node = c.size[SPARE]
    if node >= 0:
        c.size[SPARE] = c.nodes[node, NEXT]
    else:
        node = c.size[NODES]
        c.size[NODES] = node + 1
    c.nodes[node, ITEM] = item
    c.nodes[node, NEXT] = NONE
    if c.last_node[kind] >= 0 and c.last_time[kind] == time:
        c.nodes[c.last_node[kind], NEXT] = node
    else:
        at = c.size[HEAP]
        c.size[HEAP] = at + 1
        while at > 0:
            up = (at - 1) >> 1
            if c.time[up] <= time:
                break
            c.time[at] = c.time[up]
            c.heap[at, KIND] = c.heap[up, KIND]
            c.heap[at, CHAIN] = c.heap[up, CHAIN]
            at = up
        c.time[at] = time
        c.heap[at, KIND] = kind
        c.heap[at, CHAIN] = node
        c.last_time[kind] = time
    c.last_node[kind] = node
    return node


@helper
def pop(c):
    """Take the earliest moment away; its fields must have been read before, its nodes be freed afterwards."""
    kind = c.heap[0, KIND]
    if c.last_time[kind] == c.time[0]:
        c.last_node[kind] = NONE
    size = c.size[HEAP] - 1
    c.size[HEAP] = size
    time = c.time[size]
    at = 0
    while True:
        low = 2 * at + 1
        if low >= size:
            break
        if low + 1 < size and c.time[low + 1] < c.time[low]:
            low += 1
        if c.time[low] >= time:
            break
        c.time[at] = c.time[low]
        c.heap[at, KIND] = c.heap[low, KIND]
        c.heap[at, CHAIN] = c.heap[low, CHAIN]
        at = low
    c.time[at] = time
    c.heap[at, KIND] = c.heap[size, KIND]
    c.heap[at, CHAIN] = c.heap[size, CHAIN]


@helper
def free(c, node):
    """Give a node back; returns the next one of its chain."""
    following = c.nodes[node, NEXT]
    c.nodes[node, NEXT] = c.size[SPARE]
    c.size[SPARE] = node
    return following
