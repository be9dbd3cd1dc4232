"""Links that a schedule's renamings take to each other: what befalls one would befall the other alike."""

from itertools import islice

import numpy as np

from sim.base.arrays import Ints, Numbers, each_once
from sim.symmetry.folded import FoldedSchedule
from sim.symmetry.orbits import LOOKED_AT, divisors
from sim.topology import Topology


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


def _image(topology: Topology, schedule: FoldedSchedule, by: int) -> Numbers | None:
    """Where a renaming takes every link; None where it does not leave the machine as it is."""
    ranks, turns = np.arange(schedule.n), each_once(schedule.turn)
    devices = np.array(topology.ranks[: schedule.n], np.int32)
    sender = np.tile(ranks, len(turns))
    receiver = schedule.symmetry.ranks.turned(ranks, turns.reshape(-1, 1)).reshape(-1)
    offsets, links = topology.routes(devices[sender], devices[receiver])
    sent, received = (schedule.symmetry.ranks.turned(column, by) for column in (sender, receiver))
    others, crossed = topology.routes(devices[sent], devices[received])
    if not np.array_equal(offsets, others):
        return None
    src, dst = (np.asarray(ends, np.int64) for ends in topology.ends)
    moved = np.full(len(topology.devices), -1)
    for ends in (src, dst):
        moved[ends[links]] = ends[crossed]
    moved[devices] = devices[schedule.symmetry.ranks.turned(ranks, by)]
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
    """Whether links go where their routes and ends do, each to another one of its bandwidth and latency."""
    src, dst = topology.ends
    return bool(
        (image[links] == crossed).all()
        and (src[image] == moved[src]).all()
        and (dst[image] == moved[dst]).all()
        and (topology.bandwidth[image] == topology.bandwidth).all()
        and (topology.latency[image] == topology.latency).all()
        and (topology.kinds[moved] == topology.kinds).all()
    )
