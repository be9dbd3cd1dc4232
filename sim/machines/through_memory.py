"""Messages between GPUs of a host by way of its memory, as where drivers or people switch peer-to-peer copies off."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sim.base.ragged import counts_of, offsets_of, ranges, row_numbers
from sim.errors import InputError
from sim.topology import Device, Ints, Link, Router, Routes, Topology
from sim.topology.devices import LINK_KINDS, link_kinds
from sim.topology.path_classes import LEVELS, levels
from sim.topology.routing import chain, merge, pack
from sim.units import GBps

SHARED_COPY = 16 * GBps
"""B/s of all writes and reads together of NCCL's copies through a socket's shared memory.

Two A40 on one socket reach 3.6 to 4.0 GB/s in an allreduce, and two GPUs on PCIe gen3 3.9, in which two messages are
written and read at once; the same two broadcast at 10.3 GB/s (NVIDIA/nccl issue 384).
"""
SHARED_COPY_GEN5 = 4 * 2 * 28 * GBps
"""The same of hosts with PCIe gen5 and DDR5: eight RTX 5090, four on each of two Xeon 8480+, reach a bus bandwidth of
28 GB/s, which each writes and reads (NVIDIA/nccl issue 1639)."""
GEN5 = ("Hopper", "Blackwell", "CDNA3", "CDNA4")
"""Generations of GPUs that are in such hosts."""
COPIES = "copies through host memory share what a few hosts reached: others differ much"
"""What a machine assumes whose messages go that way."""
NET = LINK_KINDS.index("NET")
LATENCY = 90e-9
"""s that a memory controller takes."""


def with_memory(host: Topology, memory: float) -> Topology:
    """A memory controller for every CPU, not for host bridges: one link for what is written and what is read, B/s."""
    cpus = [device for device in host.devices if device.kind == "CPU" and ".HB" not in device.name]
    controllers = tuple(Device(_controller(cpu.name), "CPU", cpu.numa, host=cpu.host) for cpu in cpus)
    links = tuple(Link(cpu.name, _controller(cpu.name), memory, LATENCY, "PCI", both=True) for cpu in cpus)
    with_controllers = replace(host, devices=(*host.devices, *controllers), links=(*host.links, *links))
    return replace(with_controllers, router=_by_cpus(host, cpus)) if host.router else with_controllers


def _by_cpus(host: Topology, cpus: Sequence[Device]) -> Router:
    """The routes that a machine has, to which its CPUs' controllers are new: they are reached by way of their CPUs."""
    devices, links = len(host.devices), len(host.links)
    near = np.array([*range(devices), *(host.index[cpu.name] for cpu in cpus)], np.int32)

    def own(device: Ints) -> Routes:
        return pack(np.where(device < devices, -1, links + device - devices).reshape(-1, 1).astype(np.int32))

    def route(src: Ints, dst: Ints) -> Routes:
        away = src != dst
        return chain(own(np.where(away, src, 0)), host.routes(near[src], near[dst]), own(np.where(away, dst, 0)))

    return route


def _controller(cpu: str) -> str:
    return cpu.replace("CPU", "MEM")


def staged(host: Topology, level: str = "LOC") -> Router:
    """GPU to GPU of a host by way of the memory of the sender's domain where they are farther apart than a level."""
    direct, near, place_of = host.routes, _memory_of(host), host.places[0]
    is_gpu, within = host.kinds == "GPU", LEVELS.index(level)

    def route(src: Ints, dst: Ints) -> Routes:
        copied = is_gpu[src] & is_gpu[dst] & (src != dst) & (place_of[src] == place_of[dst])
        if within:
            copied[copied] = levels(host, src[copied], dst[copied]) > within
        a, b, plain = src[copied], dst[copied], ~copied
        return merge(copied, chain(direct(a, near[a]), direct(near[a], b)), direct(src[plain], dst[plain]))

    return route


