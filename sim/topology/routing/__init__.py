"""Static routes: a general router for any machine, and what closed-form routers share.

A route is as short as can be, where a link's length is by kind, so that NVLink beats PCIe, PCIe beats the
links between sockets and those beat the network. GPUs pass nothing on unless the machine is `forwarding`, or has
`relays`: then so many in a row pass on to a GPU, over an NVLink, what came from a GPU over one, as NCCL and RCCL
have it (`src/graph/paths.cc`: "allow routing through a GPU only as 1 hop").
Among equally short routes the widest one wins (by its narrowest link); those still equal are shared out by
destination: its ordinal among the devices of its kind picks the way (D-mod-k), the quotient picks at the
next branch. So a pair's route never depends on which other pairs are asked for.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints, each_once
from sim.base.ragged import offsets_of, ranges
from sim.errors import UnreachableError
from sim.topology.devices import Device, Link, Router, Routes, kinds_of, shared_by_both

LENGTH = {"NVL": 1, "PCI": 16, "SYS": 256, "NET": 4096}
"""One step up outweighs any detour a host can offer one step down."""

_FAR = 1 << 40
_BLOCK = 1 << 22
"""Destinations times arcs looked at together: bounds the memory of one block of tables."""


class Graph(Protocol):
    """What routes are found in: a topology, of which these columns are read."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def devices(self) -> Sequence[Device]:
        """Every device."""

    @property
    def links(self) -> Sequence[Link]:
        """Every link, one direction each unless shared by both."""

    @property
    def forwarding(self) -> bool:
        """Whether a GPU passes on what is not for it."""

    @property
    def relays(self) -> int:
        """How many GPUs in a row pass on what stays on NVLinks."""

    @property
    def bandwidth(self) -> Floats:
        """B/s per link."""

    @property
    def ends(self) -> tuple[Ints, Ints]:
        """Device indices of every link's src and dst."""


class _Arcs(NamedTuple):
    """Links as used in one direction, sorted by tail; a half-duplex link gives two arcs."""

    tail: Ints
    head: Ints
    link: Ints
    length: NDArray[np.int64]
    width: Floats
    first: NDArray[np.int64]
    """The first arc of every device in `tails`."""
    tails: Ints


class _Choices(NamedTuple):
    """For destination `start + row`: device d may go on by `arc[offset[row, d]:offset[row, d] + ways[row, d]]`."""

    start: int
    offset: NDArray[np.int64]
    ways: Ints
    arc: NDArray[np.int64]


def pack(columns: NDArray[np.int32]) -> Routes:
    """Routes from one row of links per pair; entries below zero are skipped.

    >>> pack(np.array([[0, 3], [-1, 3], [-1, -1]], np.int32))
    Routes(offsets=array([0, 2, 3, 3], dtype=int32), links=array([0, 3, 3], dtype=int32))
    """
    used = columns >= 0
    return Routes(offsets_of(used.sum(axis=1)).astype(np.int32), columns[used])


def with_fallback(topology: Graph, closed: Router, covered: NDArray[np.bool_]) -> Router:
    """A router that uses `closed` for pairs of `covered` devices, and the general one for all others."""
    general: list[Router] = []

    def route(src: Ints, dst: Ints) -> Routes:
        inside = covered[src] & covered[dst]
        if inside.all():
            return closed(src, dst)
        if not general:
            general.append(shortest_routes(topology))
        return merge(inside, closed(src[inside], dst[inside]), general[0](src[~inside], dst[~inside]))

    return route


def chain(*parts: Routes) -> Routes:
    """Routes made of pieces: route i is piece i of every part, one after the other."""
    lengths = np.array([np.diff(part.offsets) for part in parts])
    ends = np.cumsum(lengths.sum(axis=0))
    starts = ends - lengths.sum(axis=0) + np.cumsum(lengths, axis=0) - lengths
    links = np.empty(int(lengths.sum()), np.int32)
    for part, start, length in zip(parts, starts, lengths, strict=True):
        links[ranges(start, length)] = part.links
    return Routes(np.concatenate([[0], ends]).astype(np.int32), links)


