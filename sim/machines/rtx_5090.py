"""Servers of GeForce RTX 5090, whose messages go through host memory."""

from dataclasses import replace
from typing import Annotated

from sim.machines import called, machine
from sim.machines.pcie import dual_socket_pcie
from sim.parameters import Bounds
from sim.registry import titled
from sim.topology import Topology
from sim.topology.host import BLACKWELL
from sim.topology.servers import Hosts
from sim.units import Bandwidth, GBps

NEAR, FAR = 35 * GBps, 28 * GBps
"""What copies through host memory reach under one socket and between two."""


@called("rtx-5090", "5090", "geforce-rtx-5090")
@machine
@titled("8 RTX 5090")
def rtx_5090(
    *,
    gpus: Annotated[int, Bounds(1, 16)] = 8,
    nics: Annotated[int, Bounds(0, 8)] = 1,
    p2p: bool = False,
    pcie: Bandwidth = BLACKWELL.pix,
    sys: Bandwidth = BLACKWELL.sys,
    nic: Bandwidth = BLACKWELL.nic,
    hosts: Hosts = 1,
) -> Topology:
    """8 GeForce RTX 5090 on PCIe gen5 x16, four on each of two sockets, no NVLink; the driver allows no P2P.

    Copies through host memory reach 35 GB/s under one socket and 28 between two: the bus bandwidths of an allreduce on
    four cards and on eight of a host with two Xeon 8480+ (NVIDIA/nccl issue 1639). With `p2p`, as patched drivers have
    it, links carry `pcie` and `sys`: 48 and 40 GB/s by NCCL `src/graph/topo.h` (gen5, EMR).
    """
    near, far = (pcie, sys) if p2p else (min(pcie, NEAR), min(sys, FAR))
    per_socket = max(1, -(-gpus // 2))
    host = dual_socket_pcie(
        gpus=gpus,
        nics=nics,
        switches_per_socket=min(8, per_socket),
        p2p=p2p,
        pcie=near,
        sys=far,
        nic=nic,
        nic_latency=BLACKWELL.nic_latency,
        hosts=hosts,
    )
    return replace(host, name="rtx_5090", generation=BLACKWELL.generation, router=host.routes)
