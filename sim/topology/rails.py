"""Several equal hosts joined by their NICs: NIC k of every host hangs on rail switch k, the rails on a spine."""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from sim.base.arrays import Ints
from sim.base.ragged import row_numbers
from sim.base.size import room_for
from sim.errors import InputError
from sim.topology.devices import Device, Link, Router, Routes, both_ways
from sim.topology.model import Topology
from sim.topology.routing import LENGTH, chain, merge, pack, with_fallback
from sim.units import us

SPINE_LATENCY = 0.32 * us
"""From a rail switch to the spine: perftest ib_write_lat between NDR hosts is 1.80 µs on one rail, 2.44 µs
across rails, which is two such links more."""


def join_by_rails(host: Topology, hosts: int, bandwidth: float, latency: float) -> Topology:
    """`hosts` copies of a host, named `H0.GPU0` …; one host stays as it is.

    A NIC's link to its rail has the given bandwidth (B/s) and latency (s); rails and spine never bind. GPUs
    reach other hosts through their nearest NIC, those with the same choice in turn, as NCCL picks them.
    Raises InputError when a host without NICs is to be joined.
    """
    if hosts == 1:
        return host
    nics = [i for i, device in enumerate(host.devices) if device.kind == "NIC"]
    if not nics:
        raise InputError("rails.no_nic", host=host.name, hosts=hosts)
    room_for(hosts * len(host.devices), f"{hosts} hosts", hosts * len(host.links))
    devices: list[Device] = []
    links: list[Link] = []
    for h in range(hosts):
        devices += [replace(device, name=f"H{h}.{device.name}", host=h) for device in host.devices]
        links += [replace(link, src=f"H{h}.{link.src}", dst=f"H{h}.{link.dst}") for link in host.links]
    for h in range(hosts):
        for rail, nic in enumerate(nics):
            links += both_ways(f"H{h}.{host.devices[nic].name}", f"RAIL{rail}", bandwidth, latency, "NET")
    devices += [Device(f"RAIL{rail}", "NET", host=-1) for rail in range(len(nics))]
    if len(nics) > 1:
        devices.append(Device("SPINE", "NET", host=-1))
        for rail in range(len(nics)):
            links += both_ways(f"RAIL{rail}", "SPINE", hosts * bandwidth, SPINE_LATENCY, "NET")
    pairs = {
        f"H{h}.{a}": {f"H{h}.{b}": word for b, word in row.items()}
        for h in range(hosts)
        for a, row in host.pairs.items()
    }
    joined = replace(host, devices=tuple(devices), links=tuple(links), ranks=(), router=None, pairs=pairs)
    return joined.but(router=_router(host, joined, hosts, nics))


def _router(host: Topology, joined: Topology, hosts: int, nics: list[int]) -> Router:
    """Inside a host as the host routes; between hosts through the two ends' own NICs."""
    own = _own_nics(host, nics)
    inside = np.array([own[i] >= 0 for i in range(len(host.devices))])
    per_host, links_per_host, rails = len(host.devices), len(host.links), len(nics)
    ports = hosts * links_per_host
    spine = ports + 2 * hosts * rails
    nic_at = np.array(nics, np.int32)

    def local(h: Ints, src: Ints, dst: Ints) -> Routes:
        offsets, links = host.routes(src, dst)
        return Routes(offsets, links + np.repeat(h * links_per_host, np.diff(offsets)).astype(np.int32))

    def across(src: Ints, dst: Ints) -> Routes:
        (h, i), (g, j) = np.divmod(src, per_host), np.divmod(dst, per_host)
        up, down = own[i], own[j]
        other_rail = up != down
        columns = [
            ports + 2 * (h * rails + up),
            np.where(other_rail, spine + 2 * up, -1),
            np.where(other_rail, spine + 2 * down + 1, -1),
            ports + 2 * (g * rails + down) + 1,
        ]
        network = pack(np.stack(columns, axis=1).astype(np.int32))
        return chain(local(h, i, nic_at[up]), network, local(g, nic_at[down], j))

    covered = np.concatenate([np.tile(inside, hosts), np.zeros(len(joined.devices) - hosts * per_host, np.bool_)])
    between = with_fallback(joined, across, covered)

    def route(src: Ints, dst: Ints) -> Routes:
        h, g = src // per_host, dst // per_host
        same = (h == g) & (h < hosts)  # devices after the hosts are switches
        near = local(h[same], src[same] % per_host, dst[same] % per_host)
        return merge(same, near, between(src[~same], dst[~same]))

    return route


def _own_nics(host: Topology, nics: list[int]) -> Ints:
    """The rail each device of a host uses; -1 for NVSwitches, which reach no NIC."""
    length = np.array([LENGTH[link.kind] for link in host.links])
    own = np.full(len(host.devices), -1, np.int32)
    turns: dict[tuple[int, ...], int] = defaultdict(int)
    for i, device in enumerate(host.devices):
        if device.kind == "NVS":
            continue
        offsets, links = host.routes([i] * len(nics), nics)
        far = np.bincount(row_numbers(offsets), length[links], len(nics))
        nearest = tuple(np.flatnonzero(far == far.min()).tolist())
        own[i] = nearest[turns[nearest] % len(nearest)]
        turns[nearest] += device.kind == "GPU"
    return own
