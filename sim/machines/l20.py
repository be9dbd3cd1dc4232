"""Servers of eight L20 on PCIe, where writes to another card's memory are slower than copies through the host's."""

from dataclasses import replace
from typing import Annotated, Literal

from sim.machines import machine
from sim.machines.geforce import HOST_COPY, PEER, two_sockets
from sim.parameters import Bounds
from sim.registry import titled
from sim.topology import Topology
from sim.topology.host import AMPERE, Place, gpu
from sim.units import Bandwidth


@machine
@titled("8 L20")
def l20(
    *,
    gpus: Annotated[int, Bounds(1, 8)] = 8,
    p2p: Literal["all", "near", "no"] = "near",
    host_copy: Bandwidth = HOST_COPY,
) -> Topology:
    """8 L20 on PCIe gen4 x16, two under each of four switches, two switches on a socket; no NVLink.

    `p2p` as of `geforce_4090`: `all` is NCCL_P2P_LEVEL=SYS. Writes across sockets are slower than copies through host
    memory on such a host (NVIDIA/nccl issue 1817); what both reach is measured on the RTX 4090 of that machine, whose
    PCIe is the same. Within a switch `pcie` is 24 GB/s (NCCL `src/graph/topo.h`, gen4).
    """
    rates = replace(AMPERE, sys=PEER[True][1] if p2p == "all" else host_copy)
    leaves = [gpu(i, Place(domain=i // 4, bridge=i % 4 // 2)) for i in range(gpus)]
    return two_sockets("l20", leaves, rates, p2p)
