"""Barriers that follow the machine, as in Hyper MPI's kucg: arrivals climb level by level, the release comes down."""

from collections.abc import Sequence

from ops.algorithms.knomial import knomial_broadcast, pairs
from ops.algorithms.node_aware import (
    SOURCE,
    Level,
    across_nodes,
    doubling_between,
    heads_of,
    in_the_switch,
    levels_cost,
    node_levels,
    socket_levels,
    up_across_down,
)
from ops.collectives import barrier
from ops.patterns import Group, Radix, Sockets, rounds, whole_nodes, whole_sockets
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import Steps, reduce


def _arrivals(n: int, *, radix: int) -> Steps:
    """The fan-in of a barrier: children report to their parents, radix - 1 at once."""
    for k in range(rounds(n, radix)):
        parent, child = pairs(n, radix**k, radix)
        yield reduce(child, parent, slot=0)


def _moments(levels: Sequence[Level], across: float = 0) -> tuple[float, float]:
    """The cost of a barrier: no data."""
    return levels_cost(levels)[0] + across, 0


@algorithm(
    barrier,
    name="knomial",
    ordered=True,
    cost=lambda n, *, fan_in, fan_out: (rounds(n, fan_in) + rounds(n, fan_out), 0),
    ids={"kucg": "stars 1"},
    reference="openeuler-mirror/kucg src/planc/stars/algorithm/barrier/barrier_faninfanout.c",
)
@titled("k-nomial")
def knomial_barrier(n: int, *, fan_in: Radix = 4, fan_out: Radix = 2) -> Steps:
    """Arrivals climb one k-nomial tree of all ranks, the release goes down another."""
    yield "up"
    yield from _arrivals(n, radix=fan_in)
    yield "down"
    yield from knomial_broadcast(n, radix=fan_out)


@algorithm(
    barrier,
    name="node_doubling",
    ordered=True,
    only=whole_nodes,
    cost=lambda n, *, group, **k: _moments(node_levels(n, group, **k), across_nodes(n, group)[0]),
    ids={"kucg": "2, 4"},
    presets={"kucg:2": {"fan_in": 2}},
    reference=f"{SOURCE}/barrier/barrier_na_rd_and_bntree.c, barrier_na_rd_and_kntree.c",
)
@titled("doubling by node")
def node_doubling_barrier(n: int, *, group: Group = 0, fan_in: Radix = 4, fan_out: Radix = 2) -> Steps:
    """Arrivals climb a k-nomial tree in each node, the nodes' first ranks double, the release goes down."""
    yield from up_across_down(node_levels(n, group, fan_in, fan_out), doubling_between(heads_of(n, group)), _arrivals)


@algorithm(
    barrier,
    name="socket_doubling",
    ordered=True,
    only=whole_sockets,
    cost=lambda n, *, group, **k: _moments(socket_levels(n, group, **k), across_nodes(n, group)[0]),
    ids={"kucg": "3, 5"},
    presets={"kucg:3": {"fan_in": 2}},
    reference=f"{SOURCE}/barrier/barrier_sa_rd_and_bntree.c, barrier_sa_rd_and_kntree.c",
)
@titled("doubling by socket")
def socket_doubling_barrier(
    n: int, *, group: Group = 0, sockets: Sockets = 0, fan_in: Radix = 4, fan_out: Radix = 2
) -> Steps:
    """Arrivals climb trees in each socket and node, the nodes' first ranks double, the release goes down."""
    levels = socket_levels(n, group, sockets, fan_in, fan_out)
    yield from up_across_down(levels, doubling_between(heads_of(n, group)), _arrivals)


@algorithm(
    barrier,
    name="node_knomial",
    ordered=True,
    only=whole_nodes,
    cost=lambda n, *, group, between, **k: _moments([*node_levels(n, group, **k), heads_of(n, group, between)]),
    ids={"kucg": "6"},
    reference=f"{SOURCE}/barrier/barrier_na_kntree.c",
)
@titled("k-nomial by node")
def node_knomial_barrier(
    n: int, *, group: Group = 0, fan_in: Radix = 4, fan_out: Radix = 2, between: Radix = 8
) -> Steps:
    """Arrivals climb a k-nomial tree in each node and one between nodes, the release goes down the same way."""
    levels = [*node_levels(n, group, fan_in, fan_out), heads_of(n, group, between)]
    yield from up_across_down(levels, iter(()), _arrivals)


@algorithm(
    barrier,
    name="socket_knomial",
    ordered=True,
    only=whole_sockets,
    cost=lambda n, *, group, between, **k: _moments([*socket_levels(n, group, **k), heads_of(n, group, between)]),
    ids={"kucg": "7"},
    reference=f"{SOURCE}/barrier/barrier_sa_kntree.c",
)
@titled("k-nomial by socket")
def socket_knomial_barrier(
    n: int, *, group: Group = 0, sockets: Sockets = 0, fan_in: Radix = 4, fan_out: Radix = 2, between: Radix = 8
) -> Steps:
    """Arrivals climb trees in each socket, each node and between nodes, the release goes down the same way."""
    levels = [*socket_levels(n, group, sockets, fan_in, fan_out), heads_of(n, group, between)]
    yield from up_across_down(levels, iter(()), _arrivals)


@algorithm(
    barrier,
    name="node_in_network",
    ordered=True,
    only=whole_nodes,
    switches=lambda n, **_: ("NET",),
    cost=lambda n, *, group, **k: _moments(node_levels(n, group, **k), 1),
    ids={"kucg": "8"},
    reference=f"{SOURCE}/barrier/barrier.c, number 8; the part in the network is not in the open sources",
)
def node_in_network_barrier(n: int, *, group: Group = 0, fan_in: Radix = 4, fan_out: Radix = 2) -> Steps:
    """Arrivals climb a k-nomial tree in each node, the network's switch hears all nodes and releases them."""
    yield from up_across_down(node_levels(n, group, fan_in, fan_out), in_the_switch(n, heads_of(n, group)), _arrivals)


@algorithm(
    barrier,
    name="socket_in_network",
    ordered=True,
    only=whole_sockets,
    switches=lambda n, **_: ("NET",),
    cost=lambda n, *, group, **k: _moments(socket_levels(n, group, **k), 1),
    ids={"kucg": "9"},
    reference=f"{SOURCE}/barrier/barrier.c, number 9; the part in the network is not in the open sources",
)
def socket_in_network_barrier(
    n: int, *, group: Group = 0, sockets: Sockets = 0, fan_in: Radix = 4, fan_out: Radix = 2
) -> Steps:
    """Arrivals climb trees in each socket and node, the network's switch hears all nodes and releases them."""
    levels = socket_levels(n, group, sockets, fan_in, fan_out)
    yield from up_across_down(levels, in_the_switch(n, heads_of(n, group)), _arrivals)
