"""A box of GeForce cards over two sockets, where the farther path can be slower than a copy through host memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from sim.machines import called, machine
from sim.parameters import Bounds
from sim.registry import titled
from sim.topology import Ints, Router, Routes, Topology
from sim.topology.host import AMPERE, Leaf, Place, Rates, build_host, gpu
from sim.topology.path_classes import pair_classes
from sim.topology.routing import chain, merge
from sim.units import Bandwidth, GBps

PEER = {True: (AMPERE.pix, 3.63 * GBps), False: (2.38 * GBps, 0.83 * GBps)}
"""What one card's writes to another's memory reach under a switch and across sockets, with relaxed ordering or without.

By nccl-tests on a Gooxi AS4110G with eight patched RTX 4090 (bus bandwidth of an allreduce, whose slowest hop it is):
3.63 GB/s everywhere and 5.24 GB/s with peers under one switch only; 0.83 and 2.38 GB/s without relaxed ordering.
"""
HOST_COPY = 5.24 * GBps
"""What a copy through host memory reaches from one socket to the other on that box."""


@called("rtx-4090", "4090", "geforce-rtx-4090")
@machine
@titled("8 RTX 4090")
def geforce_4090(
    *,
    gpus: Annotated[int, Bounds(1, 16)] = 8,
    p2p: Literal["all", "near", "no"] = "near",
    relaxed_ordering: bool = True,
    host_copy: Bandwidth = HOST_COPY,
) -> Topology:
    """RTX 4090 on two PCIe switches, five of eight on the first socket's, the rest on the second's; no NVLink.

    `p2p` says who writes to whose memory: `all`, those under one switch (`near`), or nobody, and the rest goes through
    host memory, whose uplinks a switch's cards share. Without `relaxed_ordering` such writes crawl.
    """
    first = -(-gpus * 5 // 8)
    switch, sockets = PEER[relaxed_ordering]
    pix = switch if p2p != "no" else AMPERE.pix
    rates = replace(AMPERE, pix=pix, phb=AMPERE.pix, sys=sockets if p2p == "all" else host_copy)
    leaves = [gpu(i, Place(domain=int(i >= first))) for i in range(gpus)]
    return two_sockets("geforce_4090", leaves, rates, p2p)


def two_sockets(name: str, leaves: Sequence[Leaf], rates: Rates, p2p: str) -> Topology:
    """Cards without NVLinks on two sockets; `p2p` says who writes to whose memory."""
    host = build_host(name, leaves, rates, {}, numa_nodes=(0, 1))
    host = replace(host, pairs=pair_classes(host))
    return host if p2p == "all" else replace(host, router=through_host(host, near=p2p == "near"))


def through_host(host: Topology, *, near: bool) -> Router:
    """GPU to GPU by way of the sender's CPU, with `near` only between sockets; all else as it is."""
    direct = host.routes
    is_gpu = np.array([device.kind == "GPU" for device in host.devices])
    numa = np.array([device.numa for device in host.devices])
    cpu = np.array([host.index[f"CPU{max(0, device.numa)}"] for device in host.devices], np.int32)

    def route(src: Ints, dst: Ints) -> Routes:
        staged = is_gpu[src] & is_gpu[dst] & (src != dst) & ((numa[src] != numa[dst]) | (not near))
        a, b = src[staged], dst[staged]
        plain = ~staged
        return merge(staged, chain(direct(a, cpu[a]), direct(cpu[a], b)), direct(src[plain], dst[plain]))

    return route
