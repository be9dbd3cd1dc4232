"""The rings that NCCL would build inside a node: orders of its GPUs that together use its links best.

A ring closes inside one node; between nodes it is a path that comes in at one NIC and leaves at another.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.topology import Ints, Topology

MOST_SEARCHED = 8
"""GPUs of a node up to which all orders are tried; more stand in their own order, as on an NVSwitch."""
MOST_PATHS = 16
"""Paths of a node at most, which are then NCCL's channels."""
MOST_TRIES, BREADTH = 2000, 24
"""Orders looked at before the best set so far is taken, and how many of those that fit are followed."""
Counts = NDArray[np.int16]


class Rings(NamedTuple):
    """Orders of a node's places 0..g-1, each for its share of the data; `bandwidth` is what each carries (B/s)."""

    orders: tuple[tuple[int, ...], ...]
    bandwidth: float


def closed_rings(topology: Topology, devices: Sequence[int]) -> Rings:
    """Rings inside one node, for device indices in rank order."""
    orders, counts = _all_orders(topology, devices, closed=True)
    capacity = topology.bandwidth
    alone = _bottleneck(counts, capacity)
    best = int(np.argmax(alone))
    single = Rings((orders[best],), float(alone[best]))
    crossed = {topology.links[i].kind for i in np.flatnonzero(counts[best])}
    if len(devices) < 3 or len(orders) == 1 or crossed != {"NVL"}:
        return single
    sets = [single]
    order = np.lexsort(np.array(orders).T[::-1]).astype(np.int32)
    for speed in (single.bandwidth, single.bandwidth / 2, single.bandwidth / 3):
        room = np.floor(capacity / speed * (1 + 1e-9))
        chosen = _pack(counts, room, [order] * 16, np.arange(len(orders)))
        sets.append(Rings(tuple(orders[i] for i in chosen), speed))
    return max(sets, key=lambda rings: len(rings.orders) * rings.bandwidth * (1 + 1e-6 / len(rings.orders)))


