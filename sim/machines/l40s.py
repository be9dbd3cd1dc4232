"""Servers of eight L40S on PCIe, whose messages go through host memory."""

from dataclasses import replace
from typing import Annotated

from sim.machines import machine
from sim.machines.pcie import dual_socket_pcie
from sim.parameters import Bounds
from sim.registry import titled
from sim.topology import Topology
from sim.topology.host import AMPERE
from sim.units import Bandwidth, GBps


@machine
@titled("8 L40S")
def l40s(
    *,
    gpus: Annotated[int, Bounds(1, 8)] = 8,
    nics: Annotated[int, Bounds(0, 8)] = 2,
    p2p: bool = False,
    pcie: Bandwidth = AMPERE.pix,
    sys: Bandwidth = 1.5 * GBps,
    nic: Bandwidth = AMPERE.nic,
    hosts: Annotated[int, Bounds(1, 1024)] = 1,
) -> Topology:
    """8 L40S on PCIe gen4 x16, four on each of two sockets' switches, no NVLink.

    Without `p2p` messages go through the memory of the sender's socket, whose uplink its GPUs share. `sys` is what such
    a message reaches from one socket to the other: 1.2-1.5 GB/s where nccl-tests on 4 GPUs reach 5 (NVIDIA for
    ai-dynamo/aiconfigurator, NCCL 2.27); `pcie` is 24 GB/s by NCCL `src/graph/topo.h`.
    """
    plain = dual_socket_pcie(gpus=gpus, nics=nics, p2p=p2p, pcie=pcie, sys=sys, nic=nic, hosts=hosts)
    return replace(plain, name="l40s", generation=AMPERE.generation)
