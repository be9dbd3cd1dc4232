"""Switches that add what they hear and copy what they say: NVSwitch multicast (NVLS), SHARP (CollNet).

A switch is a rank from n up. It adds at the speed of its links, and adding to an empty slot of it fills the slot.
A switch holds a whole segment before it passes it on, so more segments bring the time nearer to the links' limit.
"""

import numpy as np

from ops.algorithms.double_tree import up_and_down
from ops.collectives import allgather, allreduce, broadcast, reduce_scatter
from ops.patterns import Group, Segments, node_size, runs, tree, whole_nodes
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import NOTHING, Step, Steps, copy, reduce
from sim.topology import Ints


@algorithm(
    broadcast,
    switches=lambda n, **_: ("NVS",),
    ordered=True,
    exact=False,
    pieces=lambda n, *, segments: segments,
    cost=lambda n, *, segments: (segments, 1 + 1 / segments),
    ids={"ucc": "mcast", "kucg": "5"},
)
def multicast(n: int, *, root: int = 0, segments: Segments = 8) -> Steps:
    """The root sends once, the switch copies to everyone.

    The claim is a bound, met with one segment.
    """
    others = np.delete(np.arange(n), root)
    for t in range(segments + 1):
        up = (copy(root, n, slot=t),) if t < segments else ()
        down = (copy(n, others, slot=t - 1),) if t > 0 else ()
        yield up + down


@algorithm(
    allgather,
    name="nvls",
    switches=lambda n, **_: ("NVS",),
    ordered=True,
    exact=False,
    pieces=lambda n, *, segments: segments,
    cost=lambda n, *, segments: (segments, (n - 1 + 1 / segments) / n),
    ids={"nccl": "NVLS", "ucc": "nvls"},
    v={},
)
@titled("NVLS")
def nvls_allgather(n: int, *, segments: Segments = 8) -> Steps:
    """Everyone sends its block once, the switch copies it to all others.

    The claim is a bound, met with one segment.
    """
    r = np.arange(n)
    foreign = (r.reshape(-1, 1) + np.arange(1, n)) % n * segments
    for t in range(segments + 1):
        up = (copy(r, n, slot=r * segments + t),) if t < segments else ()
        down = (copy(n, r, slot=foreign + t - 1),) if t > 0 else ()
        yield up + down


@algorithm(
    reduce_scatter,
    name="nvls",
    switches=lambda n, **_: ("NVS",),
    ordered=True,
    exact=False,
    pieces=lambda n, *, segments: segments,
    cost=lambda n, *, segments: (segments, 1 + 1 / (n * segments)),
    ids={"nccl": "NVLS", "ucc": "nvls"},
)
@titled("NVLS")
def nvls_reduce_scatter(n: int, *, segments: Segments = 8) -> Steps:
    """Everyone lends the switch its whole buffer; the switch adds up and gives each rank its block.

    The claim is a bound, met with one segment.
    """
    r = np.arange(n)
    for t in range(segments + 1):
        up = (reduce(r, n, slot=(r * segments + t).reshape(1, -1)),) if t < segments else ()
        down = (copy(n, r, slot=r * segments + t - 1),) if t > 0 else ()
        yield up + down


def nvls_cost(n: int, *, segments: int) -> tuple[float, float]:
    """Messages in a row and shares of the size on each link, where one switch adds for n ranks."""
    alphas, moments = (segments + 2, segments + 3) if segments > 1 else (2, 2)
    return alphas, moments * (1 + 1 / n) / segments


@algorithm(
    allreduce,
    switches=lambda n, **_: ("NVS",),
    ordered=True,
    exact=False,
    pieces=lambda n, *, segments: n * segments,
    cost=nvls_cost,
    ids={"nccl": "NVLS", "ucc": "nvls"},
    reference="NCCL src/device/all_reduce.h, NVLS",
)
@titled("NVLS")
def nvls(n: int, *, segments: Segments = 8) -> Steps:
    """The switch adds up everyone's data and hands each rank one share, which it sends back for all.

    Each link carries size·(1 + 1/n) each way, half of what a ring needs. The claim is a bound, met with one
    segment.
    """
    for t in range(segments + 3):
        yield tuple(_nvls_stages(n, segments, t - k)[k] for k in range(4) if 0 <= t - k < segments)


def _nvls_stages(n: int, segments: int, s: int) -> tuple[Step, Step, Step, Step]:
    """Segment s: everyone's shares are added, each owner gets its own, sends it back, and everyone gets all."""
    r = np.arange(n)
    contributed, stored = r * segments + s, (r + n) * segments + s
    every, all_stored = contributed.reshape(1, -1), stored.reshape(1, -1)
    return (
        reduce(r, n, slot=every),
        copy(n, r, slot=contributed),
        copy(r, n, slot=contributed, to=stored),
        copy(n, r, slot=all_stored, to=every),
    )


