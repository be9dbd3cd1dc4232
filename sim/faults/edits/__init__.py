"""Changes of what a machine is, one file per family; `@edit` puts a kind on the only list.

A kind is a function from a machine and keyword parameters to another machine: `cut_cable:src=GPU0,dst=NVS0` calls
`cut_cable(topology, src="GPU0", dst="NVS0")`. Several are made one after the other. Parameters, first arguments and
what a click offers are as for faults, which come and go while a run goes on; an edit is there before it.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, overload

from sim.errors import InputError, first_few
from sim.faults.kinds import FaultKind, FaultRegistry, Offer, arguments_of
from sim.parameters import parse_spec
from sim.registry import returned
from sim.topology import Topology
from sim.units import fmt_bandwidth, fmt_time

MOST = 64
"""Edits of one machine."""
EDITED = ", edited"
"""What the name of an edited machine ends with."""
TOLD = 16
"""Ranks that are told to be played by others, at most."""

Change = Callable[..., Topology]
EDITS: FaultRegistry = FaultRegistry(__name__, "edit", function=lambda entry: entry.kind, leading=("topology",))


@overload
def edit(kind: Change) -> Change: ...


@overload
def edit(*, first: str = "", offers: Iterable[Offer] = ()) -> Callable[[Change], Change]: ...


def edit(kind: Change | None = None, *, first: str = "", offers: Iterable[Offer] = ()) -> Any:
    """Register a kind of edit under its function's name; arguments as for `sim.faults.kinds.fault`."""
    if kind is None:
        return partial(edit, first=first, offers=offers)
    EDITS.add(kind.__name__, FaultKind(kind, first, tuple(offers)))
    return kind


def edited(topology: Topology, specs: Iterable[str]) -> Topology:
    """The machine after these edits, `name:key=value,…` each. Raises InputError.

    >>> from sim.machines import build
    >>> machine = edited(build("switch:ranks=4"), ["set_link:src=GPU0,dst=SW,bandwidth=1GBps"])
    >>> differences(build("switch:ranks=4"), machine)
    ['GPU0 - SW: 1 GB/s, not 25 GB/s']
    """
    made = list(specs)
    if len(made) > MOST:
        raise InputError("edits.too_many", count=len(made), most=MOST)
    for spec in made:
        kind = EDITS[parse_spec(spec)[0]].kind
        topology = returned(kind, kind(topology, **arguments_of(kind, spec)), Topology)
    return topology.but(name=f"{topology.name.removesuffix(EDITED)}{EDITED}") if made else topology


def differences(before: Topology, after: Topology) -> list[str]:
    """What one machine has otherwise than another, a line each; a cable that changed alike both ways is told once."""
    devices = {device.name: device for device in before.devices}
    lines = [
        f"{device.name}: NUMA {device.numa} of host {device.host}, not {was.numa} of {was.host}"
        for device in after.devices
        if (was := devices.get(device.name, device)) != device
    ]
    return [*lines, *_cables(before, after), *_orders(before, after)]


def _cables(before: Topology, after: Topology) -> Iterator[str]:
    """Links that are new, cut or otherwise, a line for both ways where these changed alike."""
    old, new = _links(before), _links(after)
    ways = {way: (old.get(way, []), new.get(way, [])) for way in dict.fromkeys([*old, *new])}
    named: set[tuple[str, str]] = set()
    for (src, dst), (was, now) in ways.items():
        alike = ways.get((dst, src), (was, now)) == (was, now)
        if was == now or (alike and (dst, src) in named):
            continue
        named.add((src, dst))
        name = f"{src} {'-' if alike else '->'} {dst}"
        if was and now:
            yield f"{name}: {_changed(was, now)}"
        else:
            yield f"{name}: {'a new cable of ' if now else 'cut, it had '}{_rates(now or was)}"


def _orders(before: Topology, after: Topology) -> list[str]:
    """Which ranks are played by other devices, in one line, where any are."""
    was, now = ([topology.devices[place].name for place in topology.ranks] for topology in (before, after))
    others = [f"rank {rank} is {name}" for rank, name in enumerate(now) if rank >= len(was) or was[rank] != name]
    return [f"ranks: {first_few(others, TOLD)}"] if others else []


def _links(topology: Topology) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Bandwidth and latency of the links from one device to another."""
    links: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for link in topology.links:
        links.setdefault((link.src, link.dst), []).append((link.bandwidth, link.latency))
    return links


def _rates(links: Iterable[tuple[float, float]]) -> str:
    return " and ".join(f"{fmt_bandwidth(bandwidth)}, {fmt_time(latency)}" for bandwidth, latency in links)


def _changed(was: list[tuple[float, float]], now: list[tuple[float, float]]) -> str:
    if len(was) == len(now) == 1:
        ((bandwidth, latency),), ((old_bandwidth, old_latency),) = now, was
        if latency == old_latency:
            return f"{fmt_bandwidth(bandwidth)}, not {fmt_bandwidth(old_bandwidth)}"
        if bandwidth == old_bandwidth:
            return f"{fmt_time(latency)}, not {fmt_time(old_latency)}"
    return f"{_rates(now)}, not {_rates(was)}"
