"""In which order a ring visits its ranks: along the fastest links, as NCCL's search lays its rings."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.topology import Topology

MOST_STEPS = 20_000
"""Steps of a search for one threshold; what is not found by then is looked for along slower links."""
LARGEST_HOST = 32
"""Ranks of a host up to which a better order is looked for."""


def ring_order(topology: Topology, devices: Sequence[int]) -> list[int]:
    """Positions in `devices` in the order of a ring: host by host, inside a host along the fastest direct links.

    The given order is kept wherever no other has a faster slowest link.

    >>> from sim.machines import build
    >>> cube_mesh, switch = build("dgx1v"), build("switch:ranks=4")
    >>> ring_order(switch, switch.ranks), ring_order(cube_mesh, cube_mesh.ranks)
    ([0, 1, 2, 3], [0, 3, 2, 1, 5, 6, 7, 4])
    """
    hosts: dict[int, list[int]] = {}
    for place, device in enumerate(devices):
        hosts.setdefault(topology.devices[device].host, []).append(place)
    order: list[int] = []
    for places in hosts.values():
        alone = len(hosts) == 1
        if 3 < len(places) <= LARGEST_HOST:
            speed = _speeds(topology, [devices[place] for place in places])
            order += [places[k] for k in _fastest(speed, closed=alone)]
        else:
            order += places
    return order


def _speeds(topology: Topology, devices: Sequence[int]) -> NDArray[np.float64]:
    """The slowest link's bandwidth of every pair's route, shared out over its hops: fewer are better."""
    n = len(devices)
    src, dst = np.repeat(devices, n), np.tile(devices, n)
    routes = topology.routes(src, dst)
    hops = np.diff(routes.offsets)
    slowest = np.full(n * n, np.inf)
    np.minimum.at(slowest, np.repeat(np.arange(n * n), hops), topology.bandwidth[routes.links])
    return (slowest / np.maximum(hops, 1)).reshape(n, n)


def _fastest(speed: NDArray[np.float64], *, closed: bool) -> list[int]:
    """The first order, counted like words in a dictionary, whose slowest step is as fast as can be found."""
    n = len(speed)
    for least in sorted(set(speed[~np.eye(n, dtype=bool)].tolist()), reverse=True):
        found = _visit(speed >= least, closed=closed)
        if found:
            return found
    return list(range(n))


def _visit(joined: NDArray[np.bool_], *, closed: bool) -> list[int]:
    """A way from 0 through all others, and back when it is closed; empty if none is found in time."""
    n = len(joined)
    path, untried, steps = [0], [iter(range(1, n))], 0
    while path and steps < MOST_STEPS:
        steps += 1
        onward = next((k for k in untried[-1] if k not in path and joined[path[-1], k]), None)
        if onward is None:
            path.pop()
            untried.pop()
        else:
            path.append(onward)
            untried.append(iter(range(1, n)))
            if len(path) == n and (not closed or joined[onward, 0]):
                return path
    return []
