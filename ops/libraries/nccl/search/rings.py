"""The rings that NCCL would build inside a node: orders of its GPUs that together use its links best.

A ring closes inside one node; between nodes it is a path that comes in at one NIC and leaves at another.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ops.libraries.nccl.search.nics import Gate
from sim.topology import Ints, Topology

MOST_SEARCHED = 8
"""GPUs of a node up to which all orders are tried; more stand in their own order, as on an NVSwitch."""
MOST_PATHS = 16
"""Paths of a node at most, which are then NCCL's channels."""
MOST_TRIES, BREADTH = 2000, 24
"""Orders looked at before the best set so far is taken, and how many of those that fit are followed."""
NO_END = -1
"""The end of an order that others may have, too."""
Counts = NDArray[np.int16]


class Rings(NamedTuple):
    """Orders of a node's places 0..g-1, each for its share of the data; `bandwidth` is what each carries (B/s)."""

    orders: tuple[tuple[int, ...], ...]
    bandwidth: float


def closed_rings(topology: Topology, devices: Sequence[int]) -> Rings:
    """Rings inside one node, for device indices in rank order."""
    orders, counts = _closed_orders(topology, devices)
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


def open_paths(
    topology: Topology, devices: Sequence[int], gates: Sequence[Gate], own: Sequence[int], nic: float
) -> Rings:
    """One path inside a node of several for each gate, from the GPU it enters to one of those it may leave by.

    `own[i]` is the NIC of place i: no two that change the NIC leave by the same. `nic` is what a NIC carries (B/s). The
    paths are one ring entered at different GPUs where its links can carry all of them, as NCCL prefers (sameChannels);
    else different orders. They carry what a NIC does, or as much as the links inside allow; what one GPU sends by the
    NIC of another crosses links inside, too.
    """
    g, capacity = len(devices), topology.bandwidth
    along = tuple(_neighbours(g, gate) for gate in gates)
    if _switched(topology, devices) or g > MOST_SEARCHED or g < 3:
        load = _counted(topology, devices, along, _back(along, gates))
        return Rings(along, min(nic, float(_bottleneck(load.sum(axis=0, keepdims=True), capacity)[0])))
    one = closed_rings(topology, devices).orders[0]
    turned = tuple(_turned(one, gate) or _turned(one[::-1], gate) for gate in gates)
    if all(turned):
        load = _counted(topology, devices, turned, _back(turned, gates))
        if _fits(load, capacity, nic):
            return Rings(turned, nic)
    orders = tuple(permutations(range(g)))
    table = np.array(orders)
    relayed = np.zeros(g, np.bool_)
    relayed[[gate.enters for gate in gates if gate.relayed]] = True
    counts = _counted(topology, devices, orders, relayed[table[:, 0]])
    zigzag = {_zigzag(g, gate.enters) for gate in gates}
    early = np.array([order not in zigzag for order in orders])
    fitting = [np.flatnonzero((table[:, 0] == gate.enters) & np.isin(table[:, -1], gate.leaves)) for gate in gates]
    by_gate = [some[np.argsort(early[some], kind="stable")].tolist() for some in fitting]
    ends = np.array(own)[table[:, -1]] if all(gate.crosses for gate in gates) else np.full(len(orders), NO_END)
    for share in (1.0, 0.75, 0.5, 1 / 3, 0.25, 0.125):
        chosen = _pack(counts, np.floor(capacity / (nic * share) * (1 + 1e-9)), by_gate, ends)
        if len(chosen) == len(gates):
            return Rings(tuple(orders[i] for i in chosen), nic * share)
    load = _counted(topology, devices, along, _back(along, gates))
    return Rings(along, min(nic, float(_bottleneck(load.sum(axis=0, keepdims=True), capacity)[0])))


def _neighbours(g: int, gate: Gate) -> tuple[int, ...]:
    """From GPU to GPU as NCCL goes over an NVSwitch: each has one neighbour before it and one after.

    ncclTopoSearchNextGpuSort tries the one before first, so that eight GPUs go 0 7 6 5 4 3 2 1.
    """
    down = tuple((gate.enters - k) % g for k in range(g))
    up = tuple((gate.enters + k) % g for k in range(g))
    if g == 1 or down[-1] in gate.leaves:
        return down
    if up[-1] in gate.leaves:
        return up
    return (*(place for place in down if place != gate.leaves[0]), gate.leaves[0])


def _turned(ring: tuple[int, ...], gate: Gate) -> tuple[int, ...]:
    """A ring entered by a gate, or nothing where it does not leave by it."""
    at = ring.index(gate.enters)
    turned = ring[at:] + ring[:at]
    return turned if turned[-1] in gate.leaves else ()


def _back(orders: tuple[tuple[int, ...], ...], gates: Sequence[Gate]) -> NDArray[np.bool_]:
    """Which paths go back to the GPU they entered, that it sends for the last one."""
    return np.array([gate.relayed for gate in gates[: len(orders)]])


def _fits(load: Counts, capacity: NDArray[np.float64], rate: float) -> bool:
    """Whether links can carry all orders at once, each at a rate."""
    return bool((load.sum(axis=0) * rate <= capacity * (1 + 1e-9)).all())


def _zigzag(g: int, start: int) -> tuple[int, ...]:
    """Walecki's path: all g of them together cross every directed pair of an even number of places once."""
    steps = [0, *(s for k in range(1, g) for s in (k, -k))][:g]
    return tuple((start + s) % g for s in steps)


def _closed_orders(topology: Topology, devices: Sequence[int]) -> tuple[tuple[tuple[int, ...], ...], Counts]:
    """Every ring worth a look, and how often each crosses every link."""
    g = len(devices)
    if g > MOST_SEARCHED or _switched(topology, devices):
        orders: tuple[tuple[int, ...], ...] = (tuple(range(g)),)
    else:
        orders = tuple((0, *rest) for rest in permutations(range(1, g)))
    return orders, _counted(topology, devices, orders, np.full(len(orders), g > 1))


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
    topology: Topology, devices: Sequence[int], orders: tuple[tuple[int, ...], ...], closed: NDArray[np.bool_]
) -> Counts:
    """How often each order crosses every link, with the way back to its first place where it is closed."""
    g = len(devices)
    src, dst = (side.ravel() for side in np.meshgrid(devices, devices, indexing="ij"))
    offsets, links = topology.routes(src, dst)
    crossed = np.zeros((g * g, len(topology.links)), np.int16)
    np.add.at(crossed, (np.repeat(np.arange(g * g), np.diff(offsets)), links), 1)
    table = np.array(orders)
    counts = np.zeros((len(orders), len(topology.links)), np.int16)
    for k in range(g - 1):
        counts += crossed[table[:, k] * g + table[:, k + 1]]
    counts[closed] += crossed[table[closed, -1] * g + table[closed, 0]]
    return counts


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
        options = options[unused[ends[options]] | (ends[options] == NO_END)]
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