def through(routes: Router, stops: Ints) -> Routes:
    """Routes that pass devices in turn: a row of `stops` for each, from its source to its destination, -1 for none."""
    legs, at = [], stops[:, 0]
    for stop in stops.T[1:]:
        following = np.where(stop < 0, at, stop).astype(np.int32)
        moves = at != following
        stays = Routes(np.zeros(int((~moves).sum()) + 1, np.int32), np.zeros(0, np.int32))
        legs.append(merge(moves, routes(at[moves], following[moves]), stays))
        at = following
    return chain(*legs)


def merge(inside: NDArray[np.bool_], yes: Routes, no: Routes) -> Routes:
    """Two sets of routes put back into the order of the pairs."""
    lengths = np.empty(len(inside), np.int64)
    lengths[inside], lengths[~inside] = np.diff(yes.offsets), np.diff(no.offsets)
    offsets = offsets_of(lengths).astype(np.int32)
    from_yes = np.repeat(inside, lengths)
    links = np.empty(len(from_yes), np.int32)
    links[from_yes], links[~from_yes] = yes.links, no.links
    return Routes(offsets, links)


def shortest_routes(topology: Graph, among: int | None = None) -> Router:
    """The general router of a topology. Raises UnreachableError for a pair that nothing connects.

    Of equally good ways `among` takes the first at every branch for 0 and the last for -1: a pair that has the same
    route for both has no other.
    """
    plain = _plain_routes(topology, among)
    return _with_relays(topology, plain, among) if topology.relays and not topology.forwarding else plain


class _NvlinkGraph(NamedTuple):
    """The NVLinks between GPUs alone, where every GPU passes on."""

    name: str
    devices: Sequence[Device]
    links: Sequence[Link]
    forwarding: bool
    relays: int
    bandwidth: Floats
    ends: tuple[Ints, Ints]


def _with_relays(topology: Graph, plain: Router, among: int | None) -> Router:
    """A router that leads from GPU to GPU over NVLinks where few enough GPUs are between them."""
    gpu = kinds_of(topology.devices) == "GPU"
    src, dst = topology.ends
    wires = np.flatnonzero(np.array([link.kind == "NVL" for link in topology.links], np.bool_) & gpu[src] & gpu[dst])
    graph = _NvlinkGraph(
        topology.name,
        topology.devices,
        tuple(topology.links[i] for i in wires.tolist()),
        True,
        0,
        topology.bandwidth[wires],
        (src[wires], dst[wires]),
    )
    over, arcs = _plain_routes(graph, among), _arcs(graph)
    within = lru_cache(maxsize=None)(lambda start: _within(start, topology.relays + 1, arcs.tail, arcs.head))

    def route(src: Ints, dst: Ints) -> Routes:
        near = np.array([b != a and b in within(a) for a, b in zip(src.tolist(), dst.tolist(), strict=True)], np.bool_)
        offsets, links = over(src[near], dst[near])
        return merge(near, Routes(offsets, wires[links].astype(np.int32)), plain(src[~near], dst[~near]))

    return route


def _within(start: int, hops: int, tail: Ints, head: Ints) -> set[int]:
    """The devices that so many arcs lead to from one, itself among them."""
    reached, before = {start}, 0
    while hops and len(reached) > before:
        reached, before, hops = reached | {*head[np.isin(tail, list(reached))].tolist()}, len(reached), hops - 1
    return reached


