"""Ideal machines: every number is the caller's, nothing is hidden in between.

All are full duplex. `overhead` per message and `gamma` per byte reduced, which every machine may be given, are zero
unless they are, so that a transfer alone takes exactly its route's latency plus size over bandwidth.
"""

from typing import Annotated

import numpy as np

from sim.base.ragged import offsets_of, ranges
from sim.base.size import room_for
from sim.machines import machine
from sim.parameters import Bounds, Devices
from sim.registry import titled
from sim.topology import Device, Floats, Ints, Link, Routes, Topology
from sim.topology.devices import LINK_KINDS, DeviceColumns, LinkColumns, Make, cables
from sim.topology.routing import pack, with_fallback
from sim.units import Bandwidth, GBps, Time, us

NVL, PCI, NET = (LINK_KINDS.index(kind) for kind in ("NVL", "PCI", "NET"))


@machine
@titled("ideal switch")
def switch(
    *,
    ranks: Devices = 64,
    bandwidth: Bandwidth = 25 * GBps,
    latency: Time = 1 * us,
) -> Topology:
    """One ideal switch: every GPU has one link up to it and one down.

    Each direction has the given bandwidth and latency, so a message pays the latency twice.
    """
    room_for(ranks + 1, "switch")
    number = np.arange(ranks + 1, dtype=np.int32)
    gpus, centre = number[:-1], np.full(ranks, ranks, np.int32)
    makes = (Make("GPU{number}", "GPU"), Make("SW", "NVS"))
    devices = DeviceColumns(makes, (number == ranks).astype(np.uint8), np.zeros_like(number), number)
    links = cables(
        devices, gpus, centre, np.full(ranks, bandwidth), np.full(ranks, latency), np.full(ranks, NVL, np.uint8)
    )

    def route(src: Ints, dst: Ints) -> Routes:
        up = np.where((src < ranks) & (src != dst), 2 * src, -1)
        down = np.where((dst < ranks) & (src != dst), 2 * dst + 1, -1)
        return pack(np.stack([up, down], axis=1).astype(np.int32))

    return Topology("switch", devices, links, router=route)


@machine
@titled("ring of links")
def ring(
    *,
    ranks: Devices = 8,
    bandwidth: Bandwidth = 25 * GBps,
    latency: Time = 1 * us,
    directions: Annotated[int, Bounds(1, 2)] = 2,
) -> Topology:
    """A physical ring of links whose GPUs pass on what is not for them.

    Routes take the shorter way, upwards when both are equal; with `directions=1` there are only links
    from each rank to the next. Two ranks share one link.
    """
    room_for(ranks, "ring")
    gpus = tuple(Device(f"GPU{r}", "GPU") for r in range(ranks))
    steps = (1, -1)[: directions if ranks > 2 else 1]
    links = [
        Link(f"GPU{r}", f"GPU{(r + step) % ranks}", bandwidth, latency)
        for r in range(ranks if ranks > 1 else 0)
        for step in steps
    ]

    def route(src: Ints, dst: Ints) -> Routes:
        up = (dst.astype(np.int64) - src) % ranks
        down = ranks - up if len(steps) == 2 else np.full_like(up, ranks)
        hops = np.where(up == 0, 0, np.minimum(up, down))
        offsets = offsets_of(hops)
        nth = ranges(0, hops)
        downwards = np.repeat(down < up, hops)
        at = (np.repeat(src, hops) + np.where(downwards, -nth, nth)) % ranks
        return Routes(offsets.astype(np.int32), (at * len(steps) + downwards).astype(np.int32))

    return Topology("ring", gpus, tuple(links), forwarding=True, router=route)


@machine
@titled("full mesh")
def mesh(
    *,
    ranks: Annotated[int, Bounds(1, 1024)] = 8,
    bandwidth: Bandwidth = 50 * GBps,
    latency: Time = 0.7 * us,
) -> Topology:
    """A link each way between every pair of GPUs."""
    room_for(ranks, "mesh", ranks * (ranks - 1))
    names = [f"GPU{r}" for r in range(ranks)]
    links = [Link(a, b, bandwidth, latency) for a in names for b in names if a != b]

    def route(src: Ints, dst: Ints) -> Routes:
        direct = src.astype(np.int64) * (ranks - 1) + dst - (dst > src)
        return pack(np.where(src == dst, -1, direct).astype(np.int32)[:, None])

    gpus = tuple(Device(name, "GPU") for name in names)
    return Topology("mesh", gpus, tuple(links), router=route)


