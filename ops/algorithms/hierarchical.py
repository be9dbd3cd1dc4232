"""Hierarchical algorithms: inside the node first, then between nodes.

Ranks i·group … i·group + group - 1 are node i.
"""

import numpy as np

from ops.algorithms.doubling import doubling_allreduce, doubling_cost
from ops.algorithms.tree import binomial_broadcast, binomial_gather, binomial_reduce, fan_out
from ops.collectives import COLLECTIVES, allgather, allreduce, broadcast
from ops.patterns import Group, node_size, rounds, runs, whole_nodes
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import NOTHING, Step, Steps, around, copy, every_rank, in_turn, reduce
from sim.symmetry.renamings import Symmetry
from sim.topology import Ints


def among(steps: Steps, members: Ints) -> Steps:
    """What a few ranks do, done by every row of `members` at once: rank i of the steps is each row's i-th."""

    def everywhere(step: Step) -> Step:
        src, dst = (members[:, x].reshape(-1) for x in (step.src, step.dst))
        return Step(step.op, src, dst, *(np.concatenate([x] * len(members)) for x in step[3:]))

    for item in steps:
        if isinstance(item, str):
            yield item
        else:
            yield everywhere(item) if isinstance(item, Step) else tuple(map(everywhere, item))


def nodes_of(n: int, g: int) -> Ints:
    """The ranks of every node of g ranks, one row each."""
    return np.arange(n, dtype=np.int32).reshape(-1, g)


def _cost_2d(n: int, *, group: int) -> tuple[float, float, float]:
    g = node_size(n, group)
    nodes = n // g
    return 2 * (g - 1 + nodes - 1), 2 * ((g - 1) / g + (nodes - 1) / n), (g - 1) / g + (nodes - 1) / n


def _by_node_and_place(n: int, *, group: int) -> Symmetry:
    """Nodes and places in nodes turn each by itself; a slot is a place's share, cut into those of the nodes."""
    g = node_size(n, group)
    return Symmetry((n // g, g), ((g, 1), (n // g, 0)))


@algorithm(
    allreduce,
    pieces=lambda n, **_: n,
    only=whole_nodes,
    cost=_cost_2d,
    symmetry=_by_node_and_place,
    ids={"ucc": "split_rail", "oneccl": "2d"},
    reference="Cho et al., BlueConnect, MLSys 2019",
)
@titled("2D hierarchical")
def hierarchical_2d(n: int, *, group: Group = 0) -> Steps:
    """A ring reduce-scatter inside each node, one ring per local rank between nodes, a ring allgather inside."""
    g = node_size(n, group)
    nodes = n // g
    rank = every_rank(n)
    node, local = np.divmod(rank, g)
    right, ahead = node * g + (local + 1) % g, (node + 1) % nodes * g + local
    yield "reduce-scatter in the node"
    for k in range(g - 1):
        yield reduce(rank, right, slot=runs((local - k - 1) % g * nodes, nodes))
    yield "reduce-scatter between nodes"
    yield from in_turn(nodes - 1, reduce, rank, ahead, lambda k: local * nodes + around(node - k - 1, nodes))
    yield "allgather between nodes"
    yield from in_turn(nodes - 1, copy, rank, ahead, lambda k: local * nodes + around(node - k, nodes))
    yield "allgather in the node"
    for k in range(g - 1):
        yield copy(rank, right, slot=runs((local - k) % g * nodes, nodes))


def _hierarchical_cost(n: int, *, group: int) -> tuple[float, float, float]:
    g = node_size(n, group)
    alphas, betas, gammas = doubling_cost(n // g)
    return 2 * rounds(g) + alphas, 2 * rounds(g) + betas, rounds(g) + gammas


@algorithm(
    allreduce,
    ordered=True,
    only=whole_nodes,
    cost=_hierarchical_cost,
    ids={"mpich": "smp", "ucc": "rab", "kucg": "2"},
)
def hierarchical(n: int, *, group: Group = 0) -> Steps:
    """Each node adds up at its first rank, these ranks exchange totals, each node hears the result."""
    g = node_size(n, group)
    yield "reduce in the node"
    yield from among(binomial_reduce(g), nodes_of(n, g))
    yield "allreduce between nodes"
    yield from among(doubling_allreduce(n // g), nodes_of(n, g)[:, :1].T)
    yield "broadcast in the node"
    yield from among(binomial_broadcast(g), nodes_of(n, g))


def _two_level_rounds(n: int, group: int) -> int:
    g = node_size(n, group)
    return rounds(n // g) + rounds(g)


@algorithm(
    broadcast,
    name="hierarchical",
    ordered=True,
    only=whole_nodes,
    cost=lambda n, *, group: (_two_level_rounds(n, group),) * 2,
    ids={"mpich": "smp", "ucc": "2step"},
)
def hierarchical_broadcast(n: int, *, root: int = 0, group: Group = 0) -> Steps:
    """A binomial tree between nodes, among the ranks at the root's position, then one inside each node."""
    g = node_size(n, group)
    yield "between nodes"
    yield from among(binomial_broadcast(n // g, root=root // g), nodes_of(n, g)[:, root % g :][:, :1].T)
    yield "in the node"
    yield from among(binomial_broadcast(g, root=root % g), nodes_of(n, g))


def _gather_ring_broadcast_cost(n: int, *, group: int) -> tuple[float, float]:
    g = node_size(n, group)
    nodes = n // g
    alphas, betas = rounds(g) + nodes - 1 + rounds(g), (g - 1) / n + (nodes - 1) / nodes + rounds(g)
    return alphas, betas


@algorithm(
    allgather,
    name="hierarchical",
    ordered=True,
    only=whole_nodes,
    cost=_gather_ring_broadcast_cost,
)
@algorithm(
    COLLECTIVES["allgatherv"],
    name="hierarchical",
    ordered=True,
    only=whole_nodes,
    ids={"ucc": "gab"},
    reference="UCC src/components/cl/hier/allgatherv, gather + allgather + broadcast",
)
def hierarchical_allgather(n: int, *, group: Group = 0) -> Steps:
    """Each node gathers at its first rank, these pass what they have round a ring, each node hears all of it.

    Trees in the node are binomial.
    """
    g = node_size(n, group)
    nodes, first = n // g, nodes_of(n, g)[:, 0]
    yield "gather in the node"
    for step in binomial_gather(g):
        if isinstance(step, Step):
            blocks = np.where(step.slot >= 0, step.slot + first.reshape(-1, 1, 1), NOTHING).reshape(
                -1, step.slot.shape[1]
            )
            src, dst = ((first.reshape(-1, 1) + x).reshape(-1) for x in (step.src, step.dst))
            yield copy(src, dst, slot=blocks.reshape(len(src), -1))
    yield "allgather between nodes"
    node = np.arange(nodes)
    for k in range(nodes - 1):
        yield copy(first, first[(node + 1) % nodes], slot=runs(first[(node - k) % nodes], g))
    yield "broadcast in the node"
    yield from among(fan_out(g, 0, runs(0, n)), nodes_of(n, g))
