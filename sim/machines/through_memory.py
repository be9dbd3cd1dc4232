"""Messages between GPUs of a host by way of its memory, as where drivers or people switch peer-to-peer copies off."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sim.topology import Device, Ints, Link, Router, Routes, Topology
from sim.topology.routing import chain, merge, pack
from sim.units import GBps

SHARED_COPY = 16 * GBps
"""B/s of all writes and reads together of NCCL's copies through a socket's shared memory.

Two A40 on one socket reach 3.6 to 4.0 GB/s in an allreduce, and two GPUs on PCIe gen3 3.9, in which two messages are
written and read at once; the same two broadcast at 10.3 GB/s (NVIDIA/nccl issue 384).
"""
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


def staged(host: Topology) -> Router:
    """GPU to GPU of a host by way of the memory of the sender's domain; all else as it is."""
    direct = host.routes
    is_gpu = np.array([device.kind == "GPU" for device in host.devices])
    host_of = np.array([device.host for device in host.devices])
    by_domain = {(d.host, d.numa): i for i, d in enumerate(host.devices) if "MEM" in d.name}
    by_host = {place: i for (place, _), i in reversed(by_domain.items())}
    near = np.array([by_domain.get((d.host, d.numa), by_host.get(d.host, 0)) for d in host.devices], np.int32)

    def route(src: Ints, dst: Ints) -> Routes:
        copied = is_gpu[src] & is_gpu[dst] & (src != dst) & (host_of[src] == host_of[dst])
        a, b, plain = src[copied], dst[copied], ~copied
        return merge(copied, chain(direct(a, near[a]), direct(near[a], b)), direct(src[plain], dst[plain]))

    return route


def through_memory(machine: Topology, memory: float = SHARED_COPY) -> Topology:
    """A machine whose GPUs copy through host memory only."""
    with_controllers = with_memory(machine, memory)
    return replace(with_controllers, router=staged(with_controllers))
