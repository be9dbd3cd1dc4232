"""Rabenseifner's halving inside a node or socket, doubling of the shares across, then collecting inside again."""

from typing import Any

import numpy as np

from ops.algorithms.butterfly import mirrored
from ops.algorithms.doubling import doubling_allreduce, doubling_cost
from ops.algorithms.halving import fold, proxies, rabenseifner_cost, scatter_shares, spread_shares, unfold
from ops.algorithms.hierarchical import among, nodes_of
from ops.collectives import allreduce
from ops.patterns import Group, Sockets, node_size, power_below, socket_size, whole_nodes, whole_sockets
from ops.registry import algorithm
from sim.errors import Message
from sim.registry import titled
from sim.schedule import Step, Steps
from sim.topology import Ints


def _cost(inside: int, *across: int) -> tuple[float, float, float]:
    p = power_below(inside)
    parts = [doubling_cost(count) for count in across]
    alphas, betas, gammas = rabenseifner_cost(inside)
    return (
        alphas + sum(part[0] for part in parts),
        betas + sum(part[1] for part in parts) / p,
        gammas + sum(part[2] for part in parts) / p,
    )


def _scatter(size: int) -> Steps:
    """The reduce-scatter among a few ranks."""
    for item in (*fold(size), *scatter_shares(size)):
        if not isinstance(item, str):
            yield item


def _gather(size: int) -> Steps:
    """The allgather among a few ranks."""
    yield from spread_shares(size)
    for item in unfold(size):
        if not isinstance(item, str):
            yield item


def _across(members: Ints, size: int) -> Steps:
    """The i-th of every row doubles with the i-th of the others, for each share on its own.

    `members` has the groups along its first axis and the positions of a group along its last.
    """
    rank, own = proxies(size), mirrored(power_below(size))
    for item in doubling_allreduce(members.shape[-2]):
        if isinstance(item, Step):
            src, dst = (members[..., end, :][..., rank] for end in (item.src, item.dst))
            slot = np.broadcast_to(own, src.shape).reshape(-1, 1)
            yield item._replace(
                src=src.reshape(-1), dst=dst.reshape(-1), slot=slot, to=slot, channel=np.zeros(len(slot), np.int32)
            )


def _not_alone(n: int, *, group: int, **rest: Any) -> Message | None:
    alone = node_size(n, group) == 1
    return whole_nodes(n, group=group, **rest) or (Message("ranks.node_of_one", n=n) if alone else None)


@algorithm(
    allreduce,
    ordered=True,
    only=_not_alone,
    pieces=lambda n, *, group: power_below(node_size(n, group)),
    cost=lambda n, *, group: _cost(node_size(n, group), n // node_size(n, group)),
    ids={"kucg": "13"},
    reference="openeuler-mirror/kucg src/planc/ucx/allreduce/allreduce_na_rabenseifner.c",
)
@titled("Rabenseifner by node")
def node_rabenseifner(n: int, *, group: Group = 0) -> Steps:
    """Halving inside each node, doubling between nodes for each share on its own, collecting inside each node."""
    g = node_size(n, group)
    yield "reduce-scatter in the node"
    yield from among(_scatter(g), nodes_of(n, g))
    yield "allreduce between nodes"
    yield from _across(nodes_of(n, g), g)
    yield "allgather in the node"
    yield from among(_gather(g), nodes_of(n, g))


def _not_alone_in_sockets(n: int, *, group: int, sockets: int, **rest: Any) -> Message | None:
    reason = whole_sockets(n, group=group, sockets=sockets, **rest)
    if reason is None and socket_size(n, group, sockets) == 1:
        reason = Message("ranks.socket_of_one", n=n)
    return reason


@algorithm(
    allreduce,
    ordered=True,
    only=_not_alone_in_sockets,
    pieces=lambda n, **k: power_below(socket_size(n, **k)),
    cost=lambda n, **k: _cost(
        socket_size(n, **k), node_size(n, k["group"]) // socket_size(n, **k), n // node_size(n, k["group"])
    ),
    ids={"kucg": "14"},
    reference="openeuler-mirror/kucg src/planc/ucx/allreduce/allreduce_sa_rabenseifner.c",
)
@titled("Rabenseifner by socket")
def socket_rabenseifner(n: int, *, group: Group = 0, sockets: Sockets = 0) -> Steps:
    """Halving inside each socket, doubling of the shares between sockets, then nodes, collecting inside each socket."""
    g, s = node_size(n, group), socket_size(n, group, sockets)
    yield "reduce-scatter in the socket"
    yield from among(_scatter(s), nodes_of(n, s))
    yield "allreduce between sockets"
    yield from _across(nodes_of(n, s).reshape(-1, g // s, s), s)
    yield "allreduce between nodes"
    yield from _across(nodes_of(n, s).reshape(-1, g // s, s).swapaxes(0, 1), s)
    yield "allgather in the socket"
    yield from among(_gather(s), nodes_of(n, s))