@machine
@titled("hosts and one spine")
def nodes(
    *,
    nodes: Devices = 8,
    gpus: Devices = 8,
    nvlink: Bandwidth = 300 * GBps,
    nvlink_latency: Time = 0.5 * us,
    nic: Bandwidth = 25 * GBps,
    nic_latency: Time = 2 * us,
    nics: Annotated[int, Bounds(1, 64)] = 1,
) -> Topology:
    """Hosts with a switch inside, joined by one spine through their NICs.

    Per host a link up and down per GPU; per NIC a link up to the spine and down. GPU i of a host sends and
    receives through NIC i mod `nics`. Between hosts a message pays `nvlink_latency` and `nic_latency`
    twice each; the hop from switch to NIC is free and never binds.
    """
    room_for(nodes * (gpus + nics + 1) + 1, "nodes")
    devices = _hosts(nodes, gpus, nics)
    dues = (nvlink, nvlink_latency, NVL), (2 * max(nvlink, nic), 0.0, PCI), (nic, nic_latency, NET)
    base = Topology("nodes", devices, _node_cables(devices, nodes, gpus, nics, np.array(dues)))
    per_node, links_per_node = gpus + 1 + nics, 2 * gpus + 4 * nics

    def route(src: Ints, dst: Ints) -> Routes:
        node_s, i = src // per_node, src % per_node
        node_d, j = dst // per_node, dst % per_node
        first_s, first_d = node_s * links_per_node, node_d * links_per_node
        from_nic, to_nic, near = i > gpus, j > gpus, node_s == node_d
        nic_s = first_s + 2 * gpus + 4 * np.where(from_nic, i - gpus - 1, i % nics)
        nic_d = first_d + 2 * gpus + 4 * np.where(to_nic, j - gpus - 1, j % nics)
        columns = np.stack([first_s + 2 * i, nic_s, nic_s + 2, nic_d + 3, nic_d + 1, first_d + 2 * j + 1], axis=1)
        columns[from_nic, 0] = columns[to_nic, 5] = -1
        columns[near, 2:4] = -1
        columns[near & from_nic, 1] = (nic_s + 1)[near & from_nic]
        columns[(near | from_nic) & ~(near & from_nic), 1] = -1
        columns[near & to_nic, 4] = nic_d[near & to_nic]
        columns[(near | to_nic) & ~(near & to_nic), 4] = -1
        columns[src == dst] = -1
        return pack(columns.astype(np.int32))

    return base.but(router=with_fallback(base, route, (base.kinds == "GPU") | (base.kinds == "NIC")))


def _hosts(nodes: int, gpus: int, nics: int) -> DeviceColumns:
    """Of every host its GPUs, its switch and its NICs; the spine comes last."""
    inside = Make("H{host}.GPU{number}", "GPU"), Make("H{host}.SW", "NVS"), Make("H{host}.NIC{number}", "NIC")
    make, number = np.repeat([0, 1, 2], [gpus, 1, nics]), np.concatenate([np.arange(gpus), [0], np.arange(nics)])
    return DeviceColumns(
        (*inside, Make("SPINE", "NET")),
        np.append(np.tile(make, nodes), 3).astype(np.uint8),
        np.append(np.repeat(np.arange(nodes), gpus + 1 + nics), -1).astype(np.int32),
        np.append(np.tile(number, nodes), 0).astype(np.int32),
    )


def _node_cables(devices: DeviceColumns, nodes: int, gpus: int, nics: int, dues: Floats) -> LinkColumns:
    """Of every host a cable per GPU, then two per NIC: from the switch and to the spine; `dues` are of these three."""
    nic = gpus + 1 + np.arange(nics)
    first = np.arange(nodes).reshape(-1, 1) * (gpus + 1 + nics)
    inward = first + np.concatenate([np.arange(gpus), np.stack([np.full(nics, gpus), nic], axis=1).reshape(-1)])
    outward = first + np.concatenate([np.full(gpus, gpus), np.repeat(nic, 2)])
    outward[:, gpus + 1 :: 2] = len(devices) - 1
    each = np.concatenate([np.repeat(dues[:1], gpus, axis=0), np.tile(dues[1:], (nics, 1))])
    rates, waits, kinds = np.tile(each, (nodes, 1)).T
    return cables(devices, inward.reshape(-1), outward.reshape(-1), rates, waits, kinds.astype(np.uint8))
