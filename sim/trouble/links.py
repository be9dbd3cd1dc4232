"""Links that are slow, dead, one-way at a time, or busy with something else."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sim.errors import InputError
from sim.parameters import Count
from sim.routing import merge, shortest_routes
from sim.topology import Ints, Routes, Topology
from sim.trouble import Process, Running, Trouble, trouble
from sim.units import MiB, Size, Time

if TYPE_CHECKING:
    from sim.harm import Harm


@trouble
def slow_link(
    topology: Topology,
    *,
    src: str,
    dst: str,
    share: float = 0.5,
    start: Time = 0.0,
    end: Time | None = None,
    both: bool = True,
) -> Trouble:
    """A link that has only a `share` of its bandwidth from `start` to `end`, in both directions unless told."""
    if not 0 < share <= 1:
        raise InputError(f"slow_link: share={share:g} is not between 0 and 1: 0.5 is half; dead_link is for none")
    _links(topology, "slow_link", src, dst, both=both)
    find = partial(_links, kind="slow_link", src=src, dst=dst, both=both)
    return Trouble(process=_limited(find, share, *_span("slow_link", start, end)))


@trouble
def dead_link(
    topology: Topology,
    *,
    src: str,
    dst: str,
    start: Time = 0.0,
    end: Time | None = None,
    both: bool = True,
    reroute: bool = False,
) -> Trouble:
    """A link that carries nothing from `start` to `end`; with `reroute`, what it would carry goes another way."""
    _links(topology, "dead_link", src, dst, both=both)
    find = partial(_links, kind="dead_link", src=src, dst=dst, both=both)
    return _dead(find, *_span("dead_link", start, end), reroute=reroute)


@trouble
def lost_nic(
    topology: Topology, *, nic: str, start: Time = 0.0, end: Time | None = None, reroute: bool = False
) -> Trouble:
    """A NIC whose links carry nothing from `start` to `end`; with `reroute`, other NICs take over."""
    at = topology.index.get(nic, -1)
    if at < 0 or topology.devices[at].kind != "NIC":
        known = [device.name for device in topology.devices if device.kind == "NIC"]
        mend = f"choose from {', '.join(known[:8])}" if known else "it has none"
        raise InputError(f"lost_nic: {topology.name} has no NIC called {nic[:40]!r}: {mend}")

    def find(topology: Topology) -> list[int]:
        return [i for i, link in enumerate(topology.links) if nic in (link.src, link.dst)]

    return _dead(find, *_span("lost_nic", start, end), reroute=reroute)


@trouble
def half_duplex(topology: Topology, *, src: str, dst: str) -> Trouble:
    """A cable whose two directions share the bandwidth of one."""
    if len(_links(topology, "half_duplex", src, dst, both=True)) < 2:
        raise InputError(f"half_duplex: {src} and {dst} share one link already: leave it out")

    def shared(machine: Topology) -> Topology:
        there, back = _links(machine, "half_duplex", src, dst, both=True)
        links = list(machine.links)
        links[there] = replace(links[there], both=True)
        del links[back]
        moved = np.arange(len(machine.links), dtype=np.int32)
        moved[back] = there
        moved = np.where(moved > back, moved - 1, moved).astype(np.int32)
        routes = machine.routes

        def route(a: Ints, b: Ints) -> Routes:
            offsets, crossed = routes(a, b)
            return Routes(offsets, moved[crossed])

        return replace(machine, links=tuple(links), router=route)

    return Trouble(machine=shared)


@trouble
def background(
    topology: Topology,
    *,
    src: str,
    dst: str,
    size: Size = MiB,
    streams: Count = 1,
    start: Time = 0.0,
    end: Time | None = None,
) -> Trouble:
    """Other traffic from one device to another: `streams` of messages, each as soon as the one before has arrived."""
    ends = [_device(topology, "background", name) for name in (src, dst)]
    if ends[0] == ends[1]:
        raise InputError(f"background: traffic from {src} to itself crosses no link: choose two devices")
    begin, stop = _span("background", start, end)

    def stream(world: "Harm") -> Running:
        while world.env.now < stop:
            yield world.send(ends[0], ends[1], size)

    def process(world: "Harm", number: int) -> Running:
        yield from world.wait(begin)
        world.bears(number, world.cluster.topology.routes([ends[0]], [ends[1]]).links, begin, stop)
        for _ in range(streams):
            world.env.process(stream(world))

    return Trouble(process=process)


def _span(name: str, start: float, end: float | None) -> tuple[float, float]:
    if end is not None and end <= start:
        raise InputError(f"{name}: it ends at {end:g} s, not after its start at {start:g} s: give a later end")
    return start, np.inf if end is None else end


def _device(topology: Topology, kind: str, name: str) -> int:
    if name not in topology.index:
        raise InputError(f"{kind}: {topology.name} has no device called {name[:40]!r}: `topology` lists them")
    return topology.index[name]


def _links(topology: Topology, kind: str, src: str, dst: str, *, both: bool) -> list[int]:
    """The links from one device to another and back."""
    for name in (src, dst):
        _device(topology, kind, name)
    there, back = (src, dst), (dst, src)
    ends = [((link.src, link.dst), link.both) for link in topology.links]
    found = [i for i, (way, _) in enumerate(ends) if way == there]
    found += [i for i, (way, shared) in enumerate(ends) if way == back and (both or shared)]
    if not found:
        raise InputError(f"{kind}: {topology.name} has no link {src} -> {dst}: `topology --json` lists them")
    return found


def _limited(find: Callable[[Topology], list[int]], share: float, start: float, end: float) -> Process:
    """A process that takes bandwidth from links for a while, looked up on the machine as troubles left it."""

    def process(world: "Harm", number: int) -> Running:
        links = find(world.cluster.topology)
        yield from world.wait(start)
        for link in links:
            world.limit(number, link, share)
        world.bears(number, links, start, end)
        if end < np.inf:
            yield from world.wait(end)
            for link in links:
                world.limit(number, link, 1.0)

    return process


def _dead(find: Callable[[Topology], list[int]], start: float, end: float, *, reroute: bool) -> Trouble:
    cut = _limited(find, 0.0, start, end)

    def process(world: "Harm", number: int) -> Running:
        world.begin(cut(world, number))
        yield from world.wait(start)
        world.avoid(number, find(world.cluster.topology))
        if end < np.inf:
            yield from world.wait(end)
            world.avoid(number, [])

    return Trouble(process=process if reroute else cut)


def without(topology: Topology, links: Sequence[int]) -> Callable[[Ints, Ints], Routes]:
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
