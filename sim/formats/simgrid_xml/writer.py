"""Machines as SimGrid platform files: ranks as hosts, every route between them spelled out."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import quoteattr

from sim.errors import InputError
from sim.formats import LARGEST_TEXT, writer
from sim.formats.simgrid_xml.platform import GAMMA, OVERHEAD
from sim.topology import Link, Topology
from sim.topology.routing.tables import row
from sim.units import exact_bandwidth, exact_time, fmt_size

Crossing = tuple[str, str]
"""A link's id and the direction it is crossed in: UP, DOWN or nothing."""

FLIPPED = {"UP": "DOWN", "DOWN": "UP", "": ""}


@writer("simgrid_xml")
def write(topology: Topology) -> str:
    """One zone with routing Full: SimGrid with CM02 and factors 1 then times messages as Ringside does.

    Overhead and γ become properties of the zone, which SimGrid passes over. Devices that are no ranks, their kinds
    and NUMA nodes have no place there. Raises InputError for a machine too large, or with ranks nothing connects.
    """
    if topology.n == 0:
        raise InputError("simgrid.no_ranks", topology=topology.name)
    crossings, cables = _cables(topology.links)
    lines = [
        '<?xml version="1.0"?>',
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        "<!-- hosts are ranks; their speed is unknown and set to 1Gf -->",
        '<platform version="4.1">',
        '  <zone id="machine" routing="Full">',
    ]
    for word, value in ((OVERHEAD, topology.overhead), (GAMMA, topology.gamma)):
        lines += [f'    <prop id="{word}" value="{exact_time(value)}"/>'] if value else []
    names = [topology.devices[i].name for i in topology.ranks]
    lines += [f'    <host id={quoteattr(name)} speed="1Gf"/>' for name in names]
    lines += cables
    size = sum(map(len, lines))
    for line in _routes(topology, crossings):
        lines.append(line)
        size += len(line)
        if size > LARGEST_TEXT:
            raise InputError("simgrid.too_large", topology=topology.name, largest=fmt_size(LARGEST_TEXT))
    return "\n".join([*lines, "  </zone>", "</platform>", ""])


def _cables(links: Sequence[Link]) -> tuple[list[Crossing], list[str]]:
    """How every link is named on a route, and the elements that define them; two mirror images are one cable."""
    crossings: list[Crossing] = []
    lines = []
    used: dict[str, int] = {}
    while len(crossings) < len(links):
        i = len(crossings)
        link = links[i]
        split = not link.both and i + 1 < len(links) and links[i + 1] == link.turned()
        name = f"{link.src}--{link.dst}"
        used[name] = used.get(name, 0) + 1
        name += f"#{used[name]}" if used[name] > 1 else ""
        crossings += [(name, "UP"), (name, "DOWN")] if split else [(name, "")]
        policy = ' sharing_policy="SPLITDUPLEX"' if split else ""
        lines.append(
            f'    <link id={quoteattr(name)} bandwidth="{exact_bandwidth(link.bandwidth)}"'
            f' latency="{exact_time(link.latency)}"{policy}/>'
        )
    return crossings, lines


def _routes(topology: Topology, crossings: list[Crossing]) -> Iterator[str]:
    """Routes between ranks; one and its mirror image are a symmetrical one."""
    names = [device.name for device in topology.devices]
    rows = {}
    for src in topology.ranks:
        rows[src] = table = row(topology, src)
        missing = [dst for dst in topology.ranks if not table.reached[dst]]
        if missing:
            raise InputError("simgrid.no_way", topology=topology.name, src=names[src], dst=names[missing[0]])
    for i, src in enumerate(topology.ranks):
        for dst in topology.ranks[i + 1 :]:
            crossed = [crossings[link] for link in rows[src].to(dst)]
            back = [crossings[link] for link in rows[dst].to(src)]
            mirrored = [(name, FLIPPED[way]) for name, way in reversed(crossed)] == back
            yield _route(names[src], names[dst], crossed, symmetrical=mirrored)
            if not mirrored:
                yield _route(names[dst], names[src], back, symmetrical=False)


def _route(src: str, dst: str, crossed: list[Crossing], *, symmetrical: bool) -> str:
    links = "".join(
        f"<link_ctn id={quoteattr(name)}" + (f' direction="{way}"' if way else "") + "/>" for name, way in crossed
    )
    one_way = "" if symmetrical else ' symmetrical="NO"'
    return f"    <route src={quoteattr(src)} dst={quoteattr(dst)}{one_way}>{links}</route>"
