"""The routes of a SimGrid platform: inside a zone as the zone routes, between zones by way of their gateways.

As SimGrid's NetZoneImpl, StarZone, FullZone, FloydZone and DijkstraZone do it (3.32 and 4.1), bypasses included.
"""

import heapq
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sim.errors import Message, UnreachableError
from sim.formats.simgrid_xml.fabrics import ZoneGrid, grid_of
from sim.formats.simgrid_xml.places import Crossing, Laid, Places, lay_out
from sim.formats.simgrid_xml.platform import Platform, Route, Zone

MOST_POINTS = 1000
"""Of a Floyd or Dijkstra zone, whose tables grow with the square."""
NO_ROUTES = {
    "Vivaldi": "simgrid.routing_vivaldi",
    "Wifi": "simgrid.routing_wifi",
    "None": "simgrid.routing_none",
}
"""Why routings lead to no links that could be simulated where several parts are in a zone, as ids of messages."""


class Local(NamedTuple):
    """A way inside one zone, and the gateways it begins and ends at where its points are zones."""

    steps: list[Crossing]
    gw_src: str
    gw_dst: str


@dataclass(slots=True, eq=False)
class Network:
    """A platform with every cable in its place."""

    platform: Platform
    places: Places
    grids: dict[str, ZoneGrid]
    steps: dict[int, list[Crossing]] = field(default_factory=dict)
    """By the id() of a Route: what it crosses."""
    up: dict[tuple[str, str], list[Crossing]] = field(default_factory=dict)
    down: dict[tuple[str, str], list[Crossing]] = field(default_factory=dict)
    core: dict[str, list[Crossing]] = field(default_factory=dict)
    """Of a Cluster zone with a backbone: from its hub over the backbone back to its hub."""
    table: dict[str, dict[tuple[str, str], Route]] = field(default_factory=dict)
    lines: dict[tuple[int, int], tuple[list[Zone], list[Zone]]] = field(default_factory=dict)
    """By the id() of two Zones: see `_lines`."""
    between: dict[tuple[str, str], Local] = field(default_factory=dict)
    """Of two zones in one: the way from one to the other, once asked."""
    gated: dict[tuple[str, str], list[Crossing]] = field(default_factory=dict)
    """The way to a gateway, or from one, once asked."""
    before: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """Of a Floyd or Dijkstra zone, once asked: the point before the last, by source and destination."""

    def route(self, src: str, dst: str) -> list[Crossing]:
        """From one host or router to another. Raises UnreachableError when the file leads nowhere."""
        return self._route(src, dst, 0)

    def _route(self, src: str, dst: str, depth: int) -> list[Crossing]:
        if src == dst:
            return []
        if depth > 100:
            raise UnreachableError("simgrid.circle", platform=self.platform.name, src=src, dst=dst)
        up, down = self._lines(self.platform.where[src], self.platform.where[dst])
        common = up[-1]
        bypass = self._bypass(common, src, dst, up, down) if common.bypasses else None
        if bypass is not None:
            route, from_src, to_dst = bypass
            before = [] if from_src else self._route(src, route.gw_src, depth + 1)
            after = [] if to_dst else self._route(route.gw_dst, dst, depth + 1)
            return [*before, *self.steps[id(route)], *after]
        if up[0] is common and down[0] is common:
            return self._local(common, src, dst, depth).steps
        if up[0] is common or down[0] is common:
            raise UnreachableError("simgrid.unreachable", file=self.platform.name, src=src, dst=dst, zone=common.name)
        one, other = up[-2].name, down[-2].name
        between = self.between.get((one, other)) or self._local(common, one, other, depth)
        self.between[one, other] = between
        steps, gw_src, gw_dst = between
        return [*self._to_gate(src, gw_src, depth + 1), *steps, *self._to_gate(gw_dst, dst, depth + 1)]

    def _lines(self, one: Zone, other: Zone) -> tuple[list[Zone], list[Zone]]:
        """The zones around each of two, from the inside out to the first that is around both."""
        key = id(one), id(other)
        if key not in self.lines:
            up, down = one.line_up(), other.line_up()
            while len(up) > 1 and len(down) > 1 and up[-2] is down[-2]:
                up, down = up[:-1], down[:-1]
            self.lines[key] = up, down
        return self.lines[key]

    def _to_gate(self, src: str, dst: str, depth: int) -> list[Crossing]:
        """As `_route`, of two points one of which is a gateway: all ways out of a zone and into it lead there."""
        if (src, dst) not in self.gated:
            self.gated[src, dst] = self._route(src, dst, depth)
        return self.gated[src, dst]

    def _bypass(
        self, common: Zone, src: str, dst: str, up: list[Zone], down: list[Zone]
    ) -> tuple[Route, bool, bool] | None:
        """The bypass the common zone has for two points, and whether it begins and ends right at them."""
        bypasses = {(route.src, route.dst): route for route in common.bypasses}
        if len(up) == 1 and len(down) == 1:
            return (bypasses[src, dst], True, True) if (src, dst) in bypasses else None
        a, b = ([zone.name for zone in line] for line in (up, down))
        for far in range(max(len(a), len(b))):
            for i, j in [pair for k in range(far) for pair in ((k, far), (far, k))] + [(far, far)]:
                if i < len(a) and j < len(b) and (a[i], b[j]) in bypasses:
                    return bypasses[a[i], b[j]], False, False
        return None

    def _local(self, zone: Zone, src: str, dst: str, depth: int) -> Local:
        if zone.fabric is not None:
            grid = self.grids[zone.name]
            ends = grid.number[src], grid.number[dst]
            return Local(grid.steps(self.places, *ends), src, dst)
        if zone.routing == "Cluster":
            up, down = self.up[zone.name, src], self.down[zone.name, dst]
            core = self.core.get(zone.name, []) if src in zone.up or dst in zone.up else []
            seen = {step.cable for step in up if step.cable >= 0}
            return Local([*up, *core, *(step for step in down if step.cable not in seen)], src, dst)
        routes = self.table[zone.name]
        if zone.routing == "Full":
            if (src, dst) not in routes:
                self._no_route(zone, src, dst)
            route = routes[src, dst]
            return Local(self.steps[id(route)], route.gw_src, route.gw_dst)
        hops = [routes[pair] for pair in pairwise(self._stops(zone, src, dst))]
        steps = list(self.steps[id(hops[0])])
        for one, other in pairwise(hops):
            if one.gw_dst != other.gw_src:
                steps += self._route(one.gw_dst, other.gw_src, depth + 1)
            steps += self.steps[id(other)]
        return Local(steps, hops[0].gw_src, hops[-1].gw_dst)

    def _stops(self, zone: Zone, src: str, dst: str) -> list[str]:
        """The points of a Floyd or Dijkstra zone that a way passes."""
        before = self.before.setdefault(zone.name, {})
        if zone.routing == "Floyd" and not before:
            before.update(_floyd(zone, self.table[zone.name]))
        elif src not in before:
            before[src] = _dijkstra(self.table[zone.name], src)
        stops = [dst]
        while stops[-1] != src:
            if stops[-1] not in before.get(src, {}):
                self._no_route(zone, src, dst)
            stops.append(before[src][stops[-1]])
        return stops[::-1]

    def _no_route(self, zone: Zone, src: str, dst: str) -> None:
        raise UnreachableError(
            "simgrid.no_route", file=self.platform.name, line=zone.element.line, zone=zone.name, src=src, dst=dst
        )


