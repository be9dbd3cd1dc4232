"""Networks of single GPUs, every number the caller's: torus, fat tree, dragonfly."""

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from sim.base.size import room_for
from sim.errors import InputError
from sim.machines import machine
from sim.parameters import Bounds, Dims
from sim.registry import titled
from sim.topology import Device, Ints, Link, Router, Routes, Topology, both_ways
from sim.topology.routing import pack
from sim.units import Bandwidth, GBps, Time, us

Sizes = Annotated[tuple[int, ...], Dims("4x4x2")]
Few = Annotated[int, Bounds(1, 256)]


@machine
def torus(
    *,
    dims: Sizes = (4, 4),
    bandwidth: Bandwidth = 45 * GBps,
    latency: Time = 1 * us,
    wrap: bool = True,
) -> Topology:
    """A grid of GPUs, each joined to its neighbours in every dimension, the last to the first too.

    Routes go the shorter way round in one dimension after the other, the last one first; upwards when both are
    equal. Rank r stands where r's digits point, the last dimension counting fastest. With `wrap=no` the ends are
    not joined. GPUs pass on what is not for them.
    """
    return grid("torus", dims, bandwidth, latency, wrap=(wrap,) * len(dims))


def grid(
    name: str,
    dims: tuple[int, ...],
    bandwidth: float,
    latency: float,
    *,
    wrap: tuple[bool, ...],
) -> Topology:
    """A torus whose dimensions are closed one by one. Raises InputError for sizes that cannot be."""
    if not 1 <= len(dims) <= 6 or min(dims) < 1:
        shape = "x".join(map(str, dims))
        raise InputError("machine.dims", name=name, dims=shape)
    n = math.prod(dims)
    room_for(n, name)
    closed = tuple(end or size == 2 for end, size in zip(wrap, dims, strict=True))  # two share one cable either way
    places = np.stack(np.unravel_index(np.arange(n), dims), axis=1)
    link_at = np.full((n, len(dims), 2), -1, np.int32)
    names = [f"GPU{r}" for r in range(n)]
    links: list[Link] = []
    for d, size in enumerate(dims):
        for way, step in enumerate((1, -1)):
            if size == 1 or (size == 2 and way):
                continue
            to = places.copy()
            to[:, d] += step
            has_neighbour = (to[:, d] >= 0) & (to[:, d] < size) | closed[d]
            neighbour = np.ravel_multi_index(tuple((to % dims).T), dims)
            ranks = np.flatnonzero(has_neighbour)
            link_at[ranks, d, way] = np.arange(len(links), len(links) + len(ranks))
            ends = zip(ranks.tolist(), neighbour[ranks].tolist(), strict=True)
            links += [Link(names[a], names[b], bandwidth, latency) for a, b in ends]

    def route(src: Ints, dst: Ints) -> Routes:
        return _by_dimension(dims, closed, link_at, src.astype(np.int64), dst.astype(np.int64))

    gpus = tuple(Device(gpu, "GPU") for gpu in names)
    return Topology(name, gpus, tuple(links), forwarding=True, router=route)


def _by_dimension(dims: tuple[int, ...], closed: tuple[bool, ...], link_at: Ints, src: Ints, dst: Ints) -> Routes:
    """Dimension-ordered routes over `link_at[rank, dimension, up or down]`."""
    here, goal = (np.stack(np.unravel_index(ends, dims), axis=1) for ends in (src, dst))
    columns = []
    for d in reversed(range(len(dims))):
        ahead = goal[:, d] - here[:, d]
        if closed[d]:
            up = ahead % dims[d]
            ahead = np.where(up <= dims[d] - up, up, up - dims[d])
        way = (ahead < 0).astype(np.int64) if dims[d] > 2 else np.zeros(len(ahead), np.int64)
        step = np.sign(ahead)
        for k in range(int(np.abs(ahead).max(initial=0))):
            moving = k < np.abs(ahead)
            at = np.ravel_multi_index(tuple(here.T), dims)
            columns.append(np.where(moving, link_at[at, d, way], -1))
            here[:, d] = np.where(moving, (here[:, d] + step) % dims[d], here[:, d])
    empty = np.zeros((len(src), 0), np.int32)
    return pack(np.stack(columns, axis=1).astype(np.int32) if columns else empty)