def _plain_routes(topology: Graph, among: int | None) -> Router:
    """A router that knows of no relays."""
    arcs = _arcs(topology)
    ordinal = _ordinals(topology) if among is None else np.full(len(topology.devices), among, np.int64)
    size = max(1, _BLOCK // max(1, len(arcs.link), len(topology.devices)))

    @lru_cache(maxsize=4)
    def block(number: int) -> _Choices:
        start = number * size
        return _choices(topology, arcs, start, min(start + size, len(topology.devices)))

    def route(src: Ints, dst: Ints) -> Routes:
        hops: list[Ints] = []
        block_of = dst // size
        for number in each_once(block_of).tolist():
            rows = np.flatnonzero(block_of == number)
            for depth, links in enumerate(_walk(topology, arcs, block(number), ordinal, src[rows], dst[rows])):
                if depth == len(hops):
                    hops.append(np.full(len(src), -1, np.int32))
                hops[depth][rows] = links
        return pack(np.stack(hops, axis=1) if hops else np.zeros((len(src), 0), np.int32))

    return route


def _arcs(topology: Graph) -> _Arcs:
    src, dst = topology.ends
    both = np.flatnonzero(shared_by_both(topology.links)).astype(np.int32)
    length = np.array([LENGTH[link.kind] for link in topology.links], np.int64)
    tail, head = np.concatenate([src, dst[both]]), np.concatenate([dst, src[both]])
    link = np.concatenate([np.arange(len(src), dtype=np.int32), both])
    order = np.lexsort((link, tail))
    tail, head, link = tail[order], head[order], link[order]
    tails, first = np.unique(tail, return_index=True)
    return _Arcs(tail, head, link, length[link], topology.bandwidth[link], first, tails)


def _ordinals(topology: Graph) -> NDArray[np.int64]:
    """Each device's place among those of its kind, so that names in between do not skew the sharing out."""
    seen: dict[str, int] = {}
    ordinal = np.zeros(len(topology.devices), np.int64)
    for i, device in enumerate(topology.devices):
        ordinal[i] = seen.get(device.kind, 0)
        seen[device.kind] = int(ordinal[i]) + 1
    return ordinal


def _choices(topology: Graph, arcs: _Arcs, start: int, stop: int) -> _Choices:
    """The arcs that lie on best routes to each destination in `start..stop - 1`."""
    devices, rows = len(topology.devices), stop - start
    targets = np.arange(start, stop)
    passes = topology.forwarding | (kinds_of(topology.devices) != "GPU")
    usable = passes[arcs.head] | (arcs.head == targets[:, None])

    far = np.full((rows, devices), _FAR, np.int64)
    far[np.arange(rows), targets] = 0
    via = np.where(usable, arcs.length, _FAR)
    while len(arcs.link):
        nearer = np.minimum.reduceat(via + far[:, arcs.head], arcs.first, axis=1)
        if (nearer >= far[:, arcs.tails]).all():
            break
        far[:, arcs.tails] = np.minimum(far[:, arcs.tails], nearer)
    shortest = usable & (via + far[:, arcs.head] == far[:, arcs.tail]) & (far[:, arcs.tail] < _FAR)

    wide = np.zeros((rows, devices))
    wide[np.arange(rows), targets] = np.inf
    while len(arcs.link):
        through = np.where(shortest, np.minimum(arcs.width, wide[:, arcs.head]), 0.0)
        wider = np.maximum.reduceat(through, arcs.first, axis=1)
        if (wider <= wide[:, arcs.tails]).all():
            break
        wide[:, arcs.tails] = np.maximum(wide[:, arcs.tails], wider)
    best = shortest & (np.minimum(arcs.width, wide[:, arcs.head]) == wide[:, arcs.tail])

    row, arc = np.nonzero(best)
    count = np.bincount(row * devices + arcs.tail[arc], minlength=rows * devices)
    offset = (np.cumsum(count) - count).reshape(rows, devices)
    return _Choices(start, offset, count.reshape(rows, devices).astype(np.int32), arc)


def _walk(
    topology: Graph, arcs: _Arcs, choices: _Choices, ordinal: NDArray[np.int64], src: Ints, dst: Ints
) -> list[Ints]:
    """One column of links per hop, -1 for pairs that have arrived."""
    columns: list[Ints] = []
    device, left = src.astype(np.int64), ordinal[dst]
    moving = np.flatnonzero(src != dst)
    while len(moving):
        row, at = dst[moving] - choices.start, device[moving]
        count = choices.ways[row, at]
        if not count.all():
            stuck = moving[int(np.argmin(count))]
            raise _unreachable(topology, int(src[stuck]), int(dst[stuck]))
        arc = choices.arc[choices.offset[row, at] + left[moving] % count]
        left[moving] //= count
        device[moving] = arcs.head[arc]
        column = np.full(len(src), -1, np.int32)
        column[moving] = arcs.link[arc]
        columns.append(column)
        moving = moving[arcs.head[arc] != dst[moving]]
    return columns


def _unreachable(topology: Graph, src: int, dst: int) -> UnreachableError:
    why = "routes.unreachable" if topology.forwarding else "routes.not_forwarded"
    return UnreachableError(why, name=topology.name, src=topology.devices[src].name, dst=topology.devices[dst].name)
