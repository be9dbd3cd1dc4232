"""Ways around links that may not be used."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Ints
from sim.base.ragged import counts_of
from sim.errors import UnreachableError
from sim.topology.devices import Routes
from sim.topology.model import Topology
from sim.topology.routing import merge, shortest_routes

Ways = Callable[[Ints, Ints], Routes]


def around(
    topology: Topology, links: Sequence[int], lost: Callable[[UnreachableError], None], among: int | None = None
) -> Ways:
    """Routes that avoid some links: as they were where they did not use them, else a shortest one of the rest.

    Where the rest has none they stay as they were, and `lost` is called with what the search said. `among` is that of
    `shortest_routes`.
    """
    dead = np.zeros(len(topology.links), bool)
    dead[links] = True
    left = np.nonzero(~dead)[0].astype(np.int32)
    rest = replace(topology, links=tuple(topology.links[i] for i in left), router=None)
    detour = shortest_routes(rest, among)

    def route(src: Ints, dst: Ints) -> Routes:
        offsets, crossed = topology.routes(src, dst)
        blocked = counts_of(offsets, dead[crossed]) > 0
        if blocked.any():
            blocked[blocked] = _reached(detour, src[blocked], dst[blocked], lost)
        if not blocked.any():
            return Routes(offsets, crossed)
        around = detour(src[blocked], dst[blocked])
        plain = topology.routes(src[~blocked], dst[~blocked])
        return merge(blocked, Routes(around.offsets, left[around.links]), plain)

    return route


def _reached(detour: Ways, src: Ints, dst: Ints, lost: Callable[[UnreachableError], None]) -> NDArray[np.bool_]:
    """Which pairs the detour leads between; `lost` is called for each that it does not."""
    reached = np.ones(len(src), bool)
    try:
        detour(src, dst)
    except UnreachableError:
        for k in range(len(src)):
            try:
                detour(src[k : k + 1], dst[k : k + 1])
            except UnreachableError as error:
                reached[k] = False
                lost(error)
    return reached
