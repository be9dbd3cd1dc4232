"""What a SimGrid platform file says: zones with their hosts, routers, links and routes, names already looked up."""

import difflib
import re
from dataclasses import dataclass, field

from sim.base.numbers import whole
from sim.base.size import room_for
from sim.base.xml import Element
from sim.errors import Message
from sim.formats.simgrid_xml.places import FATPIPE, SHARED, SPLITDUPLEX, Cable, Hop
from sim.formats.simgrid_xml.units import bandwidth, label, latency

RENAMED = {"AS": "zone", "ASroute": "zoneRoute", "bypassASroute": "bypassZoneRoute", "link:ctn": "link_ctn"}
"""Names of version 3 and what version 4 calls them."""

ZONES = ("zone", "cluster")
ACTORS = ("actor", "process", "argument")
"""What a deployment file holds instead, in versions 4 and 3."""

ROUTES = ("route", "zoneRoute", "bypassRoute", "bypassZoneRoute")
IGNORED = ("prop", "config", "disk", "storage", "storage_type", "mount", "mstorage", "model_prop")
"""Elements that say nothing of the network."""

ROUTINGS = {word.lower(): word for word in ("Full", "Floyd", "Dijkstra", "Cluster", "Vivaldi", "Wifi", "None")}
ROUTINGS |= {"dijkstracache": "Dijkstra"}
OVERHEAD, GAMMA = "ringside-overhead", "ringside-gamma"
"""Properties of the outermost zone that hold what SimGrid has no word for, in s and s/B."""


@dataclass(slots=True)
class Route:
    """A way that the file spells out, between two points of a zone; gateways where these are zones."""

    element: Element
    src: str
    dst: str
    gw_src: str
    gw_dst: str
    hops: tuple[Hop, ...]


@dataclass(slots=True)
class Fabric:
    """A cluster built by rule: TORUS, FAT_TREE or DRAGONFLY, its parameters and what each of its links is like."""

    element: Element
    shape: str
    parameters: str
    link: Cable
    limiter: float


@dataclass(slots=True)
class Zone:
    """A part of the platform that routes between its own points in one way."""

    name: str
    element: Element
    routing: str
    parent: "Zone | None"
    hosts: list[str] = field(default_factory=list)
    routers: list[str] = field(default_factory=list)
    zones: "list[Zone]" = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    bypasses: list[Route] = field(default_factory=list)
    up: dict[str, tuple[Hop, ...]] = field(default_factory=dict)
    """Of a Cluster zone: from a host to the zone's hub; `down` is the way back, both without the backbone."""
    down: dict[str, tuple[Hop, ...]] = field(default_factory=dict)
    backbone: int = -1
    fabric: Fabric | None = None

    def line_up(self) -> "list[Zone]":
        """This zone and all around it, from the inside out."""
        return [self, *(self.parent.line_up() if self.parent else ())]


@dataclass(slots=True)
class Platform:
    """A whole file; `name` is what messages call it."""

    name: str
    cables: list[Cable] = field(default_factory=list)
    hop: dict[str, Hop] = field(default_factory=dict)
    where: dict[str, Zone] = field(default_factory=dict)
    """The zone directly around each host, router and zone."""
    zone: dict[str, Zone] = field(default_factory=dict)
    hosts: list[str] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    later: list[tuple[Zone, Element]] = field(default_factory=list)

    def add_cable(self, element: Element, cable: Cable) -> int:
        """Enter a link; its name, with _UP and _DOWN where it is two, leads to it."""
        if cable.name in self.hop or f"{cable.name}_UP" in self.hop:
            element.refuse(self.name, "simgrid.link_twice", cable=cable.name)
        number = len(self.cables)
        self.cables.append(cable)
        if cable.policy == SPLITDUPLEX:
            self.hop[f"{cable.name}_UP"] = Hop(number, 1, fixed=True)
            self.hop[f"{cable.name}_DOWN"] = Hop(number, -1, fixed=True)
        else:
            self.hop[cable.name] = Hop(number)
        return number

    def add_point(self, element: Element, zone: Zone, name: str, *, host: bool) -> None:
        """Enter a host or router."""
        if name in self.where:
            element.refuse(self.name, "simgrid.name_twice", name=name)
        self.where[name] = zone
        (zone.hosts if host else zone.routers).append(name)
        if host:
            self.hosts.append(name)


def read_platform(root: Element, name: str) -> Platform:
    """Everything the file says. Raises InputError with the line for what SimGrid would refuse, too."""
    version = root.attributes.get("version", "")
    if not re.fullmatch(r"[34](\.\d+)?", version):
        root.refuse(name, "simgrid.version", version=version)
    platform = Platform(name)
    if any(child.tag in ACTORS for child in root.children) and not any(_tag(c) in ZONES for c in root.children):
        root.refuse(name, "simgrid.deployment")
    outermost = [child for child in root.children if _tag(child) in ZONES]
    if len(outermost) != 1:
        root.refuse(name, "simgrid.outermost", count=len(outermost))
    for child in root.children:
        _element(platform, None, child)
    for zone, element in platform.later:
        _wire(platform, zone, element)
    if not platform.hosts:
        root.refuse(name, "simgrid.no_host")
    return platform


