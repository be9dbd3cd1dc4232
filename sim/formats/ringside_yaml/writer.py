"""Machines as Ringside's own YAML, so exactly that reading one back gives the same machine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sim.base.yaml import quote
from sim.errors import InputError
from sim.formats import LARGEST_TEXT, writer
from sim.formats.ringside_yaml.reader import VERSION
from sim.topology import Link, Topology
from sim.topology.routing.tables import RouteRow, links_between, row
from sim.units import exact_bandwidth, exact_time, fmt_size

_Between = Mapping[tuple[str, str], list[int]]
"""The links that lead from one device straight to another, by both names."""


@writer("ringside_yaml")
def write(topology: Topology) -> str:
    """The machine in full: devices, links, ranks, costs, and every route that is not the general router's.

    Raises InputError for a machine too large to be read back, or with a route that leaves its links.
    """
    lines = [f"ringside: {VERSION}", f"name: {quote(topology.name)}"]
    lines += [f"{key}: {exact_time(getattr(topology, key))}" for key in ("overhead", "gamma") if getattr(topology, key)]
    lines += ["forwarding: yes"] if topology.forwarding else []
    lines += [f"generation: {topology.generation}"] if topology.generation else []
    lines += [f"relays: {topology.relays}"] if topology.relays else []
    lines.append("devices:")
    for device in topology.devices:
        places = {"numa": device.numa} if device.numa != -1 else {}
        places |= {"host": device.host} if device.host else {}
        rest = "".join(f", {key}: {value}" for key, value in places.items())
        lines.append(f"  - {{name: {quote(device.name)}, kind: {device.kind}{rest}}}")
    lines += ["links:", *_links(topology.links)] if topology.links else ["links: []"]
    gpus = tuple(i for i, device in enumerate(topology.devices) if device.kind == "GPU")
    if topology.ranks != gpus:
        lines += ["ranks:", *(f"  - {quote(topology.devices[i].name)}" for i in topology.ranks)]
    _check_size(topology, lines)
    lines += _routes(topology)
    if topology.pairs:
        lines.append("pairs:")
        for a, row in topology.pairs.items():
            cells = ", ".join(f"{quote(b)}: {quote(word)}" for b, word in row.items())
            lines.append(f"  {quote(a)}: {{{cells}}}")
    if topology.assumed:
        lines += ["assumed:", *(f"  - {quote(note)}" for note in topology.assumed)]
    _check_size(topology, lines)
    return "\n".join(lines) + "\n"


def _check_size(topology: Topology, lines: list[str]) -> None:
    size = sum(map(len, lines)) + len(lines)
    if size > LARGEST_TEXT:
        raise InputError(
            "machine.too_large", topology=topology.name, size=fmt_size(size), largest=fmt_size(LARGEST_TEXT)
        )


def _links(links: Sequence[Link]) -> Iterator[str]:
    """One line per cable; a link followed by its mirror image is one full-duplex cable."""
    i = 0
    while i < len(links):
        link = links[i]
        full = not link.both and i + 1 < len(links) and links[i + 1] == link.turned()
        duplex = "" if full else ", duplex: half" if link.both else ", duplex: simplex"
        lanes = f", lanes: {link.lanes}" if link.lanes != 1 else ""
        yield (
            f"  - {{from: {quote(link.src)}, to: {quote(link.dst)}, bandwidth: {exact_bandwidth(link.bandwidth)},"
            f" latency: {exact_time(link.latency)}, kind: {link.kind}{duplex}{lanes}}}"
        )
        i += 2 if full else 1


def _routes(topology: Topology) -> list[str]:
    """The routes that differ from the general router's; all of them where it would connect too much."""
    if topology.router is None:
        return []
    general, between = replace(topology, router=None), links_between(topology)
    lines: list[str] = []
    for src in range(len(topology.devices)):
        own, other = row(topology, src), row(general, src)
        if (other.reached & ~own.reached).any():
            return ["routing: listed", *_listed(topology, between)]
        lines += _some(topology, between, src, own, own.differs(other))
    return ["routes:", *lines] if lines else []


def _listed(topology: Topology, between: _Between) -> list[str]:
    """All routes that there are."""
    rows = ((src, row(topology, src)) for src in range(len(topology.devices)))
    lines = [line for src, own in rows for line in _some(topology, between, src, own, own.reached)]
    return ["routes:", *lines] if lines else []


def _some(topology: Topology, between: _Between, src: int, own: RouteRow, chosen: NDArray[np.bool_]) -> Iterator[str]:
    """The routes from one device to those that are asked for and can be reached."""
    for dst in np.flatnonzero(own.reached & chosen).tolist():
        if dst != src:
            yield _route(topology, between, src, dst, own.to(dst))


def _route(topology: Topology, between: _Between, src: int, dst: int, links: list[int]) -> str:
    at, end = topology.devices[src].name, topology.devices[dst].name
    stops, nth = [at], []
    for i in links:
        link = topology.links[i]
        onward = link.dst if link.src == at else link.src
        if i not in between.get((at, onward), ()):
            break
        nth.append(between[at, onward].index(i))
        at = onward
        stops.append(at)
    if at != end or len(nth) != len(links):
        raise InputError("machine.jump", topology=topology.name, src=stops[0], dst=end, place=at)
    choice = f", nth: [{', '.join(map(str, nth))}]" if any(nth) else ""
    return f"  - {{route: [{', '.join(map(quote, stops))}]{choice}}}"