def open_paths(topology: Topology, devices: Sequence[int], nic_of: Sequence[int], nic: float) -> Rings:
    """One path per NIC inside a node of several: each comes in at its NIC's first GPU, no two leave by the same NIC.

    `nic_of[i]` is the NIC of place i, `nic` what a NIC carries (B/s). The paths are one ring entered at different
    GPUs where its links can carry all of them, as NCCL prefers (sameChannels); else different orders. They carry what
    a NIC does, or as much as the links inside allow.
    """
    nic_of = list(nic_of)
    doors = [nic_of.index(k) for k in dict.fromkeys(nic_of)]
    doors = doors[:: -(-len(doors) // MOST_PATHS)]
    g = len(devices)
    rotated = tuple(tuple((door + i) % g for i in range(g)) for door in doors)
    orders, counts = _all_orders(topology, devices, closed=False)
    if len(orders) == 1 or len(doors) == 1:
        plain = orders if len(doors) == 1 else rotated
        _, load = _counted(topology, devices, plain, closed=False)
        if len(doors) == 1:
            best = int(np.argmax(_bottleneck(load, topology.bandwidth)))
            return Rings((plain[best],), min(nic, float(_bottleneck(load, topology.bandwidth)[best])))
        return Rings(plain, min(nic, float(_bottleneck(load.sum(axis=0, keepdims=True), topology.bandwidth)[0])))
    one = closed_rings(topology, devices).orders[0]
    turned = tuple(one[one.index(door) :] + one[: one.index(door)] for door in doors)
    _, load = _counted(topology, devices, turned, closed=False)
    if len({nic_of[order[-1]] for order in turned}) == len(doors) and _fits(load, topology.bandwidth, nic):
        return Rings(turned, nic)
    start = np.array([order[0] for order in orders])
    zigzag = {_zigzag(g, door) for door in doors}
    first = [i for i, order in enumerate(orders) if order in zigzag]
    by_door = [[i for i in first if orders[i][0] == d] + np.flatnonzero(start == d).tolist() for d in doors]
    ends = np.array([nic_of[order[-1]] for order in orders])
    for share in (1.0, 0.75, 0.5, 1 / 3, 0.25, 0.125):
        room = np.floor(topology.bandwidth / (nic * share) * (1 + 1e-9))
        chosen = _pack(counts, room, by_door, ends)
        if len(chosen) == len(doors):
            return Rings(tuple(orders[i] for i in chosen), nic * share)
    _, load = _counted(topology, devices, rotated, closed=False)
    return Rings(rotated, min(nic, float(_bottleneck(load.sum(axis=0, keepdims=True), topology.bandwidth)[0])))


def _fits(load: Counts, capacity: NDArray[np.float64], rate: float) -> bool:
    """Whether links can carry all orders at once, each at a rate."""
    return bool((load.sum(axis=0) * rate <= capacity * (1 + 1e-9)).all())


def _zigzag(g: int, start: int) -> tuple[int, ...]:
    """Walecki's path: all g of them together cross every directed pair of an even number of places once."""
    steps = [0, *(s for k in range(1, g) for s in (k, -k))][:g]
    return tuple((start + s) % g for s in steps)


def _all_orders(
    topology: Topology, devices: Sequence[int], *, closed: bool
) -> tuple[tuple[tuple[int, ...], ...], Counts]:
    """Every order worth a look, and how often each crosses every link."""
    g = len(devices)
    if g > MOST_SEARCHED or _switched(topology, devices):
        orders: tuple[tuple[int, ...], ...] = (tuple(range(g)),)
    elif closed:
        orders = tuple((0, *rest) for rest in permutations(range(1, g)))
    else:
        orders = tuple(permutations(range(g)))
    return _counted(topology, devices, orders, closed=closed)


def _switched(topology: Topology, devices: Sequence[int]) -> bool:
    """Whether every GPU is joined to all others by one switch."""
    first, rest = devices[0], devices[1:]
    if not rest:
        return True
    offsets, links = topology.routes([first] * len(rest), list(rest))
    shared = topology.links[links[0]] if len(links) else None
    same = all(topology.links[links[k]] == shared for k in offsets[:-1])
    return same and len(links) == 2 * len(rest) and len(rest) > 1


def _counted(
    topology: Topology, devices: Sequence[int], orders: tuple[tuple[int, ...], ...], *, closed: bool
) -> tuple[tuple[tuple[int, ...], ...], Counts]:
    g = len(devices)
    src, dst = (side.ravel() for side in np.meshgrid(devices, devices, indexing="ij"))
    offsets, links = topology.routes(src, dst)
    crossed = np.zeros((g * g, len(topology.links)), np.int16)
    np.add.at(crossed, (np.repeat(np.arange(g * g), np.diff(offsets)), links), 1)
    table = np.array(orders)
    counts = np.zeros((len(orders), len(topology.links)), np.int16)
    for k in range(g if closed and g > 1 else g - 1):
        counts += crossed[table[:, k] * g + table[:, (k + 1) % g]]
    return orders, counts


def _bottleneck(counts: Counts, capacity: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each order carries alone, B/s."""
    with np.errstate(divide="ignore"):
        rates = np.where(counts > 0, capacity / np.maximum(counts, 1), np.inf)
    least: NDArray[np.float64] = rates.min(axis=1, initial=1e30)
    return least


def _pack(
    counts: Counts, room: NDArray[np.float64], choices: Sequence[Sequence[int] | Ints], ends: NDArray[np.int64]
) -> list[int]:
    """As many orders as fit into `room` crossings of every link, one of each entry of `choices`, no two with one end.

    Depth first; gives up after `MOST_TRIES` with the best so far.
    """
    used = np.flatnonzero(counts.any(axis=0))
    counts, room = counts[:, used], room[used]
    best: list[int] = []
    tries = 0

    def deeper(
        left: NDArray[np.float64], taken: list[int], alike: NDArray[np.int64] | None, unused: NDArray[np.bool_]
    ) -> None:
        nonlocal best, tries
        if len(taken) > len(best):
            best = taken
        if len(taken) == len(choices):
            return
        options = np.asarray(choices[len(taken)]) if alike is None else alike
        options = options[unused[ends[options]]]
        options = options[(counts[options] <= left).all(axis=1)]
        repeated = len(taken) + 1 < len(choices) and choices[len(taken)] is choices[len(taken) + 1]
        for k, i in enumerate(options[:BREADTH].tolist()):
            tries += 1
            if len(best) == len(choices) or tries > MOST_TRIES:
                return
            rest = unused.copy()
            rest[ends[i]] = False
            deeper(left - counts[i], [*taken, i], options[k:] if repeated else None, rest)

    deeper(room, [], None, np.ones(int(ends.max(initial=0)) + 1, bool))
    return best