def unloaded(host: Topology, level: str = "LOC") -> Router:
    """Between a GPU and a NIC that is farther away than a level by way of the memory of the GPU's domain.

    That is how messages go where NICs do not reach into GPUs' memory (ncclTopoComputePaths, `src/graph/paths.cc`):
    those of GPUs to GPUs of another host by the NICs of their way, and those to and from a NIC that is asked for.
    """
    direct, near, within = host.routes, _memory_of(host), LEVELS.index(level)
    is_gpu, is_nic, place_of = host.kinds == "GPU", host.kinds == "NIC", host.places[0]
    crosses, (tails, heads) = link_kinds(host.links) == NET, host.ends

    def end(src: Ints, dst: Ints) -> Routes:
        pair = (place_of[src] == place_of[dst]) & ((is_gpu[src] & is_nic[dst]) | (is_nic[src] & is_gpu[dst]))
        pair[pair] = levels(host, src[pair], dst[pair]) > within
        a, b = src[pair], dst[pair]
        memory = near[np.where(is_gpu[a], a, b)]
        return merge(pair, chain(direct(a, memory), direct(memory, b)), direct(src[~pair], dst[~pair]))

    def route(src: Ints, dst: Ints) -> Routes:
        whole = direct(src, dst)
        counts = counts_of(whole.offsets, crosses[whole.links])
        between = is_gpu[src] & is_gpu[dst] & (counts > 0)
        if not between.any():
            return end(src, dst)
        a, b = src[between], dst[between]
        offsets, links = direct(a, b)
        at = np.flatnonzero(crosses[links])
        route_of = row_numbers(offsets)[at]
        first = at[np.searchsorted(route_of, np.arange(len(a)))]
        last = at[np.searchsorted(route_of, np.arange(len(a)), "right") - 1]
        lengths = last - first + 1
        middle = Routes(offsets_of(lengths).astype(np.int32), links[ranges(first, lengths)])
        ways = chain(end(a, tails[links[first]]), middle, end(heads[links[last]], b))
        return merge(between, ways, end(src[~between], dst[~between]))

    return route


def _memory_of(host: Topology) -> Ints:
    """The memory controller of each device's domain, or of its host where its domain has none, by index."""
    by_domain = {(d.host, d.numa): i for i, d in enumerate(host.devices) if "MEM" in d.name}
    by_host = {place: i for (place, _), i in reversed(by_domain.items())}
    return np.array([by_domain.get((d.host, d.numa), by_host.get(d.host, 0)) for d in host.devices], np.int32)


def through_memory(machine: Topology, memory: float = 0.0, *, level: str = "LOC") -> Topology:
    """A machine whose GPUs copy through host memory where they are farther apart than a level; itself where none is.

    All copies of a socket share `memory` B/s, or what such hosts reached where it is 0.

    Raises InputError for a machine without CPUs.
    """
    gpus = _first_host(machine)
    pairs = np.array([(a, b) for a in gpus for b in gpus if a != b], np.int32).reshape(-1, 2)
    if not (levels(machine, pairs[:, 0], pairs[:, 1]) > LEVELS.index(level)).any():
        return machine
    with_controllers = _controlled(machine, memory)
    return replace(with_controllers, router=staged(with_controllers, level))


def without_gpudirect(machine: Topology, *, level: str = "LOC") -> Topology:
    """A machine whose NICs reach into the memory of no GPU that is farther away than a level; itself where none is.

    Raises InputError for a machine without CPUs.
    """
    gpus = _first_host(machine)
    offsets, links = machine.routes(gpus, np.full(len(gpus), machine.ranks[-1], np.int32))
    nets = [part[link_kinds(machine.links)[part] == NET] for part in np.split(links, offsets[1:-1])]
    if not any(len(net) for net in nets):
        return machine
    nics = machine.ends[0][np.array([net[0] for net in nets])]
    if not (levels(machine, gpus, nics) > LEVELS.index(level)).any():
        return machine
    with_controllers = _controlled(machine)
    return replace(with_controllers, router=unloaded(with_controllers, level))


def _first_host(machine: Topology) -> Ints:
    """GPUs of the first rank's host."""
    first = machine.places[0][machine.ranks[0]]
    return np.flatnonzero((machine.kinds == "GPU") & (machine.places[0] == first)).astype(np.int32)


def _controlled(machine: Topology, memory: float = 0.0) -> Topology:
    """The machine with memory controllers: its own where it has some."""
    if any("MEM" in device.name for device in machine.devices):
        return machine
    if not (machine.kinds == "CPU").any():
        raise InputError("machine.no_memory", topology=machine.name)
    if memory:
        return with_memory(machine, memory)
    memory = SHARED_COPY_GEN5 if machine.generation in GEN5 else SHARED_COPY
    return with_memory(replace(machine, assumed=(*machine.assumed, COPIES), router=machine.routes), memory)
