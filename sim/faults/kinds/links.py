"""Links that are slow, dead, one-way at a time, or busy with something else."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from sim.errors import InputError
from sim.faults import (
    Controls,
    Endpoint,
    LinkEnd,
    LinkStart,
    NicName,
    Perturbation,
    Running,
    checked_share,
    checked_span,
    device_index,
    limit_links,
    links_between,
)
from sim.faults.kinds import Offer, fault
from sim.parameters import Count
from sim.topology import Ints, Routes, Topology
from sim.units import MiB, Size, Time


@fault
def slow_link(
    topology: Topology,
    *,
    src: LinkStart,
    dst: LinkEnd,
    share: float = 0.5,
    start: Time = 0.0,
    end: Time | None = None,
    both: bool = True,
) -> Perturbation:
    """A link that has only a `share` of its bandwidth from `start` to `end`, in both directions by default."""
    links_between(topology, "slow_link", src, dst, both=both)
    find = partial(links_between, kind="slow_link", src=src, dst=dst, both=both)
    process = limit_links(find, checked_share("slow_link", share), *checked_span("slow_link", start, end))
    return Perturbation(process=process, links=find)


@fault(first="end=1ms", offers=[Offer("cut", "start={now},reroute=yes", "Fail now")])
def dead_link(
    topology: Topology,
    *,
    src: LinkStart,
    dst: LinkEnd,
    start: Time = 0.0,
    end: Time | None = None,
    both: bool = True,
    reroute: bool = False,
) -> Perturbation:
    """A link that carries nothing from `start` to `end`; with `reroute`, what it would carry goes another way."""
    links_between(topology, "dead_link", src, dst, both=both)
    find = partial(links_between, kind="dead_link", src=src, dst=dst, both=both)
    return _dead(find, *checked_span("dead_link", start, end), reroute=reroute)


@fault(first="reroute=yes", offers=[Offer("lost", "start={now},reroute=yes", "Fail now")])
def lost_nic(
    topology: Topology, *, nic: NicName, start: Time = 0.0, end: Time | None = None, reroute: bool = False
) -> Perturbation:
    """A NIC whose links carry nothing from `start` to `end`; with `reroute`, other NICs take over."""
    at = topology.index.get(nic, -1)
    if at < 0 or topology.devices[at].kind != "NIC":
        nics = [device.name for device in topology.devices if device.kind == "NIC"]
        if not nics:
            raise InputError("lost_nic.none", topology=topology.name)
        raise InputError("lost_nic.unknown", topology=topology.name, nic=nic, choices=nics[:8])

    def find(topology: Topology) -> list[int]:
        return [i for i, link in enumerate(topology.links) if nic in (link.src, link.dst)]

    return _dead(find, *checked_span("lost_nic", start, end), reroute=reroute)


@fault
def half_duplex(topology: Topology, *, src: LinkStart, dst: LinkEnd) -> Perturbation:
    """Make a link half duplex: its two directions share the bandwidth of one."""
    if len(links_between(topology, "half_duplex", src, dst, both=True)) < 2:
        raise InputError("half_duplex.shared", src=src, dst=dst)

    def shared(machine: Topology) -> Topology:
        link, back = links_between(machine, "half_duplex", src, dst, both=True)
        links = list(machine.links)
        links[link] = replace(links[link], both=True)
        del links[back]
        moved = np.arange(len(machine.links), dtype=np.int32)
        moved[back] = link
        moved = np.where(moved > back, moved - 1, moved).astype(np.int32)
        routes = machine.routes

        def route(a: Ints, b: Ints) -> Routes:
            offsets, crossed = routes(a, b)
            return Routes(offsets, moved[crossed])

        return replace(machine, links=tuple(links), router=route)

    return Perturbation(machine=shared)


@fault
def background(
    topology: Topology,
    *,
    src: Endpoint,
    dst: Endpoint,
    size: Size = MiB,
    streams: Count = 1,
    start: Time = 0.0,
    end: Time | None = None,
) -> Perturbation:
    """Background traffic between two devices: `streams` of messages, each as soon as the one before has arrived."""
    ends = [device_index(topology, "background", name) for name in (src, dst)]
    if ends[0] == ends[1]:
        raise InputError("background.to_itself", src=src)
    begin, stop = checked_span("background", start, end)

    def stream(controls: Controls) -> Running:
        while controls.env.now < stop:
            yield controls.send(ends[0], ends[1], size)

    def process(controls: Controls) -> Running:
        yield from controls.wait_until(begin)
        controls.mark(controls.topology.routes([ends[0]], [ends[1]]).links, begin, stop)
        for _ in range(streams):
            controls.env.process(stream(controls))

    links = topology.routes([ends[0]], [ends[1]]).links
    alone = float(topology.latency[links].sum() + topology.overhead + size / topology.bandwidth[links].min())
    rate = min(streams / alone, float(topology.bandwidth[links].min()) / size) if alone > 0 else math.inf

    def messages(seconds: float) -> float:
        return streams + rate * max(0.0, min(seconds, stop) - begin) if seconds > begin else 0.0

    return Perturbation(process=process, messages=messages)


def _dead(find: Callable[[Topology], list[int]], start: float, end: float, *, reroute: bool) -> Perturbation:
    cut = limit_links(find, 0.0, start, end)

    def process(controls: Controls) -> Running:
        controls.begin(cut(controls))
        yield from controls.wait_until(start)
        controls.avoid(find(controls.topology))
        if end < np.inf:
            yield from controls.wait_until(end)
            controls.avoid([])

    return Perturbation(process=process) if reroute else Perturbation(process=cut, links=find)
