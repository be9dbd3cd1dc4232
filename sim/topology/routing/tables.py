"""Routes that are written down one by one, for machines whose routing is no rule."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Ints
from sim.base.ragged import offsets_of, take
from sim.errors import UnreachableError
from sim.topology.devices import Router, Routes
from sim.topology.model import Topology
from sim.topology.routing import merge, shortest_routes


def tabled(topology: Topology, routes: Mapping[tuple[int, int], Sequence[int]], *, alone: bool) -> Router:
    """A router that knows `routes[src, dst]`, device indices to link indices; other pairs go the general way.

    With `alone` other pairs are unreachable: raises UnreachableError when one is asked for.
    """
    devices = len(topology.devices)
    pairs = sorted(routes)
    keys = np.array([src * devices + dst for src, dst in pairs], np.int64)
    offsets = offsets_of([len(routes[pair]) for pair in pairs]).astype(np.int32)
    links = np.array([link for pair in pairs for link in routes[pair]], np.int32)
    general: list[Router] = []

    def route(src: Ints, dst: Ints) -> Routes:
        key = src.astype(np.int64) * devices + dst
        row = np.searchsorted(keys, key).astype(np.int32)
        in_table = np.zeros(len(src), np.bool_)
        inside = row < len(keys)
        in_table[inside] = keys[row[inside]] == key[inside]
        listed = Routes(*take(offsets, links, row[in_table]))
        other = ~in_table & (src != dst) if alone else ~in_table
        if alone and other.any():
            i = int(np.argmax(other))
            raise UnreachableError(
                "routes.none",
                topology=topology.name,
                src=topology.devices[src[i]].name,
                dst=topology.devices[dst[i]].name,
            )
        if in_table.all():
            return listed
        if alone:
            return merge(
                in_table, listed, Routes(np.zeros(int((~in_table).sum()) + 1, np.int32), np.zeros(0, np.int32))
            )
        if not general:
            general.append(shortest_routes(topology))
        return merge(in_table, listed, general[0](src[other], dst[other]))

    return route


def links_between(topology: Topology) -> dict[tuple[str, str], list[int]]:
    """The links that lead from one device straight to another, in order."""
    between: dict[tuple[str, str], list[int]] = {}
    for i, link in enumerate(topology.links):
        between.setdefault((link.src, link.dst), []).append(i)
        if link.both:
            between.setdefault((link.dst, link.src), []).append(i)
    return between


class RouteRow(NamedTuple):
    """The routes from one device to all: the route to device d crosses `links[offsets[d]:offsets[d + 1]]`."""

    reached: NDArray[np.bool_]
    offsets: Ints
    links: Ints

    def to(self, dst: int) -> list[int]:
        """The links of one route."""
        route: list[int] = self.links[self.offsets[dst] : self.offsets[dst + 1]].tolist()
        return route

    def differs(self, other: "RouteRow") -> NDArray[np.bool_]:
        """For which devices the two rows have different routes."""
        lengths = np.diff(self.offsets)
        different: NDArray[np.bool_] = lengths != np.diff(other.offsets)
        alike = np.flatnonzero(~different).astype(np.int32)
        (_, ours), (_, theirs) = (take(side.offsets, side.links, alike) for side in (self, other))
        different[np.repeat(alike, lengths[alike])[ours != theirs]] = True
        different |= self.reached != other.reached
        return different


def row(topology: Topology, src: int) -> RouteRow:
    """All routes from one device; a device that cannot be reached has an empty one."""
    everyone = np.arange(len(topology.devices), dtype=np.int32)
    reached = np.zeros(len(everyone), np.bool_)
    lengths = np.zeros(len(everyone), np.int64)
    parts = [np.zeros(0, np.int32)]
    for block, (offsets, links) in _reached(topology, src, everyone):
        reached[block], lengths[block] = True, np.diff(offsets)
        parts.append(links)
    return RouteRow(reached, offsets_of(lengths).astype(np.int32), np.concatenate(parts))


def _reached(topology: Topology, src: int, targets: Ints) -> Iterator[tuple[Ints, Routes]]:
    """The parts of `wanted` that can be reached, found by halving what cannot be asked for together."""
    try:
        yield targets, topology.routes(np.full(len(targets), src, np.int32), targets)
    except UnreachableError:
        if len(targets) > 1:
            middle = len(targets) // 2
            yield from _reached(topology, src, targets[:middle])
            yield from _reached(topology, src, targets[middle:])
