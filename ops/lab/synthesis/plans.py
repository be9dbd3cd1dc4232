"""Where and when every block could go: ways between ranks, and plans made of them."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.lab.synthesis import matching
from sim.base.compiled import twin
from sim.base.ragged import row_numbers, take
from sim.errors import InputError, UnreachableError
from sim.schedule import COPY, REDUCE
from sim.topology import Floats, Ints, Topology


class Edges(NamedTuple):
    """Ways from rank to rank: edge e crosses `links[first[e]:first[e + 1]]` and delays a block by `latency[e]`."""

    src: Ints
    dst: Ints
    first: Ints
    links: Ints
    latency: Floats
    width: Floats

    def turned(self) -> "Edges":
        """The same with both ends changed for each other: what arrives was sent when time runs backwards."""
        return self._replace(src=self.dst, dst=self.src)


class TransferPlan(NamedTuple):
    """Transfers in order of time: the edge and the block of each, when it starts and ends, and what it does."""

    edge: Ints
    block: Ints
    start: Floats
    end: Floats
    op: NDArray[np.uint8]

    def sorted(self) -> "TransferPlan":
        """In order of time, sums before copies: what is copied has been summed."""
        return self.taken(np.lexsort((self.start, self.op != REDUCE)))

    def taken(self, order: NDArray[np.int64]) -> "TransferPlan":
        """The transfers that `order` names."""
        return TransferPlan(self.edge[order], self.block[order], self.start[order], self.end[order], self.op[order])

    @property
    def length(self) -> float:
        """When the last transfer ends."""
        return float(self.end.max())


Bring = Callable[[Edges, Floats, Floats], TransferPlan]
"""From ways, `have[rank, block]` as when a rank has a block and `free[link]` as when a link is free, a plan that brings
every block to every rank."""


def choices_of_edges(topology: Topology, n: int) -> Iterator[Edges]:
    """Ways that pass through no other rank; and all ways, where some pass through one.

    Four ranks on a ring of links: 8 of the 12 pairs are neighbours, and the 4 pairs of opposite ranks have a way
    through a rank between them. Blocks may go from neighbour to neighbour, or also over two links at once; each choice
    is searched. Where a switch joins all, no way passes through a rank, and there is one choice.

    >>> from sim.machines import build
    >>> [len(edges.src) for edges in choices_of_edges(build("ring:ranks=4"), 4)]
    [8, 12]
    >>> [len(edges.src) for edges in choices_of_edges(build("switch:ranks=4"), 4)]
    [12]
    """
    devices = np.array(topology.ranks[:n], np.int32)
    src, dst = (ends.reshape(-1).astype(np.int32) for ends in np.nonzero(~np.eye(n, dtype=bool)))
    src, dst = _joined(topology, devices, src, dst)
    routes = topology.routes(devices[src], devices[dst])
    is_rank = np.zeros(len(topology.devices), bool)
    is_rank[devices] = True
    edge = row_numbers(routes.offsets)  # of every link that is crossed
    through_rank = np.zeros(len(src), bool)
    for ends in topology.ends:  # of a half-duplex link either may be the far one
        device = ends[routes.links]
        inner = is_rank[device] & (device != devices[dst[edge]]) & (device != devices[src[edge]])
        through_rank[edge[inner]] = True
    yield _edges(topology, src[~through_rank], dst[~through_rank], devices)
    if through_rank.any():
        yield _edges(topology, src, dst, devices)


def _edges(topology: Topology, src: Ints, dst: Ints, devices: Ints) -> Edges:
    routes = topology.routes(devices[src], devices[dst])
    starts = routes.offsets[:-1]
    latency = np.add.reduceat(topology.latency[routes.links], starts) + topology.overhead
    width = np.minimum.reduceat(topology.bandwidth[routes.links], starts)
    return Edges(src, dst, routes.offsets, routes.links, latency, width)


def _joined(topology: Topology, devices: Ints, src: Ints, dst: Ints) -> tuple[Ints, Ints]:
    """The pairs that routes lead between; the others can be reached by ranks that pass blocks on."""

    def leads(a: int, b: int) -> bool:
        try:
            topology.routes([devices[a]], [devices[b]])
        except UnreachableError:
            return False
        return True

    try:
        topology.routes(devices[src], devices[dst])
    except UnreachableError:
        able = np.array([leads(a, b) for a, b in zip(src, dst, strict=True)], bool)
        return src[able], dst[able]
    return src, dst


def planned(collective: str, topology: Topology, edges: Edges, n: int, pieces: int, bring: Bring) -> TransferPlan:
    """A plan for a collective; a rank's own blocks are `rank * pieces …`.

    A reduce_scatter is an allgather on the edges turned round, played backwards; an allreduce is both, every block
    going on as soon as it is summed.
    """
    owner = np.repeat(np.arange(n), pieces)
    blocks = np.arange(len(owner))
    free = np.zeros(len(topology.links))
    have = np.full((n, len(owner)), matching.NEVER)
    have[owner, blocks] = 0.0
    if collective == "allgather":
        return bring(edges, have, free)
    reduced = _backwards(bring(edges.turned(), have, free))
    if collective == "reduce_scatter":
        return reduced
    summed = np.zeros(len(owner))
    np.maximum.at(summed, reduced.block, reduced.end)
    have[owner, blocks] = summed
    of, used = _crossed(edges, reduced.edge)
    np.maximum.at(free, used, (reduced.end - edges.latency[reduced.edge])[of])
    gathered = bring(edges, have, free)
    both = [np.concatenate([before, after]) for before, after in zip(reduced, gathered, strict=True)]
    return TransferPlan(*both)


def matched(topology: Topology, amount: float, seed: int) -> Bring:
    """Matches blocks of `amount` bytes to edges; `seed` breaks ties. It raises InputError where ranks are cut off."""

    def bring(edges: Edges, have: Floats, free: Floats) -> TransferPlan:
        most, draw = have.size, np.random.default_rng(seed)
        order = draw.permutation(len(edges.src)).astype(np.int32)
        drawn = _taken(edges, order)
        moves, times = np.empty((most, 2), np.int32), np.empty((most, 2))
        wanting = int((have >= matching.NEVER).sum())
        made = twin(matching, most * len(order)).match(
            drawn.src,
            drawn.dst,
            drawn.first,
            drawn.links,
            amount / topology.bandwidth,
            drawn.latency + amount / drawn.width,
            have.shape[1],
            free.copy(),
            have.reshape(-1).copy(),
            (have < matching.NEVER).sum(axis=0).astype(np.int32),
            draw.permutation(have.shape[1]).astype(np.int32),
            np.empty(len(order)),
            np.empty(len(order), np.int32),
            np.empty((len(order), have.shape[1]), np.int32),
            np.empty(len(order), np.int32),
            moves,
            times,
        )
        if made < wanting:
            raise InputError("synthesis.cut_off", topology=topology.name)
        return TransferPlan(
            order[moves[:made, 0]], moves[:made, 1], times[:made, 0], times[:made, 1], np.full(made, COPY, np.uint8)
        )

    return bring


def direct(edges: Edges, have: Floats, free: Floats) -> TransferPlan:
    """Everyone sends to everyone, one piece each, to the next rank first; needs an edge for every pair."""
    n = len(have)
    away = (edges.dst - edges.src) % n
    order = np.lexsort((edges.src, away)).astype(np.int32)
    begun = have.diagonal()[edges.src[order]] + away[order]
    return TransferPlan(order, edges.src[order], begun, begun + 1, np.full(len(order), COPY, np.uint8))


def _backwards(plan: TransferPlan) -> TransferPlan:
    length, order = plan.length, np.argsort(-plan.start, kind="stable")
    start, end = length - plan.end[order], length - plan.start[order]
    return TransferPlan(plan.edge[order], plan.block[order], start, end, np.full(len(order), REDUCE, np.uint8))


def _taken(edges: Edges, order: Ints) -> Edges:
    """The same edges in another order."""
    first, links = take(edges.first, edges.links, order)
    return Edges(edges.src[order], edges.dst[order], first, links, edges.latency[order], edges.width[order])


def _crossed(edges: Edges, chosen: Ints) -> tuple[NDArray[np.int64], Ints]:
    """Every link that the chosen edges cross, and the place in `chosen` of the edge that does."""
    first, links = take(edges.first, edges.links, chosen)
    return row_numbers(first), links
