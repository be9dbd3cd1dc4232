"""Ways around links that may not be used."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sim.base.arrays import Ints
from sim.topology.devices import Routes
from sim.topology.model import Topology
from sim.topology.routing import merge, shortest_routes


def around(topology: Topology, links: Sequence[int]) -> Callable[[Ints, Ints], Routes]:
    """Routes that avoid some links: as they were where they did not use them, else a shortest one of the rest."""
    dead = np.zeros(len(topology.links), bool)
    dead[links] = True
    left = np.nonzero(~dead)[0].astype(np.int32)
    rest = replace(topology, links=tuple(topology.links[i] for i in left), router=None)
    detour = shortest_routes(rest)

    def route(src: Ints, dst: Ints) -> Routes:
        offsets, crossed = topology.routes(src, dst)
        sums = np.concatenate([[0], np.cumsum(dead[crossed])])
        blocked = sums[offsets[1:]] > sums[offsets[:-1]]
        if not blocked.any():
            return Routes(offsets, crossed)
        around = detour(src[blocked], dst[blocked])
        plain = topology.routes(src[~blocked], dst[~blocked])
        return merge(blocked, Routes(around.offsets, left[around.links]), plain)

    return route
