"""Servers whose GPUs meet on PCIe only."""

from dataclasses import replace
from typing import Annotated

from sim.machines import machine
from sim.machines.geforce import through_host
from sim.parameters import Bounds
from sim.registry import titled
from sim.topology import Topology
from sim.topology.host import AMPERE, Place, build_host, gpu
from sim.topology.host import nic as nic_at
from sim.topology.path_classes import pair_classes
from sim.topology.rails import join_by_rails
from sim.units import Bandwidth, Time


@machine
@titled("two sockets of PCIe GPUs")
def dual_socket_pcie(
    *,
    gpus: Annotated[int, Bounds(1, 32)] = 8,
    switches_per_socket: Annotated[int, Bounds(1, 8)] = 1,
    nics: Annotated[int, Bounds(0, 8)] = 2,
    p2p: bool = True,
    pcie: Bandwidth = AMPERE.pix,
    pcie_latency: Time = AMPERE.pix_latency,
    sys: Bandwidth = AMPERE.sys,
    sys_latency: Time = AMPERE.sys_latency,
    nic: Bandwidth = AMPERE.nic,
    nic_latency: Time = AMPERE.nic_latency,
    hosts: Annotated[int, Bounds(1, 1024)] = 1,
) -> Topology:
    """Two sockets with PCIe switches, each sharing one uplink among its GPUs; no NVLink.

    GPUs fill socket 0's switches, then socket 1's; NICs sit on the first switch of a socket, in turn. Two
    GPUs are PIX in one switch, NODE in two of a socket, SYS across. With `p2p=no` GPUs cannot reach each
    other's memory and every message goes through the sender's socket, as drivers do for GeForce cards.
    `pcie` is gen4 x16 and `sys` EPYC to EPYC, 24 and 16 GB/s by NCCL `src/graph/topo.h`.
    """
    half = -(-gpus // 2)
    per_switch = -(-half // switches_per_socket)
    rates = replace(
        AMPERE,
        generation="",
        pix=pcie,
        pxb=pcie,
        phb=pcie,
        node=pcie,
        sys=sys,
        nic=nic,
        pix_latency=pcie_latency,
        sys_latency=sys_latency,
        nic_latency=nic_latency,
    )
    leaves = [gpu(i, Place(domain=i // half, bridge=i % half // per_switch)) for i in range(gpus)]
    leaves += [nic_at(k, Place(domain=k % 2)) for k in range(nics)]
    host = build_host("dual_socket_pcie", leaves, rates, {}, numa_nodes=(0, 1))
    host = replace(host, pairs=pair_classes(host))
    if not p2p:
        host = replace(host, router=through_host(host, near=False))
    return join_by_rails(host, hosts, nic, nic_latency)