@machine
@titled("fat tree")
def fat_tree(
    *,
    pods: Few = 4,
    leaves: Few = 2,
    gpus: Few = 4,
    bandwidth: Bandwidth = 25 * GBps,
    latency: Time = 1 * us,
    oversubscription: float = 1.0,
) -> Topology:
    """Three levels of switches: `gpus` on every leaf, `leaves` in every pod, `pods` joined by the core.

    A leaf has a link to each of as many switches of its pod as it has GPUs, and each of those one to as many core
    switches as the pod has leaves. Links up carry `bandwidth` over `oversubscription` from leaf to pod, and the same
    to the core. Who goes to the same GPU takes the same way (D-mod-k).
    """
    if not 1 <= oversubscription <= 1000:
        raise InputError("fat_tree.oversubscription", oversubscription=oversubscription)
    room_for(pods * leaves * (gpus + 1) + pods * gpus + gpus * leaves, "fat_tree", 6 * pods * leaves * gpus)
    devices = [Device(f"GPU{r}", "GPU") for r in range(pods * leaves * gpus)]
    links: list[Link] = []
    thin = bandwidth / oversubscription
    for pod in range(pods):
        for leaf in range(leaves):
            name = f"LEAF{pod * leaves + leaf}"
            devices.append(Device(name, "NET"))
            for g in range(gpus):
                links += both_ways(f"GPU{(pod * leaves + leaf) * gpus + g}", name, bandwidth, latency, "NET")
                links += both_ways(name, f"POD{pod}.{g}", thin, latency, "NET")
        for g in range(gpus):
            devices.append(Device(f"POD{pod}.{g}", "NET"))
            for leaf in range(leaves):
                links += both_ways(f"POD{pod}.{g}", f"CORE{g * leaves + leaf}", thin, latency, "NET")
    devices += [Device(f"CORE{c}", "NET") for c in range(gpus * leaves)]
    return Topology("fat_tree", tuple(devices), tuple(links))


@machine
def dragonfly(
    *,
    groups: Annotated[int, Bounds(2, 256)] = 4,
    routers: Few = 4,
    gpus: Few = 2,
    bandwidth: Bandwidth = 25 * GBps,
    latency: Time = 1 * us,
    local: Bandwidth = 25 * GBps,
    across: Bandwidth = 25 * GBps,
) -> Topology:
    """Groups of routers, all joined to all inside a group, and one link between every two groups.

    Links between groups are dealt out to a group's routers in turn. Routes are minimal: to the router that has the
    link, over it, to the router of the GPU (Kim, Dally, Scott and Abts, ISCA 2008). `bandwidth` is a GPU's link.
    """
    n = groups * routers * gpus
    if routers * groups > 1 << 12:
        raise InputError("dragonfly.routers", routers=routers * groups, most=1 << 12)
    room_for(n + groups * routers, "dragonfly", 2 * n + groups * routers * (routers - 1) + groups * (groups - 1))
    devices = [Device(f"GPU{r}", "GPU") for r in range(n)]
    devices += [Device(f"R{r}", "NET") for r in range(groups * routers)]
    links: list[Link] = []
    for r in range(n):
        links += both_ways(f"GPU{r}", f"R{r // gpus}", bandwidth, latency, "NET")
    joined, gate = _dragonfly_cables(groups, routers)
    link_at = np.full((groups * routers, groups * routers), -1, np.int32)
    for a, b in joined:
        link_at[a, b], link_at[b, a] = len(links), len(links) + 1
        rate = local if a // routers == b // routers else across
        links += both_ways(f"R{a}", f"R{b}", rate, latency, "NET")
    router = _dragonfly_router(n, gpus, routers, link_at, gate)
    return Topology("dragonfly", tuple(devices), tuple(links), router=router)


def _dragonfly_cables(groups: int, routers: int) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
    """Pairs of routers that a cable joins, and `gate[a, b]`: the router of group a whose cable leads to group b."""
    joined = [
        (group * routers + j, group * routers + i) for group in range(groups) for i in range(routers) for j in range(i)
    ]
    gate = np.full((groups, groups), -1, np.int64)
    for a in range(groups):
        for b in range(a):
            gate[a, b], gate[b, a] = a * routers + b % routers, b * routers + (a - 1) % routers
            joined.append((int(gate[b, a]), int(gate[a, b])))
    return joined, gate


def _dragonfly_router(n: int, gpus: int, routers: int, link_at: Ints, gate: NDArray[np.int64]) -> Router:
    """Minimal routes among n GPUs and their routers; `link_at[a, b]` is the link from router a to b, or -1."""

    def route(src: Ints, dst: Ints) -> Routes:
        columns = np.full((len(src), 5), -1, np.int32)
        away = np.nonzero(src != dst)[0]
        ends = []
        for side in (src[away], dst[away]):
            is_gpu = side < n
            ends.append((is_gpu, np.where(is_gpu, side // gpus, side - n)))
        (from_gpu, a), (to_gpu, b) = ends
        columns[away, 0] = np.where(from_gpu, 2 * src[away], -1)
        columns[away, 4] = np.where(to_gpu, 2 * dst[away] + 1, -1)
        ga, gb = a // routers, b // routers
        leave, enter = np.where(ga == gb, a, gate[ga, gb]), np.where(ga == gb, a, gate[gb, ga])
        columns[away, 1] = link_at[a, leave]
        columns[away, 2] = np.where(ga == gb, -1, link_at[leave, enter])
        columns[away, 3] = link_at[enter, b]
        return pack(columns)

    return route
