"""Alltoall by nodes: what goes to one node travels together.

Rank i of node a is written (a, i); there are N nodes of g ranks.
"""

import numpy as np

from ops.collectives import alltoall
from ops.patterns import Group, node_size, runs, whole_nodes
from ops.registry import algorithm
from sim.schedule import NOTHING, Steps, copy


def _two_step_cost(n: int, *, group: int) -> tuple[float, float]:
    g = node_size(n, group)
    nodes = n // g
    return (g > 1) + (nodes > 1), (g - 1) / g + (nodes - 1) / nodes


@algorithm(alltoall, only=whole_nodes, cost=_two_step_cost, ids={"msccl": "two_step"}, v={})
def two_step(n: int, *, group: Group = 0) -> Steps:
    """Ranks of a node first hand each other what is for the same position elsewhere, then one message per node goes.

    (a, i) gives (a, m) all it has for any (b, m); then (a, m) sends (b, m) what its whole node has for it.
    """
    g = node_size(n, group)
    nodes = n // g
    a, i, m = (x.reshape(-1, 1) for x in np.unravel_index(np.arange(n * g), (nodes, g, g)))
    b = np.arange(nodes)
    yield "in the node"
    yield copy(a * g + i, a * g + m, slot=b * g + m, to=np.where(b == a, n, 2 * n + (b - a) * g) + a * g + i)
    a, b, m = np.unravel_index(np.arange(nodes * n), (nodes, nodes, g))
    a, b, m = a[a != b], b[a != b], m[a != b]
    if nodes > 1:
        yield "between nodes"
        yield copy(a * g + m, b * g + m, slot=runs(2 * n + b * g, g), to=runs(n + a * g, g))


def _three_step_cost(n: int, *, group: int) -> tuple[float, float]:
    g = node_size(n, group)
    nodes = n // g
    owned = -(-nodes // g) if nodes > 1 else 0
    steps = 1 if nodes == 1 or g == 1 else 3
    return steps, ((g - 1) * (1 + 2 * g * owned) + owned * g * g) / n


@algorithm(
    alltoall,
    ordered=True,
    only=whole_nodes,
    exact=False,
    cost=_three_step_cost,
    ids={"msccl": "three_step", "ucc": "node_split"},
    v={"ucc": "node_split"},
)
def three_step(n: int, *, group: Group = 0) -> Steps:
    """One pair of ranks owns each pair of nodes: collect there, send one message, hand out.

    In node a, rank b mod g collects what is for node b. Fewest messages between nodes, g² blocks each. The
    claim is a bound.
    """
    g = node_size(n, group)
    nodes = n // g
    owned = -(-nodes // g)
    inbox = 2 * n + owned * g * g
    a, i, o = (x.reshape(-1, 1) for x in np.unravel_index(np.arange(n * g), (nodes, g, g)))
    b, m = (x.reshape(1, -1) for x in np.divmod(np.arange(owned * g), g))
    far = o + b * g
    goes = (far < nodes) & (far != a)
    yield "collect"
    yield copy(
        a * g + i,
        a * g + o,
        slot=np.hstack([a * g + o, np.where(goes, far * g + m, NOTHING)]),
        to=np.hstack([n + a * g + i, np.where(goes, 2 * n + (b * g + i) * g + m, NOTHING)]),
    )
    if nodes == 1:
        return
    node, peer = np.nonzero(~np.eye(nodes, dtype=bool))
    yield "between nodes"
    yield copy(
        node * g + peer % g,
        peer * g + node % g,
        slot=runs(2 * n + peer // g * g * g, g * g),
        to=runs(inbox + node // g * g * g, g * g),
    )
    b, o, m = (x.reshape(-1, 1) for x in np.unravel_index(np.arange(n * g), (nodes, g, g)))
    a, i = (x.reshape(1, -1) for x in np.divmod(np.arange(owned * g), g))
    far = o + a * g
    comes = (far < nodes) & (far != b)
    yield "hand out"
    yield copy(
        b * g + o,
        b * g + m,
        slot=np.where(comes, inbox + (a * g + i) * g + m, NOTHING),
        to=np.where(comes, n + far * g + i, NOTHING),
    )