def connect(platform: Platform) -> tuple[Network, Laid]:
    """Put every cable in its place. Raises InputError for zones whose routing is no table."""
    grids = {}
    for zone in platform.zone.values():
        _check(platform, zone)
        if zone.fabric is not None:
            grids[zone.name] = grid_of(platform, zone, zone.fabric)
    gates: set[int] = set()
    while True:
        places = Places(platform.cables, set(gates))
        network = _walked(platform, places, grids)
        if places.gates == gates:
            return network, lay_out(places, platform.hosts)
        gates = places.gates


def _check(platform: Platform, zone: Zone) -> None:
    if zone.routing in NO_ROUTES and len(zone.zones) + len(zone.hosts) > 1:
        why = Message(NO_ROUTES[zone.routing])
        zone.element.refuse(platform.name, "simgrid.zone_routing", zone=zone.name, routing=zone.routing, why=why)
    if zone.routing in ("Floyd", "Dijkstra") and len(zone.hosts) + len(zone.routers) + len(zone.zones) > MOST_POINTS:
        zone.element.refuse(platform.name, "simgrid.points", zone=zone.name, most=MOST_POINTS)


def _walked(platform: Platform, places: Places, grids: dict[str, ZoneGrid]) -> Network:
    network = Network(platform, places, grids)
    for name in platform.hosts:
        places.node(name, host=True)
    for grid in grids.values():
        grid.lay(places)
    for zone in platform.zone.values():
        if zone.routing == "Cluster":
            _star(network, zone)
        table = network.table.setdefault(zone.name, {})
        # direct links first: they tell which hosts a link lies between
        for route in sorted(zone.routes, key=lambda route: len(route.hops)):
            if route.src == route.dst:
                platform.notes["loopback links are passed over: what a host keeps to itself takes no time"] = None
                continue
            if (route.src, route.dst) in table:
                route.element.refuse(platform.name, "simgrid.route_twice", src=route.src, dst=route.dst)
            table[route.src, route.dst] = route
            _walk(network, route)
        for route in zone.bypasses:
            _walk(network, route)
    return network