def _tag(element: Element) -> str:
    return RENAMED.get(element.tag, element.tag)


def _element(platform: Platform, zone: Zone | None, element: Element) -> None:
    tag = _tag(element)
    _note(platform, zone, element)
    if tag in (*IGNORED, "trace", "trace_connect"):
        return
    if tag == "zone":
        _zone(platform, zone, element)
    elif tag == "cluster":
        _cluster(platform, zone, element)
    elif zone is None:
        element.refuse(platform.name, "simgrid.outside", tag=tag)
    elif tag in ("host", "router"):
        platform.add_point(element, zone, _required(platform, element, "id"), host=tag == "host")
    elif tag in ("link", "backbone"):
        cable = platform.add_cable(element, _cable(platform, element))
        if tag == "backbone":
            zone.backbone = cable
    elif tag in (*ROUTES, "host_link"):
        platform.later.append((zone, element))
    elif tag == "cabinet":
        _cabinet(platform, zone, element)
    else:
        element.refuse(platform.name, "simgrid.tag", tag=tag)


def _note(platform: Platform, zone: Zone | None, element: Element) -> None:
    """Keep what an element says besides what it is, and say what of it is passed over."""
    tag = _tag(element)
    if tag == "config":
        platform.notes["<config> is passed over: times follow the file's bandwidths and latencies alone"] = None
    if tag == "prop" and zone is not None and zone.parent is None:
        platform.properties[element.attributes.get("id", "")] = element.attributes.get("value", "")
    if tag in ("trace", "trace_connect") or any(key.endswith("_file") for key in element.attributes):
        platform.notes["profiles of changing speeds and failures are passed over: every link keeps its rate"] = None


def _zone(platform: Platform, parent: Zone | None, element: Element) -> Zone:
    name = _required(platform, element, "id")
    text = element.attributes.get("routing", "Cluster" if element.tag == "cluster" else "")
    routing = ROUTINGS.get(text.lower())
    if routing is None:
        element.refuse(platform.name, "simgrid.routing", routing=text, choices=ROUTINGS.values())
    if name in platform.where or name in platform.zone:
        element.refuse(platform.name, "simgrid.name_twice", name=name)
    zone = Zone(name, element, routing, parent)
    platform.zone[name] = zone
    if parent is not None:
        parent.zones.append(zone)
        platform.where[name] = parent
    if element.tag != "cluster":
        for child in element.children:
            _element(platform, zone, child)
    return zone


def _cable(platform: Platform, element: Element) -> Cable:
    policy = element.attributes.get("sharing_policy", SHARED).upper()
    policy = SPLITDUPLEX if policy == "FULLDUPLEX" else policy
    if policy not in (SHARED, SPLITDUPLEX, FATPIPE):
        element.refuse(
            platform.name, "simgrid.policy", policy=policy, shared=SHARED, splitduplex=SPLITDUPLEX, fatpipe=FATPIPE
        )
    rate = bandwidth(element, "bandwidth", platform.name)
    return Cable(_required(platform, element, "id"), rate, latency(element, "latency", platform.name, "0"), policy)


def _cluster(platform: Platform, parent: Zone | None, element: Element) -> None:
    """A <cluster>: hosts on one hub, perhaps over a backbone, or in a torus, fat tree or dragonfly."""
    attributes, file = element.attributes, platform.name
    zone = _zone(platform, parent, element)
    names = _radical(platform, element)
    rate, wait = bandwidth(element, "bw", file), latency(element, "lat", file)
    policy = attributes.get("sharing_policy", SPLITDUPLEX).upper()
    policy = SPLITDUPLEX if policy in (SPLITDUPLEX, "FULLDUPLEX") else SHARED
    limit = bandwidth(element, "limiter_link", file) if attributes.get("limiter_link") else 0.0
    shape = attributes.get("topology", "FLAT").upper()
    for name, _ in names:
        platform.add_point(element, zone, name, host=True)
    if attributes.get("loopback_bw") or attributes.get("loopback_lat"):
        platform.notes["loopback links are passed over: what a host keeps to itself takes no time"] = None
    if shape != "FLAT":
        link = Cable(zone.name, rate, wait, policy)
        zone.fabric = Fabric(element, shape, attributes.get("topo_parameters", ""), link, limit)
        zone.routing = shape
        return
    if attributes.get("bb_bw") or attributes.get("bb_lat"):
        shared = FATPIPE if attributes.get("bb_sharing_policy", SHARED).upper() == FATPIPE else SHARED
        core = Cable(
            f"{zone.name}_backbone", bandwidth(element, "bb_bw", file), latency(element, "bb_lat", file, "0"), shared
        )
        zone.backbone = platform.add_cable(element, core)
    for name, number in names:
        called = f"{zone.name}_link_{number}"
        hops = [Hop(platform.add_cable(element, Cable(called, rate, wait, policy)), 1 if policy == SPLITDUPLEX else 0)]
        if limit:
            hops.insert(0, Hop(platform.add_cable(element, Cable(f"{called}_limiter", limit, 0.0, SHARED))))
        zone.up[name], zone.down[name] = tuple(hops), tuple(hop.back() for hop in reversed(hops))
    router = (
        attributes.get("router_id") or f"{attributes.get('prefix', '')}{zone.name}_router{attributes.get('suffix', '')}"
    )
    platform.add_point(element, zone, router, host=False)


