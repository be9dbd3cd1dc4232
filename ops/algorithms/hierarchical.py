"""Hierarchical algorithms: inside the node first, then between nodes.

Ranks i·group … i·group + group - 1 are node i.
"""

from typing import Annotated, Any

import numpy as np

from ops.collectives import allreduce
from ops.registry import algorithm
from ops.shapes import runs
from sim.parameters import Bounds
from sim.schedule import Steps, copy, reduce

Group = Annotated[int, Bounds(0, 1 << 16)]
"""Ranks per node; 0 stands for the largest number up to 8 that divides n."""


def node_size(n: int, group: int) -> int:
    """Ranks per node, with the default filled in."""
    return group or max(g for g in range(1, 9) if n % g == 0)


def whole_nodes(n: int, *, group: int, **_: Any) -> str | None:
    """For algorithms that need equal nodes."""
    return None if n % node_size(n, group) == 0 else f"needs nodes of {group} ranks, which do not make up {n}"


def _cost_2d(n: int, *, group: int) -> tuple[float, float, float]:
    g = node_size(n, group)
    nodes = n // g
    return 2 * (g - 1 + nodes - 1), 2 * ((g - 1) / g + (nodes - 1) / n), (g - 1) / g + (nodes - 1) / n


@algorithm(
    allreduce,
    pieces=lambda n, **_: n,
    only=whole_nodes,
    cost=_cost_2d,
    ids={"ucc": "split_rail", "oneccl": "2d", "kucg": "13"},
    reference="Cho et al., BlueConnect, MLSys 2019",
)
def hierarchical_2d(n: int, *, group: Group = 0) -> Steps:
    """A ring reduce-scatter inside each node, one ring per local rank between nodes, a ring allgather inside."""
    g = node_size(n, group)
    nodes = n // g
    node, local = np.divmod(np.arange(n), g)
    right, ahead = node * g + (local + 1) % g, (node + 1) % nodes * g + local
    rank = np.arange(n)
    yield "reduce-scatter in the node"
    for k in range(g - 1):
        yield reduce(rank, right, slot=runs((local - k - 1) % g * nodes, nodes))
    yield "reduce-scatter between nodes"
    for k in range(nodes - 1):
        yield reduce(rank, ahead, slot=local * nodes + (node - k - 1) % nodes)
    yield "allgather between nodes"
    for k in range(nodes - 1):
        yield copy(rank, ahead, slot=local * nodes + (node - k) % nodes)
    yield "allgather in the node"
    for k in range(g - 1):
        yield copy(rank, right, slot=runs((local - k) % g * nodes, nodes))
