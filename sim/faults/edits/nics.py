"""Hosts with another number of NICs, and more of them."""

from dataclasses import replace
from typing import Annotated

from sim.errors import InputError
from sim.faults.edits import edit
from sim.parameters import Bounds
from sim.topology import Device, Link, Topology, both_ways
from sim.topology.rails import join_by_rails
from sim.units import Bandwidth, Time, us

HOLDERS = ("PCI", "CPU")
"""What a NIC is attached to, the nearest to GPUs first."""


@edit
def set_nics(
    topology: Topology,
    *,
    count: Annotated[int, Bounds(1, 64)] = 4,
    hosts: Annotated[int, Bounds(1, 1024)] = 1,
    bandwidth: Bandwidth | None = None,
    latency: Time = 0.9 * us,
) -> Topology:
    """A host with so many NICs, and so many of these hosts joined by them.

    New NICs are on the PCIe switches or CPUs of GPUs. Without a `bandwidth` the network carries what PCIe does.
    """
    if len({device.host for device in topology.devices}) > 1:
        raise InputError("edits.nics_hosts", topology=topology.name)
    nics = [device.name for device in topology.devices if device.kind == "NIC"]
    kept = {nics[k * len(nics) // count] for k in range(count)} if len(nics) > count else set(nics)
    gone = set(nics) - kept
    devices = [device for device in topology.devices if device.name not in gone]
    links = [link for link in topology.links if not {link.src, link.dst} & gone]
    if len(kept) < count:
        _add(topology, devices, links, count)
    changed = tuple(devices) != topology.devices
    host = (
        topology
        if not changed
        else replace(topology, devices=tuple(devices), links=tuple(links), router=None, pairs={})
    )
    kinds = {device.name: device.kind for device in host.devices}
    slowest = min((link.bandwidth for link in host.links if kinds[link.src] == "NIC"), default=0.0)
    return join_by_rails(host, hosts, bandwidth or slowest, latency)


def _add(topology: Topology, devices: list[Device], links: list[Link], count: int) -> None:
    """NICs beside GPUs, on what has the fewest so far, by links like those of the GPUs there."""
    kinds = {device.name: device.kind for device in devices}
    beside = {link.dst: link for link in links if kinds[link.src] == "GPU" and kinds[link.dst] in HOLDERS}
    if not beside:
        raise InputError("edits.nics_nowhere", topology=topology.name)
    held = dict.fromkeys(beside, 0)
    for link in links:
        if kinds[link.src] == "NIC" and link.dst in held:
            held[link.dst] += 1
    names = (name for k in range(1 << 16) if (name := f"NIC{k}") not in topology.index)
    while sum(device.kind == "NIC" for device in devices) < count:
        holder, name = min(held, key=held.__getitem__), next(names)
        held[holder] += 1
        numa = devices[next(k for k, device in enumerate(devices) if device.name == holder)].numa
        devices.append(Device(name, "NIC", numa=numa, host=topology.devices[0].host))
        links += both_ways(name, holder, beside[holder].bandwidth, beside[holder].latency, "PCI")
