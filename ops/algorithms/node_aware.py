"""Trees that follow the machine, as in Hyper MPI's kucg: up in the socket, up in the node, across, and down again.

Ranks i·group … i·group + group - 1 are node i, and equal runs of them its sockets. The first rank of a socket speaks
for it, and so does the first of a node.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ops.algorithms.doubling import doubling_allreduce, doubling_cost
from ops.algorithms.hierarchical import among, nodes_of
from ops.algorithms.knomial import knomial_broadcast, knomial_reduce, served
from ops.collectives import allreduce
from ops.patterns import Group, Radix, Sockets, node_size, rounds, socket_size, whole_nodes, whole_sockets
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import Steps, copy, reduce
from sim.topology import Ints

SOURCE = "openeuler-mirror/kucg src/planc/ucx"


class Level(NamedTuple):
    """Groups of ranks, one row each, that a k-nomial tree brings together at the first of the row."""

    where: str
    members: Ints
    fan_in: int
    fan_out: int

    @property
    def size(self) -> int:
        """Ranks of a group."""
        return int(self.members.shape[1])


def node_levels(n: int, group: int, fan_in: int, fan_out: int) -> list[Level]:
    """One tree per node."""
    return [Level("in the node", nodes_of(n, node_size(n, group)), fan_in, fan_out)]


def socket_levels(n: int, group: int, sockets: int, fan_in: int, fan_out: int) -> list[Level]:
    """One tree per socket, then one per node among its sockets' first ranks."""
    g, s = node_size(n, group), socket_size(n, group, sockets)
    return [
        Level("in the socket", nodes_of(n, s), fan_in, fan_out),
        Level("between sockets", nodes_of(n, g)[:, ::s], fan_in, fan_out),
    ]


def heads_of(n: int, group: int, radix: int = 2) -> Level:
    """The first ranks of all nodes."""
    return Level("between nodes", nodes_of(n, node_size(n, group))[:, :1].T, radix, radix)


def up_across_down(levels: Sequence[Level], across: Steps, up: Callable[..., Steps] = knomial_reduce) -> Steps:
    """Sums, or arrivals, climb level by level; those who are left settle it among them; the outcome comes down."""
    for level in levels:
        yield f"up {level.where}"
        yield from among(up(level.size, radix=level.fan_in), level.members)
    yield from across
    for level in reversed(levels):
        yield f"down {level.where}"
        yield from among(knomial_broadcast(level.size, radix=level.fan_out), level.members)


def doubling_between(heads: Level) -> Steps:
    """Recursive doubling among the nodes' first ranks."""
    yield "across nodes"
    yield from among(doubling_allreduce(heads.size), heads.members)


def in_the_switch(n: int, heads: Level) -> Steps:
    """The network's switch adds up what the heads have and tells them all."""
    first = heads.members[0]
    yield "switch"
    yield reduce(first, n, slot=0)
    yield copy(n, first, slot=0)


def levels_cost(levels: Sequence[Level], across: tuple[float, float, float] = (0, 0, 0)) -> tuple[float, float, float]:
    """The busiest rank is the head of all levels."""
    down = sum(served(x.size, x.fan_out) for x in levels)
    up = sum(served(x.size, x.fan_in) for x in levels)
    moments = sum(rounds(x.size, x.fan_in) + rounds(x.size, x.fan_out) for x in levels)
    return moments + across[0], up + down + across[1], up + across[2]


