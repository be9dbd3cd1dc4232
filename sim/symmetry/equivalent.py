"""Links that a schedule's renamings take to each other: what befalls one would befall the other alike."""

from itertools import islice

import numpy as np

from sim.base.arrays import Ints, Numbers, each_once
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.orbits import LOOKED_AT, divisors
from sim.topology import Topology
from sim.topology.routing.detours import around


def equivalent_links(topology: Topology, schedule: FoldedSchedule) -> Numbers:
    """Return the first link that each link is equivalent to, shape (links,).

    A renaming of ranks that takes every route of the schedule to a route, and so every device to one that is joined as
    it is, takes each link to an equivalent one. Of each digit's renamings the smallest is taken of which that is so.
    """
    first, symmetry = np.arange(len(topology.links)), schedule.symmetry
    if len(each_once(schedule.turn)) * schedule.n > LOOKED_AT:
        return first
    images: list[Numbers] = []
    for weight, size in zip(symmetry.ranks.weight.tolist(), symmetry.ranks.size.tolist(), strict=True):
        tried = (_image(topology, schedule, step * weight) for step in divisors(size))
        images += islice((image for image in tried if image is not None), 1)
    while True:
        before = first.copy()
        for image in images:
            np.minimum.at(first, image, first.copy())
            first = np.minimum(first, first[image])
        if np.array_equal(before, first):
            return first


def has_one_way_around(topology: Topology, schedule: FoldedSchedule, links: list[int]) -> bool:
    """Whether what crosses some links has one best way without them, or none: equivalent links have equivalent ones.

    Of several equally good ways the router takes one by the numbers of devices, which no renaming keeps.
    """
    sender, receiver = _pairs(schedule)
    devices = np.array(topology.ranks[: schedule.n], np.int32)
    ends = devices[sender], devices[receiver]
    first, last = (around(topology, links, lambda error: None, among)(*ends) for among in (0, -1))
    return np.array_equal(first.links, last.links)


def _pairs(schedule: FoldedSchedule) -> tuple[Numbers, Numbers]:
    """Ranks of which one sends to the other."""
    ranks, turns = np.arange(schedule.n), each_once(schedule.turn)
    return np.tile(ranks, len(turns)), schedule.symmetry.ranks.turned(ranks, turns.reshape(-1, 1)).reshape(-1)


def _image(topology: Topology, schedule: FoldedSchedule, by: int) -> Numbers | None:
    """Where a renaming takes every link; None where it does not leave the machine as it is."""
    sender, receiver = _pairs(schedule)
    devices = np.array(topology.ranks[: schedule.n], np.int32)
    offsets, links = topology.routes(devices[sender], devices[receiver])
    sent, received = (schedule.symmetry.ranks.turned(column, by) for column in (sender, receiver))
    others, crossed = topology.routes(devices[sent], devices[received])
    if not np.array_equal(offsets, others):
        return None
    src, dst = (np.asarray(ends, np.int64) for ends in topology.ends)
    moved = np.full(len(topology.devices), -1)
    for ends in (src, dst):
        moved[ends[links]] = ends[crossed]
    moved[devices] = devices[schedule.symmetry.ranks.turned(np.arange(schedule.n), by)]
    if (moved < 0).any() or len(np.unique(moved)) < len(moved):
        return None
    image = np.full(len(src), -1)
    image[links] = crossed
    by_ends = {ends: link for link, ends in enumerate(zip(src.tolist(), dst.tolist(), strict=True))}
    for link in np.flatnonzero(image < 0).tolist():
        image[link] = by_ends.get((int(moved[src[link]]), int(moved[dst[link]])), -1)
    alike = (image >= 0).all() and len(by_ends) == len(src) and _fits(topology, links, crossed, moved, image)
    return image if alike else None


def _fits(topology: Topology, links: Ints, crossed: Ints, moved: Numbers, image: Numbers) -> bool:
    """Whether links go where their routes and ends do, each to another one of its kind, bandwidth and latency."""
    src, dst = topology.ends
    kinds = np.array([link.kind for link in topology.links])
    return bool(
        (image[links] == crossed).all()
        and (src[image] == moved[src]).all()
        and (dst[image] == moved[dst]).all()
        and (topology.bandwidth[image] == topology.bandwidth).all()
        and (topology.latency[image] == topology.latency).all()
        and (topology.shared[image] == topology.shared).all()
        and (kinds[image] == kinds).all()
        and (topology.kinds[moved] == topology.kinds).all()
    )
