"""A server seen from its memory: sockets, NUMA domains inside them, memory controllers, PCIe switches."""

from dataclasses import replace
from typing import Annotated

from sim.machines import machine
from sim.machines.through_memory import staged, with_memory
from sim.parameters import Bounds
from sim.registry import titled
from sim.topology import Link, Topology
from sim.topology.host import AMPERE, Place, build_host, gpu
from sim.topology.host import nic as nic_at
from sim.topology.path_classes import pair_classes
from sim.topology.rails import join_by_rails
from sim.topology.servers import Hosts
from sim.units import Bandwidth, GBps

Small = Annotated[int, Bounds(1, 16)]


@machine
@titled("NUMA sockets")
def numa(
    *,
    sockets: Annotated[int, Bounds(1, 8)] = 2,
    domains: Annotated[int, Bounds(1, 8)] = 1,
    gpus: Small = 4,
    switches: Small = 1,
    nics: Annotated[int, Bounds(0, 8)] = 1,
    p2p: bool = True,
    pcie: Bandwidth = AMPERE.pix,
    inner: Bandwidth = 50 * GBps,
    sys: Bandwidth = AMPERE.sys,
    memory: Bandwidth = 190 * GBps,
    nic: Bandwidth = AMPERE.nic,
    hosts: Hosts = 1,
) -> Topology:
    """Sockets of NUMA domains, each with memory, PCIe switches, GPUs and NICs of its own; no NVLink.

    `gpus`, `switches` and `nics` are per socket, dealt out to its `domains` in turn (sub-NUMA clustering, NPS).
    Domains of a socket are joined by `inner`, those of different sockets share one `sys` link between every two
    sockets. With `p2p=no` a message between GPUs is written to the memory of the sender's domain and read from there:
    one controller of `memory` B/s, shared by all its reads and writes.
    `pcie` and `sys` as in `dual_socket_pcie`; `memory` is eight channels of DDR4-3200, 204.8 GB/s nominal (JEDEC).
    """
    leaves = []
    for s in range(sockets):
        for i in range(gpus):
            place = Place(domain=s * domains + i % domains, bridge=i // domains % switches)
            leaves.append(gpu(s * gpus + i, place))
        leaves += [nic_at(s * nics + k, Place(domain=s * domains + k % domains)) for k in range(nics)]
    rates = replace(AMPERE, generation="", pix=pcie, pxb=pcie, phb=pcie, node=pcie, sys=sys, nic=nic)
    host = build_host("numa", leaves, rates, {}, numa_nodes=range(sockets * domains))
    host = _joined(host, sockets, domains, inner, sys)
    host = with_memory(replace(host, pairs=pair_classes(host)), memory)
    if not p2p:
        host = replace(host, router=staged(host))
    return join_by_rails(host, hosts, nic, AMPERE.nic_latency)


def _joined(host: Topology, sockets: int, domains: int, inner: float, sys: float) -> Topology:
    """Domains of a socket in a mesh, sockets joined through their first domains: one link for every two."""
    kept = [link for link in host.links if link.kind != "SYS"]
    for a in range(sockets * domains):
        for b in range(sockets * domains):
            same = a // domains == b // domains
            if a != b and (same or (a % domains == 0 and b % domains == 0)):
                kept.append(Link(f"CPU{a}", f"CPU{b}", inner if same else sys, AMPERE.sys_latency, "SYS"))
    return replace(host, links=tuple(kept))