def across_nodes(n: int, group: int) -> tuple[float, float, float]:
    """The cost of that."""
    return doubling_cost(n // node_size(n, group))


@algorithm(
    allreduce,
    ordered=True,
    only=whole_nodes,
    cost=lambda n, *, group, **k: levels_cost(node_levels(n, group, **k), across_nodes(n, group)),
    ids={"kucg": "5, 15"},
    presets={"kucg:15": {"fan_in": 8, "fan_out": 8}},
    reference=f"{SOURCE}/allreduce/allreduce_na_rd_and_kntree.c, allreduce_nta_kntree.c",
)
@titled("doubling by node")
def node_doubling(n: int, *, group: Group = 0, fan_in: Radix = 4, fan_out: Radix = 2) -> Steps:
    """A k-nomial tree adds up in each node, the nodes' first ranks double, k-nomial trees broadcast within the nodes.

    Number 15 does so with groups of nodes that share a network switch for nodes.
    """
    yield from up_across_down(node_levels(n, group, fan_in, fan_out), doubling_between(heads_of(n, group)))


@algorithm(
    allreduce,
    ordered=True,
    only=whole_sockets,
    cost=lambda n, *, group, **k: levels_cost(socket_levels(n, group, **k), across_nodes(n, group)),
    ids={"kucg": "3, 6"},
    presets={"kucg:3": {"fan_in": 2}},
    reference=f"{SOURCE}/allreduce/allreduce_sa_rd_and_bntree.c, allreduce_sa_rd_and_kntree.c",
)
@titled("doubling by socket")
def socket_doubling(n: int, *, group: Group = 0, sockets: Sockets = 0, fan_in: Radix = 4, fan_out: Radix = 2) -> Steps:
    """K-nomial trees add up in sockets and between a node's sockets, the nodes double, trees broadcast the result."""
    levels = socket_levels(n, group, sockets, fan_in, fan_out)
    yield from up_across_down(levels, doubling_between(heads_of(n, group)))


@algorithm(
    allreduce,
    ordered=True,
    only=whole_nodes,
    cost=lambda n, *, group, between, **k: levels_cost([*node_levels(n, group, **k), heads_of(n, group, between)]),
    ids={"kucg": "7"},
    reference=f"{SOURCE}/allreduce/allreduce_na_kntree.c",
)
@titled("k-nomial by node")
def node_knomial(n: int, *, group: Group = 0, fan_in: Radix = 4, fan_out: Radix = 2, between: Radix = 8) -> Steps:
    """K-nomial trees add up in each node, then one between nodes; the total comes down the same way."""
    yield from up_across_down([*node_levels(n, group, fan_in, fan_out), heads_of(n, group, between)], iter(()))


@algorithm(
    allreduce,
    ordered=True,
    only=whole_sockets,
    cost=lambda n, *, group, between, **k: levels_cost([*socket_levels(n, group, **k), heads_of(n, group, between)]),
    ids={"kucg": "8"},
    reference=f"{SOURCE}/allreduce/allreduce_sa_kntree.c",
)
@titled("k-nomial by socket")
def socket_knomial(
    n: int, *, group: Group = 0, sockets: Sockets = 0, fan_in: Radix = 4, fan_out: Radix = 2, between: Radix = 8
) -> Steps:
    """K-nomial trees add up in each socket, between a node's sockets, then between nodes, and back down."""
    levels = [*socket_levels(n, group, sockets, fan_in, fan_out), heads_of(n, group, between)]
    yield from up_across_down(levels, iter(()))


@algorithm(
    allreduce,
    ordered=True,
    only=whole_nodes,
    switches=lambda n, **_: ("NET",),
    cost=lambda n, *, group, **k: levels_cost(node_levels(n, group, **k), (1, 2, 0)),
    ids={"kucg": "9"},
    reference=f"{SOURCE}/allreduce/allreduce.c, number 9; the part in the network is not in the open sources",
)
def node_in_network(n: int, *, group: Group = 0, fan_in: Radix = 4, fan_out: Radix = 2) -> Steps:
    """A k-nomial tree adds up in each node, the network's switch adds the nodes' sums and sends the total to all."""
    yield from up_across_down(node_levels(n, group, fan_in, fan_out), in_the_switch(n, heads_of(n, group)))


@algorithm(
    allreduce,
    ordered=True,
    only=whole_sockets,
    switches=lambda n, **_: ("NET",),
    cost=lambda n, *, group, **k: levels_cost(socket_levels(n, group, **k), (1, 2, 0)),
    ids={"kucg": "10"},
    reference=f"{SOURCE}/allreduce/allreduce.c, number 10; the part in the network is not in the open sources",
)
def socket_in_network(
    n: int, *, group: Group = 0, sockets: Sockets = 0, fan_in: Radix = 4, fan_out: Radix = 2
) -> Steps:
    """K-nomial trees add up in sockets and nodes, the network's switch adds the nodes' sums and sends all the total."""
    yield from up_across_down(socket_levels(n, group, sockets, fan_in, fan_out), in_the_switch(n, heads_of(n, group)))
