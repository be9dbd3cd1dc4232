"""Platform files of SimGrid (simgrid.org), versions 3 and 4: hosts as ranks, links with SimGrid's own sharing.

Rates are those of the file. SimGrid's default network model scales them by fitted factors, which a file does not
say; CM02 with all factors at 1 is the model that is the same here and there.
"""

import re
from dataclasses import replace

import numpy as np

from sim.base.ragged import offsets_of
from sim.base.xml import parse_xml
from sim.errors import InputError, UnreachableError
from sim.formats import reader
from sim.formats.simgrid_xml.places import FATPIPE, Laid
from sim.formats.simgrid_xml.platform import GAMMA, OVERHEAD, Platform, read_platform
from sim.formats.simgrid_xml.routes import Network, connect
from sim.topology import Ints, Router, Routes, Topology
from sim.topology.routing import with_fallback
from sim.units import Time, parse_time

MOST_FATPIPE_HOSTS = 256
"""Every pair of hosts gets its own copy of a FATPIPE link that can bind."""

MOST_PAIRED_HOSTS = 256

MODEL = (
    "rates as in the file, SimGrid's CM02 with all factors at 1; its default LV08 would multiply bandwidths by 0.97 and"
    " latencies by 13.01"
)
_MARK = re.compile(r"<platform\b[^<>]*\bversion\s*=|<!DOCTYPE\s+platform\b")


def matches(text: str) -> bool:
    """Whether it is a platform."""
    return _MARK.search(text) is not None


@reader("simgrid_xml", "a SimGrid platform file", matches=matches, endings=("xml",))
def read(
    text: str, *, name: str = "SimGrid platform", overhead: Time | None = None, gamma: Time | None = None
) -> Topology:
    """The machine of a platform file; each host is a GPU and a rank, in the order of the file.

    Raises InputError with the line for what is malformed, and for zones that route by coordinates or radio.
    """
    root = parse_xml(text, name, doctype=True)
    if root.tag != "platform":
        root.refuse(name, "simgrid.root", tag=root.tag)
    platform = read_platform(root, name)
    network, laid = connect(platform)
    if overhead is None:
        overhead = parse_time(platform.properties.get(OVERHEAD, "0"), f"{name}: {OVERHEAD}")
    if gamma is None:
        gamma = parse_time(platform.properties.get(GAMMA, "0"), f"{name}: {GAMMA}")
    notes = [
        f"{len(platform.hosts)} hosts, taken as GPUs with one rank each; their computing speed is not used",
        MODEL,
        *platform.notes,
    ]
    copies = _fatpipes(platform, network, laid, notes)
    topology = Topology(
        name, tuple(laid.devices), tuple(laid.links), assumed=tuple(notes), overhead=overhead, gamma=gamma
    )
    hosts = np.array([device.kind == "GPU" for device in topology.devices])
    router = with_fallback(topology, _router(platform, network, laid, copies), hosts)
    return topology.but(router=router, pairs=_pairs(platform, network))


def _pairs(platform: Platform, network: Network) -> dict[str, dict[str, str]]:
    """Who reaches whom, where a table of routes may leave pairs out; every way leads over a network."""
    tables = any(zone.routing == "Full" and zone.hosts for zone in platform.zone.values())
    if not tables or len(platform.hosts) > MOST_PAIRED_HOSTS:
        return {}
    return {
        src: {dst: "NET" for dst in platform.hosts if dst != src and _reaches(network, src, dst)}
        for src in platform.hosts
    }


def _reaches(network: Network, src: str, dst: str) -> bool:
    try:
        network.route(src, dst)
    except UnreachableError:
        return False
    return True


def _router(platform: Platform, network: Network, laid: Laid, copies: dict[tuple[int, int, int], int]) -> Router:
    """Routes between hosts, worked out when first asked for."""
    by_pair: dict[tuple[int, int], list[int]] = {}

    def route(src: Ints, dst: Ints) -> Routes:
        lists = []
        for pair in zip(src.tolist(), dst.tolist(), strict=True):
            if pair not in by_pair:
                links = laid.links_of(network.route(platform.hosts[pair[0]], platform.hosts[pair[1]]))
                by_pair[pair] = [copies.get((*pair, link), link) for link in links] if copies else links
            lists.append(by_pair[pair])
        offsets = offsets_of([len(links) for links in lists]).astype(np.int32)
        return Routes(offsets, np.array([link for links in lists for link in links], np.int32))

    return route


def _fatpipes(platform: Platform, network: Network, laid: Laid, notes: list[str]) -> dict[tuple[int, int, int], int]:
    """For every pair of hosts that a FATPIPE link can hold back, a copy of the link of its own.

    Elsewhere the link can never bind, as another one on the way is no wider.
    """
    rate = {
        laid.first[i]: cable.bandwidth
        for i, cable in enumerate(platform.cables)
        if cable.policy == FATPIPE and i in laid.first
    }
    if not rate or _never_bind(platform, network, laid):
        return {}
    if len(platform.hosts) > MOST_FATPIPE_HOSTS:
        raise InputError("simgrid.fatpipe", file=platform.name, hosts=len(platform.hosts), most=MOST_FATPIPE_HOSTS)
    copies: dict[tuple[int, int, int], int] = {}
    for i, src in enumerate(platform.hosts):
        for j, dst in enumerate(platform.hosts):
            links = laid.links_of(network.route(src, dst)) if _reaches(network, src, dst) else []
            narrowest = min((laid.links[link].bandwidth for link in links), default=np.inf)
            for link in {link for link in links if rate.get(link, np.inf) < narrowest}:
                copies[i, j, link] = len(laid.links)
                laid.links.append(replace(laid.links[link], bandwidth=rate[link]))
    if copies:
        notes.append("FATPIPE links that bind are there once per pair of hosts: two messages of one pair share it")
    return copies


def _never_bind(platform: Platform, network: Network, laid: Laid) -> bool:
    """Whether every FATPIPE link is the backbone of a cluster whose hosts' own links are no wider."""
    safe = set()
    for zone in platform.zone.values():
        if zone.backbone >= 0:
            own = [
                max(min(platform.cables[hop.cable].bandwidth for hop in hops), 0.0) for hops in zone.up.values() if hops
            ]
            if len(own) == len(zone.hosts) and max(own, default=0.0) <= platform.cables[zone.backbone].bandwidth:
                safe.add(zone.backbone)
    return all(cable.policy != FATPIPE or i in safe for i, cable in enumerate(platform.cables) if i in laid.first)