def _walk(network: Network, route: Route) -> None:
    places = network.places
    a, b = (places.node(gate or point) for gate, point in ((route.gw_src, route.src), (route.gw_dst, route.dst)))
    network.steps[id(route)] = places.walk(a, route.hops, b)


def _star(network: Network, zone: Zone) -> None:
    """A Cluster zone: every host up to the hub and down from it, over the backbone if there is one."""
    places = network.places
    if zone.routes:
        first = zone.routes[0].element
        first.refuse(network.platform.name, "simgrid.zone_cluster", zone=zone.name)
    hub = places.node(zone.routers[0] if zone.routers else f"{zone.name} hub")
    below = hub
    if zone.backbone >= 0:
        below = places.node(f"{zone.name} backbone")
        places.lay(zone.backbone, below, hub, one_way=True)
        network.core[zone.name] = [Crossing(zone.backbone, True)]
    for point in (*zone.hosts, *zone.routers):
        node = places.node(point)
        up, down = zone.up.get(point, ()), zone.down.get(point, ())
        network.up[zone.name, point] = places.walk(node, up, below) if up else [places.wire(node, below)]
        network.down[zone.name, point] = places.walk(hub, down, node) if down or node != hub else []


def _floyd(zone: Zone, routes: dict[tuple[str, str], Route]) -> dict[str, dict[str, str]]:
    """Fewest links; of equals the one found first, with points in the order of the file."""
    names = [*dict.fromkeys(name for pair in routes for name in pair)]
    at = {name: i for i, name in enumerate(names)}
    cost = np.full((len(names), len(names)), np.inf)
    before = np.full(cost.shape, -1)
    for (src, dst), route in routes.items():
        cost[at[src], at[dst]], before[at[src], at[dst]] = len(route.hops), at[src]
    for via in range(len(names)):
        through = cost[:, via, None] + cost[via]
        better = through < cost
        cost[better] = through[better]
        before[better] = np.broadcast_to(before[via], cost.shape)[better]
    return {
        src: {dst: names[before[i, j]] for j, dst in enumerate(names) if before[i, j] >= 0}
        for i, src in enumerate(names)
    }


def _dijkstra(routes: dict[tuple[str, str], Route], src: str) -> dict[str, str]:
    """Fewest links from one point; of equals the one met first, with points in the order of the routes."""
    onward: dict[str, list[tuple[str, int]]] = {}
    for (a, b), route in routes.items():
        onward.setdefault(a, []).append((b, len(route.hops)))
    order = {name: i for i, name in enumerate(dict.fromkeys(name for pair in routes for name in pair))}
    cost, before = {src: 0}, {}
    queue = [(0, order.get(src, 0), src)]
    while queue:
        _, _, here = heapq.heappop(queue)
        for neighbour, links in onward.get(here, ()):
            if cost[here] + links < cost.get(neighbour, 1 << 60):
                cost[neighbour], before[neighbour] = cost[here] + links, here
                heapq.heappush(queue, (cost[neighbour], order[neighbour], neighbour))
    return before
