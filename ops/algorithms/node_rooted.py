"""Broadcast and scatter that follow the machine, as in Hyper MPI's kucg: to the nodes first, then inside each."""

import numpy as np

from ops.algorithms.hierarchical import among, nodes_of
from ops.algorithms.knomial import knomial_broadcast, pairs, served
from ops.algorithms.node_aware import SOURCE, heads_of
from ops.collectives import COLLECTIVES, broadcast, scatter
from ops.patterns import Group, Radix, node_size, rounds, runs, whole_nodes
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import NOTHING, Steps, copy


def _two_rounds(n: int, group: int, between: int, inside: int) -> int:
    g = node_size(n, group)
    return rounds(n // g, between) + rounds(g, inside)


def _to_first(root: int, slots: int) -> Steps:
    """Kucg's trees all start at rank 0: another root hands it everything first."""
    if root:
        yield "to rank 0"
        yield copy(root, 0, slot=runs(0, slots))


@algorithm(
    broadcast,
    name="node_knomial",
    ordered=True,
    only=whole_nodes,
    cost=lambda n, *, group, between, inside: (
        _two_rounds(n, group, between, inside),
        served(n // node_size(n, group), between) + served(node_size(n, group), inside),
    ),
    ids={"kucg": "2, 3, 4"},
    presets={"kucg:2": {"between": 2}},
    reference=f"{SOURCE}/bcast/bcast_na_kntree.c, bcast_na_kntree_and_bntree.c, bcast_na_bntree.c",
)
@titled("k-nomial by node")
def node_knomial_broadcast(n: int, *, root: int = 0, group: Group = 0, between: Radix = 8, inside: Radix = 2) -> Steps:
    """A k-nomial tree from rank 0 reaches the nodes' first ranks, then one in each node reaches the others.

    Another root sends to rank 0 first; the time claimed is that without.
    """
    yield from _to_first(root, 1)
    yield "between nodes"
    yield from among(knomial_broadcast(n // node_size(n, group), radix=between), heads_of(n, group).members)
    yield "in the node"
    yield from among(knomial_broadcast(node_size(n, group), radix=inside), nodes_of(n, node_size(n, group)))


@algorithm(
    scatter,
    name="node_knomial",
    ordered=True,
    only=whole_nodes,
    cost=lambda n, *, group, between, inside: (_two_rounds(n, group, between, inside), (n - 1) / n),
)
@algorithm(
    COLLECTIVES["scatterv"],
    name="node_knomial",
    ordered=True,
    only=whole_nodes,
    ids={"kucg": "3"},
    reference=f"{SOURCE}/scatterv/scatterv_na_kntree.c",
)
@titled("k-nomial by node")
def node_knomial_scatter(n: int, *, root: int = 0, group: Group = 0, between: Radix = 2, inside: Radix = 2) -> Steps:
    """A k-nomial tree from rank 0 hands every node's blocks to its first rank, one in each node hands them out.

    Another root sends all blocks to rank 0 first; the time claimed is that without.
    """
    g = node_size(n, group)
    nodes = n // g
    yield from _to_first(root, n)
    yield "between nodes"
    for k in reversed(range(rounds(nodes, between))):
        parent, child = pairs(nodes, between**k, between)
        blocks = runs(child * g, between**k * g)
        yield copy(parent * g, child * g, slot=np.where(blocks < n, blocks, NOTHING))
    yield "in the node"
    first = np.arange(0, n, g).reshape(-1, 1)
    for k in reversed(range(rounds(g, inside))):
        parent, child = pairs(g, inside**k, inside)
        local = runs(child, inside**k)
        blocks = np.where(local < g, first.reshape(-1, 1, 1) + local, NOTHING).reshape(-1, local.shape[1])
        yield copy((first + parent).reshape(-1), (first + child).reshape(-1), slot=blocks)
