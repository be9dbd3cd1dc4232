"""Cables that are wider or thinner, nearer or farther, gone or new, and devices that hang elsewhere."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Annotated

from sim.errors import InputError, Message
from sim.faults import LinkEnd, LinkStart, device_index, links_between
from sim.faults.edits import edit
from sim.faults.kinds import Offer
from sim.parameters import Choice, PointsAt
from sim.topology import Link, Topology, both_ways
from sim.topology.devices import DEVICE_KINDS, LINK_KINDS
from sim.units import LARGEST_BANDWIDTH, Bandwidth, GBps, Time, us

AnyDevice = Annotated[str, PointsAt("device", DEVICE_KINDS)]
MOVABLE, HOLDERS = ("GPU", "NIC"), ("PCI", "NVS", "CPU", "NET")
Movable = Annotated[str, PointsAt("device", MOVABLE)]
Holder = Annotated[str, PointsAt("device", HOLDERS)]
ALL = "all"
"""Links of every kind."""
LEAST_TIMES, MOST_TIMES = 1e-6, 1e6


@edit(
    first="times=2",
    offers=[
        Offer("bandwidth", "bandwidth={bandwidth}", "Bandwidth"),
        Offer("latency", "latency={latency}", "Latency"),
    ],
)
def set_link(
    topology: Topology,
    *,
    src: LinkStart,
    dst: LinkEnd,
    bandwidth: Bandwidth | None = None,
    latency: Time | None = None,
    times: float = 1.0,
    both: bool = True,
) -> Topology:
    """A link has another bandwidth or latency, or `times` its bandwidth; in both directions by default."""
    meant = links_between(topology, "set_link", src, dst, both=both)
    return _changed(topology, meant, _rates("set_link", bandwidth, latency, times))


@edit(first="times=2", offers=[Offer("times", "kind={kind},times={times}", "All of its kind")])
def set_class(
    topology: Topology,
    *,
    kind: Annotated[str, Choice((ALL, *LINK_KINDS))] = ALL,
    bandwidth: Bandwidth | None = None,
    latency: Time | None = None,
    times: float = 1.0,
) -> Topology:
    """All links, or those of a kind, have another bandwidth or latency, or `times` their bandwidth."""
    meant = {i for i, link in enumerate(topology.links) if kind in (ALL, link.kind)}
    if kind != ALL and not meant:
        kinds = sorted({link.kind for link in topology.links}) or Message("edits.no_links")
        raise InputError("edits.no_class", topology=topology.name, kind=kind, kinds=kinds)
    return _changed(topology, meant, _rates("set_class", bandwidth, latency, times))


@edit(offers=[Offer("cut", "", "Remove link")])
def cut_cable(topology: Topology, *, src: LinkStart, dst: LinkEnd) -> Topology:
    """Remove a link in both directions; its traffic is rerouted."""
    cut = links_between(topology, "cut_cable", src, dst, both=True)
    return _rewired(topology, tuple(link for i, link in enumerate(topology.links) if i not in cut))


@edit
def add_cable(
    topology: Topology,
    *,
    src: AnyDevice,
    dst: AnyDevice,
    bandwidth: Bandwidth = 25 * GBps,
    latency: Time = 1 * us,
    kind: Annotated[str, Choice(LINK_KINDS)] = "NVL",
) -> Topology:
    """Add a full-duplex link between any two devices."""
    for name in (src, dst):
        device_index(topology, "add_cable", name)
    if src == dst:
        raise InputError("edits.cable_to_itself", src=src)
    link_kind = next(word for word in LINK_KINDS if word == kind)
    return _rewired(topology, (*topology.links, *both_ways(src, dst, bandwidth, latency, link_kind)))


@edit
def move_device(topology: Topology, *, device: Movable, to: Holder) -> Topology:
    """Attach a GPU or NIC to another switch or socket, by links with the rates of its present ones."""
    moved, holder = (topology.devices[device_index(topology, "move_device", name)] for name in (device, to))
    for each, may_be in ((moved, MOVABLE), (holder, HOLDERS)):
        if each.kind not in may_be:
            raise InputError("edits.not_movable", device=each.name, kind=each.kind, choices=may_be)
    kinds = {each.name: each.kind for each in topology.devices}
    left = {
        end
        for link in topology.links
        for end in (link.src, link.dst)
        if device in (link.src, link.dst) and end != device and kinds[end] == holder.kind
    }
    if not left or left == {to}:
        raise InputError(
            Message("edits.hangs_already", device=device, to=to)
            if left
            else Message("edits.hangs_on_no", device=device, kind=holder.kind)
        )

    def led(link: Link) -> Link:
        if device == link.src and link.dst in left:
            return replace(link, dst=to)
        return replace(link, src=to) if device == link.dst and link.src in left else link

    devices = tuple(
        replace(each, numa=holder.numa, host=holder.host) if each.name == device and holder.kind != "NET" else each
        for each in topology.devices
    )
    return _rewired(replace(topology, devices=devices, router=None), tuple(map(led, topology.links)))


def _rates(kind: str, bandwidth: float | None, latency: float | None, times: float) -> Callable[[Link], Link]:
    """What is done to a link. Raises InputError for nothing at all, and for a factor out of reach."""
    if not LEAST_TIMES <= times <= MOST_TIMES:
        raise InputError("edits.times", kind=kind, times=times, least=LEAST_TIMES, most=MOST_TIMES)
    if bandwidth is None and latency is None and times == 1:
        raise InputError("edits.nothing", kind=kind)

    def changed(link: Link) -> Link:
        wide = (link.bandwidth if bandwidth is None else bandwidth) * times
        if not 1 <= wide <= LARGEST_BANDWIDTH:
            raise InputError("edits.too_wide", kind=kind, src=link.src, dst=link.dst, bandwidth=wide)
        return replace(link, bandwidth=wide, latency=link.latency if latency is None else latency)

    return changed


def _changed(topology: Topology, meant: Collection[int], change: Callable[[Link], Link]) -> Topology:
    """The machine with other rates of some links, by their indices, and the routes that it has."""
    links = tuple(change(link) if i in meant else link for i, link in enumerate(topology.links))
    return replace(topology, links=links, router=topology.routes)


def _rewired(topology: Topology, links: tuple[Link, ...]) -> Topology:
    """The machine with other cables, and shortest routes over them."""
    return replace(topology, links=links, router=None, pairs={})
