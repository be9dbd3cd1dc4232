"""What a machine is for a folded schedule: classes of links that all carry alike, each of which is simulated once.

Pairs of ranks that are renamings of each other are a class, too. Links are of one class when they are equally wide and
as many pairs of every class cross each of them. If the routes of a class of pairs cross the same classes of links in
the same order and have the same latency, flows that begin together get equal shares: max-min fairness knows no names.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import Floats, Ints
from sim.base.ragged import take
from sim.fold.folded import FoldedSchedule
from sim.fold.symmetry import Numbers
from sim.topology import Device, Link, Routes, Topology

KEPT = 1 << 25
"""Hops of routes that are kept between the two times they are looked at."""
UNBOUNDED = 1e300
"""B/s of what stands for latencies alone."""


@dataclass(frozen=True, eq=False)
class LinkClasses:
    """`of[link]` is a link's class; `load[pair, c]` says how many flows of one class of pairs each link of class c has.

    `turns` are the classes of pairs, by the renaming from the sender to the receiver; `machine` is the machine on which
    rank 0 of the folded schedule runs: device 0 is the rank, device k + 1 the receiver of turn k.
    """

    of: Numbers
    first: Numbers
    load: NDArray[np.int64]
    turns: Numbers
    machine: Topology


class _Hops(NamedTuple):
    """The routes of all pairs of one class, a row of links each, and their latencies, s."""

    links: Ints
    latency: Floats


def link_classes(topology: Topology, schedule: FoldedSchedule) -> LinkClasses | None:
    """The classes of links; None where the machine does not look the same from every rank."""
    turns = np.unique(schedule.turn[schedule.turn != 0])
    _, of = np.unique(topology.bandwidth, return_inverse=True)
    loads: list[Numbers] = []
    latency = []
    kept: list[_Hops] = []
    for hops in _all_hops(topology, schedule, turns):
        if hops is None or (hops.latency != hops.latency[0]).any():
            return None
        crossing = np.bincount(hops.links.reshape(-1), minlength=len(topology.links))
        if (crossing != crossing[_firsts(of)[of]]).any():
            _, of = np.unique(of * (int(crossing.max()) + 1) + crossing, return_inverse=True)
        loads.append(crossing)
        latency.append(float(hops.latency[0]))
        kept += [hops] if hops.links.size * len(turns) <= KEPT else []
    first = _firsts(of)
    routes: list[list[int]] = []
    for hops in kept if len(kept) == len(turns) else _all_hops(topology, schedule, turns):
        assert hops is not None
        classes = of[hops.links]
        if (classes != classes[0]).any():
            return None
        routes.append(list(dict.fromkeys(classes[0].tolist())))
    load = np.array([crossing[first] for crossing in loads], np.int64).reshape(len(turns), len(first))
    return LinkClasses(of, first, load, turns, _machine(topology, first, load, routes, latency))


def _all_hops(topology: Topology, schedule: FoldedSchedule, turns: Numbers) -> Iterator[_Hops | None]:
    """The routes of every class of pairs in turn; None where they are not equally long."""
    n = schedule.n
    devices, ranks = np.array(topology.ranks[:n], np.int32), np.arange(n)
    for turn in turns.tolist():
        offsets, links = topology.routes(devices, devices[schedule.symmetry.ranks.turned(ranks, turn)])
        length = int(offsets[1])
        if (np.diff(offsets) != length).any():
            yield None
            return
        hops = links.reshape(n, length)
        yield _Hops(hops, topology.latency[hops].sum(axis=1))


def _firsts(of: Numbers) -> Numbers:
    """The first link of every class."""
    return np.unique(of, return_index=True)[1]


def _machine(
    topology: Topology, first: Numbers, load: NDArray[np.int64], routes: list[list[int]], latency: list[float]
) -> Topology:
    """One link for each class, which offers each flow its share: a link that n flows cross at once is crossed n times.

    Numbers of crossings that have a common divisor are divided by it, and the bandwidth with them. The latency of a
    route is that of a link of its own.
    """
    devices = (Device("0", "GPU"), *(Device(f"+{k}", "GPU") for k in range(len(routes))))
    common = [max(1, math.gcd(*load[:, c].tolist())) for c in range(len(first))]
    links = [
        Link("0", "0", float(topology.bandwidth[link]) / divisor, 0.0)
        for link, divisor in zip(first.tolist(), common, strict=True)
    ]
    ways: list[int] = []
    offsets = [0]
    for k, classes in enumerate(routes):
        for c in classes:
            ways += [c] * (int(load[k, c]) // common[c])
        ways.append(len(links))
        links.append(Link("0", f"+{k}", UNBOUNDED, latency[k]))
        offsets.append(len(ways))
    stored = np.array([0, *offsets], np.int32), np.array(ways, np.int32)

    def route(src: Ints, dst: Ints) -> Routes:
        return Routes(*take(*stored, np.where(src == dst, 0, dst)))

    return Topology(
        topology.name, devices, tuple(links), ranks=(0,), overhead=topology.overhead, gamma=topology.gamma, router=route
    )