def _cabinet(platform: Platform, zone: Zone, element: Element) -> None:
    rate, wait = bandwidth(element, "bw", platform.name), latency(element, "lat", platform.name)
    for name, _ in _radical(platform, element):
        platform.add_point(element, zone, name, host=True)
        cable = platform.add_cable(element, Cable(f"link_{name}", rate, wait, SPLITDUPLEX))
        zone.up[name], zone.down[name] = (Hop(cable, 1),), (Hop(cable, -1),)


def _radical(platform: Platform, element: Element) -> list[tuple[str, int]]:
    """Host names and their numbers: `0-3,7` between prefix and suffix."""
    text = _required(platform, element, "radical")
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low, high = whole(first), whole(last if dash else first)
        if low is None or high is None or not 0 <= low <= high:
            element.refuse(platform.name, "simgrid.radical", text=text)
        room_for(len(platform.hosts) + len(numbers) + high - low + 1, f"{platform.name}, line {element.line}")
        numbers += range(low, high + 1)
    prefix, suffix = element.attributes.get("prefix", ""), element.attributes.get("suffix", "")
    return [(f"{prefix}{number}{suffix}", number) for number in numbers]


def _wire(platform: Platform, zone: Zone, element: Element) -> None:
    """A route or host_link, once every name is known."""
    tag, file = _tag(element), platform.name
    if tag == "host_link":
        host = _point(platform, element, "id")
        zone.up[host] = (_hop(platform, element, _required(platform, element, "up"), ""),)
        zone.down[host] = (_hop(platform, element, _required(platform, element, "down"), ""),)
        return
    src, dst = (_point(platform, element, key) for key in ("src", "dst"))
    between_zones = "oneRoute" in tag
    gw_src, gw_dst = (_point(platform, element, key) if between_zones else "" for key in ("gw_src", "gw_dst"))
    for point, gate in ((src, gw_src), (dst, gw_dst)):
        if platform.where.get(point) is not zone and not tag.startswith("bypass"):
            element.refuse(file, "simgrid.not_in_zone", point=point, zone=zone.name)
        if between_zones and point in platform.zone and platform.zone[point] not in platform.where[gate].line_up():
            element.refuse(file, "simgrid.gateway", gate=gate, point=point)
    hops = tuple(
        _hop(platform, child, _required(platform, child, "id"), child.attributes.get("direction", "").upper())
        for child in element.children
        if _tag(child) == "link_ctn"
    )
    route = Route(element, src, dst, gw_src, gw_dst, hops)
    if tag.startswith("bypass"):
        zone.bypasses.append(route)
        return
    zone.routes.append(route)
    if src != dst and element.attributes.get("symmetrical", "YES").upper() == "YES":
        back = tuple(hop.back() for hop in reversed(hops))
        zone.routes.append(Route(element, dst, src, gw_dst, gw_src, back))


def _hop(platform: Platform, element: Element, name: str, direction: str) -> Hop:
    if direction in ("UP", "DOWN") and f"{name}_UP" in platform.hop:
        return platform.hop[f"{name}_{direction}"]._replace(fixed=False)
    if direction not in ("UP", "DOWN", "NONE", ""):
        element.refuse(platform.name, "simgrid.direction", direction=direction)
    if name not in platform.hop:
        if f"{name}_UP" in platform.hop:
            element.refuse(platform.name, "simgrid.splitduplex", name=name)
        element.refuse(platform.name, "simgrid.no_link", name=name, near=_near(name, platform.hop))
    return platform.hop[name]


def _point(platform: Platform, element: Element, key: str) -> str:
    name = _required(platform, element, key)
    if name not in platform.where:
        element.refuse(platform.name, "simgrid.no_end", key=key, name=name, near=_near(name, platform.where))
    return name


def _near(name: str, names: dict[str, Hop] | dict[str, Zone]) -> Message:
    near = difflib.get_close_matches(name, list(names)[:10_000], 1)
    return Message("choose.near", name=near[0]) if near else Message("simgrid.define")


def _required(platform: Platform, element: Element, key: str) -> str:
    value = element.attributes.get(key)
    if not value:
        element.refuse(platform.name, "simgrid.no_key", label=label(element), key=key)
    return value
