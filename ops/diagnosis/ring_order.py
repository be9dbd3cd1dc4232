"""The order of ranks in which a ring is fastest: its narrowest link carries as few hops as can be."""

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.ragged import row_numbers
from sim.topology import Topology

MOST_SEARCHED = 8
"""Ranks up to which every order is tried."""
MOST_IMPROVED = 64
"""Ranks up to which an order is improved by exchanging two of them; more stay as they are."""
MOST_EXCHANGES = 12_000
"""Exchanges that are tried."""

Cost = tuple[float, float]
"""Seconds per byte at the narrowest link, then seconds of latency round the ring."""


class Hops(NamedTuple):
    """Every way from rank a to rank b: how often it crosses each link, `(n, n, links)`; its latency, `(n, n)`, in s."""

    crosses: NDArray[np.uint8]
    latency: NDArray[np.float64]
    per_byte: NDArray[np.float64]
    """Seconds per byte of every link."""

    def cost(self, order: Sequence[int]) -> Cost:
        """What a ring in this order costs."""
        src = np.array(order)
        dst = np.roll(src, -1)
        load = self.crosses[src, dst].sum(axis=0, dtype=np.int64) * self.per_byte
        return float(load.max(initial=0.0)), float(self.latency[src, dst].sum())


def hops_of(topology: Topology) -> Hops:
    """The ways between all ranks of a machine. Raises InputError where nothing leads from one to another."""
    n = topology.n
    ranks = np.array(topology.ranks, np.int32)
    a, b = np.nonzero(~np.eye(n, dtype=bool))
    offsets, links = topology.routes(ranks[a], ranks[b])
    crosses = np.zeros((n, n, len(topology.links)), np.uint8)
    pair = row_numbers(offsets)
    np.add.at(crosses, (a[pair], b[pair], links), 1)
    latency = np.zeros((n, n))
    np.add.at(latency, (a[pair], b[pair]), topology.latency[links])
    return Hops(crosses, latency, 1 / topology.bandwidth)


def ring_order(topology: Topology) -> tuple[int, ...]:
    """The best order of ranks for a ring, rank 0 first; the order there is where none is better.

    Up to eight ranks all orders are tried, beyond that ranks change places until no exchange of two helps. Raises
    InputError where nothing leads from one rank to another.

    >>> from sim.machines import build
    >>> ring_order(build("dual_socket_pcie:gpus=4"))
    (0, 1, 2, 3)
    """
    usual = tuple(range(topology.n))
    if not 2 < topology.n <= MOST_IMPROVED:
        return usual
    hops = hops_of(topology)
    best = _of_all(hops, topology.n) if topology.n <= MOST_SEARCHED else _exchanged(hops, _nearest_first(hops))
    return best if _better(hops.cost(best), hops.cost(usual)) else usual


def _better(cost: Cost, than: Cost) -> bool:
    """Whether a cost is lower by more than rounding."""
    if cost[0] < than[0] * (1 - 1e-9):
        return True
    return cost[0] <= than[0] * (1 + 1e-9) and cost[1] < than[1] * (1 - 1e-9)


def _of_all(hops: Hops, n: int) -> tuple[int, ...]:
    """The best of all orders."""
    orders = np.array([(0, *rest) for rest in permutations(range(1, n))])
    load = np.zeros((len(orders), hops.crosses.shape[2]), np.int16)
    latency = np.zeros(len(orders))
    for place in range(n):
        src, dst = orders[:, place], orders[:, (place + 1) % n]
        load += hops.crosses[src, dst]
        latency += hops.latency[src, dst]
    narrowest = (load * hops.per_byte).max(axis=1, initial=0.0)
    fast = np.flatnonzero(narrowest <= narrowest.min() * (1 + 1e-9))
    near = fast[latency[fast] <= latency[fast].min() * (1 + 1e-9)]
    return tuple(orders[near[0]].tolist())


def _nearest_first(hops: Hops) -> list[int]:
    """From rank 0 always on to the rank that is reached fastest."""
    n = len(hops.latency)
    slowest = (hops.crosses * hops.per_byte).max(axis=2)
    order, left = [0], set(range(1, n))
    while left:
        here = order[-1]
        order.append(min(left, key=lambda rank: (slowest[here, rank], hops.latency[here, rank], rank)))
        left.remove(order[-1])
    return order


def _exchanged(hops: Hops, order: list[int]) -> tuple[int, ...]:
    """An order in which two ranks have changed places as long as that helped; never a worse one than that of ranks."""
    usual = list(range(len(order)))
    best = min((order, usual), key=hops.cost)
    cost, tries, is_better = hops.cost(best), 0, True
    while is_better and tries < MOST_EXCHANGES:
        is_better = False
        for a in range(1, len(best)):
            for b in range(a + 1, len(best)):
                other = best.copy()
                other[a], other[b] = other[b], other[a]
                tries += 1
                if _better(now := hops.cost(other), cost):
                    best, cost, is_better = other, now, True
    return tuple(best)