@algorithm(
    allreduce,
    switches=lambda n, **_: ("NET",),
    only=whole_nodes,
    pieces=lambda n, *, group: node_size(n, group),
    cost=lambda n, *, group: (
        3 if node_size(n, group) > 1 else 1,
        2,
        (node_size(n, group) - 1) / node_size(n, group),
    ),
    ids={"nccl": "CollNetDirect"},
    reference="NCCL src/device/all_reduce.h, CollNet",
)
@titled("CollNet direct")
def collnet_direct(n: int, *, group: Group = 0) -> Steps:
    """Each rank adds up one share of its node's data, the network's switch adds the nodes' and sends back to all.

    Between nodes each share crosses once each way: size in all, where a ring needs twice that.
    """
    g = node_size(n, group)
    rank = np.arange(n)
    src, turn = np.repeat(rank, g - 1), np.tile(np.arange(1, g), n)
    peer = src // g * g + (src + turn) % g
    if g > 1:
        yield "reduce-scatter in the node"
        yield copy(src, peer, slot=peer % g, to=g + turn - 1)
        yield reduce(rank, rank, slot=runs(g, g - 1), to=(rank % g).reshape(-1, 1))
    yield "switch"
    yield reduce(rank, n, slot=rank % g)
    yield copy(n, rank, slot=rank % g)
    if g > 1:
        yield "allgather in the node"
        yield copy(src, peer, slot=src % g)


def _rails(n: int, g: int) -> Ints:
    """Row i has the ranks at position i of every node."""
    rails: Ints = np.arange(n, dtype=np.int32).reshape(-1, g).T
    return rails


@algorithm(
    allgather,
    name="collnet_direct",
    switches=lambda n, **_: ("NET",),
    only=whole_nodes,
    cost=lambda n, *, group: (
        (node_size(n, group) > 1) + (n > node_size(n, group)),
        1 - (n == node_size(n, group)) / n,
    ),
    ids={"nccl": "CollNetDirect"},
    reference="NCCL src/device/all_gather.h, CollNet",
)
@titled("CollNet direct")
def collnet_allgather(n: int, *, group: Group = 0) -> Steps:
    """The network's switch copies each block to the same position of all nodes, where every rank passes its own on."""
    g = node_size(n, group)
    rank = np.arange(n)
    if n > g:
        yield "switch"
        yield copy(rank, n, slot=rank)
        node = rank.reshape(-1, 1) // g
        other = (node + np.arange(1, n // g)) % (n // g)
        yield copy(n, rank, slot=other * g + rank.reshape(-1, 1) % g)
    if g > 1:
        yield "allgather in the node"
        src, turn = np.repeat(rank, g - 1), np.tile(np.arange(1, g), n)
        yield copy(src, src // g * g + (src + turn) % g, slot=_rails(n, g)[src % g])


@algorithm(
    reduce_scatter,
    name="collnet_direct",
    switches=lambda n, **_: ("NET",),
    only=whole_nodes,
    cost=lambda n, *, group: (
        (node_size(n, group) > 1) + (n > node_size(n, group)),
        1 + 1 / n if n > node_size(n, group) else (n - 1) / n,
        (node_size(n, group) - 1) / node_size(n, group),
    ),
    ids={"nccl": "CollNetDirect"},
    reference="NCCL src/device/reduce_scatter.h, CollNet",
)
@titled("CollNet direct")
def collnet_reduce_scatter(n: int, *, group: Group = 0) -> Steps:
    """Each rank adds up its node's blocks for its position everywhere, the network's switch adds the nodes'."""
    g = node_size(n, group)
    nodes, rank = n // g, np.arange(n)
    if g > 1:
        yield "reduce-scatter in the node"
        src, turn = np.repeat(rank, g - 1), np.tile(np.arange(1, g), n)
        peer = src // g * g + (src + turn) % g
        yield copy(src, peer, slot=_rails(n, g)[peer % g], to=n + runs((turn - 1) * nodes, nodes))
        yield reduce(rank, rank, slot=runs(n, (g - 1) * nodes), to=np.tile(_rails(n, g)[rank % g], g - 1))
    if nodes > 1:
        yield "switch"
        yield reduce(rank, n, slot=_rails(n, g)[rank % g])
        yield copy(n, rank, slot=rank)


def _chain_cost(n: int, *, group: int, segments: int) -> tuple[float, float, float]:
    g = node_size(n, group)
    moments = 2 * g + segments - 1
    return moments, (2 * g + 2 * (segments - 1)) / segments, (g + segments - 1) / segments


@algorithm(
    allreduce,
    switches=lambda n, **_: ("NET",),
    ordered=True,
    exact=False,
    only=whole_nodes,
    pieces=lambda n, *, segments, **_: segments,
    cost=_chain_cost,
    ids={"nccl": "CollNetChain"},
    reference="NCCL src/device/all_reduce.h, CollNet",
)
@titled("CollNet chain")
def collnet_chain(n: int, *, group: Group = 0, segments: Segments = 8) -> Steps:
    """Sums run along a chain in each node to its first rank and on to the network's switch; totals run back.

    The claim is a bound.
    """
    g = node_size(n, group)
    before = np.where(np.arange(n) % g == 0, n, np.arange(n) - 1)
    yield from up_and_down((tree(np.append(before, NOTHING)),), segments)
