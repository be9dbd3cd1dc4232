"""XML of hwloc (`lstopo --of xml`), versions 1 to 3: packages, NUMA nodes, PCI with its link speeds, NVLinks.

What the file tells is kept: link speeds of PCI, the NVLink and XGMI matrices. How fast sockets are joined, and all
latencies, are not in it; they are assumed and listed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated

from sim.base.numbers import whole
from sim.base.xml import Element, parse_xml
from sim.formats import reader
from sim.formats.hwloc_xml.objects import (
    Objects,
    Port,
    fabric_name,
    os_name,
    read_objects,
)
from sim.parameters import Bounds, spread
from sim.topology import Device, Link, Topology
from sim.topology.host import LATENCIES, VOLTA, HostParts, between_sockets, rate_options
from sim.topology.rails import join_by_rails
from sim.units import GBps, Time, fmt_bandwidth, fmt_time

NVLINK1, NVLINK2 = 20 * GBps, 25 * GBps
"""One NVLink as the driver counts it, per direction: Pascal, and Volta or later (NVIDIA NVLink page)."""

_MARK = re.compile(r"<topology\b[^<>]*>\s*<object\b|<!DOCTYPE\s+topology\b")


def matches(text: str) -> bool:
    """Whether it is a topology of objects."""
    return _MARK.search(text) is not None


@dataclass(slots=True)
class _HwlocParts(HostParts):
    """Devices and links gathered on the way; `of` names the device of an element."""

    rate: dict[str, float]
    of: dict[int, str] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)

    def take(self, key: str) -> float:
        """An assumed rate or latency, noted as used."""
        self.used[key] = None
        return self.rate[key]


@reader("hwloc_xml", "the XML of `lstopo --of xml`", matches=matches, endings=("xml",))
@spread("set_rates", rate_options("pix", "sys", "nic", *LATENCIES))
def read(
    text: str,
    *,
    name: str = "hwloc XML",
    set_rates: Mapping[str, float | None],
    hosts: Annotated[int, Bounds(1, 1024)] = 1,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """The machine of a file, or `hosts` of them joined by their NICs. GPUs are the ranks, else CPU domains.

    Names of rates are those of `sim.topology.host.Rates`; `pix` is for PCI links whose speed the file does not tell.
    Raises InputError with the line for what is malformed.
    """
    root = parse_xml(text, name, doctype=True)
    if root.tag != "topology":
        root.refuse(name, "hwloc.root", tag=root.tag)
    objects = read_objects(root, name)
    usual = {key: getattr(VOLTA, key) for key in set_rates} | {"sys": _between_sockets(objects)}
    parts = _HwlocParts(usual | {key: value for key, value in set_rates.items() if value is not None})
    notes = list(objects.notes)
    _leaves(objects, parts, notes)
    cpus = _cpus(objects, parts)
    _pci(objects, parts, cpus, notes)
    _nvlinks(objects, parts, cpus, notes)
    if not objects.matrices and sum(device.kind == "GPU" for device in parts.devices) > 1:
        notes.append(
            "no matrix of NVLinks or xGMI in the file: its GPUs are joined by PCI alone; an lstopo that was built with"
            " NVML or ROCm SMI writes one"
        )
    for a, b in combinations(dict.fromkeys(cpus.values()), 2):
        parts.cable(a, b, parts.take("sys"), parts.take("sys_latency"), "SYS")
    ranks = tuple(i for i, device in enumerate(parts.devices) if device.kind == "GPU")
    if not ranks:
        ranks = tuple(i for i, device in enumerate(parts.devices) if device.name in cpus.values())
        notes.append("no GPU in the file: its CPU domains (packages, or their NUMA nodes) are the ranks")
        if hosts > 1:
            root.refuse(name, "hwloc.no_gpu")
    if hosts > 1:
        parts.take("nic"), parts.take("nic_latency")
    notes += [
        f"assumed {key}={(fmt_time if key.endswith('_latency') else fmt_bandwidth)(parts.rate[key])}:"
        f" give {key}= to change it"
        for key in parts.used
        if set_rates[key] is None
    ]
    host = Topology(
        name, tuple(parts.devices), tuple(parts.links), ranks, assumed=tuple(notes), overhead=overhead, gamma=gamma
    )
    return join_by_rails(host, hosts, parts.rate["nic"], parts.rate["nic_latency"])


def _between_sockets(objects: Objects) -> float:
    """B/s between sockets, by CPU."""
    info = objects.info
    model = info.get("CPUModelNumber", "")
    return between_sockets(info.get("CPUVendor", ""), whole(model) or 0, info.get("CPUModel", ""))


def _ports(ports: list[Port]) -> list[Port]:
    """The devices below some ports, in the order of the file."""
    return [leaf for port in ports for leaf in (_ports(port.below) if port.below else [port])]


def _leaves(objects: Objects, parts: _HwlocParts, notes: list[str]) -> None:
    """GPUs as the driver counts them where it does, then NICs; of these InfiniBand and RoCE alone if there is any."""
    ports = [port for bridge in objects.bridges for port in _ports(bridge.below)]
    gpus = [port for port in ports if port.kind == "GPU"]
    counted = [os_name(port.element, ("NVML", "RSMI")) or os_name(port.element, ("CUDA",)) for port in gpus]
    numbers = [int(digits[0]) for word in counted if (digits := re.findall(r"\d{1,6}$", word))]
    if len(set(numbers)) == len(gpus):
        gpus = [port for _, port in sorted(zip(numbers, gpus, strict=True), key=lambda pair: pair[0])]
    nics = [port for port in ports if port.kind == "NIC"]
    fabrics = [port for port in nics if fabric_name(objects, port.element)]
    if fabrics and len(fabrics) < len(nics):
        others = ", ".join(_called(port.element) for port in nics if port not in fabrics)
        notes.append(f"network devices that are neither InfiniBand nor RoCE are left out: {others}")
    for i, port in enumerate(gpus):
        parts.of[id(port.element)] = f"GPU{i}"
        parts.devices.append(Device(f"GPU{i}", "GPU", _numa(objects, port)))
    for i, port in enumerate(fabrics or nics):
        called = fabric_name(objects, port.element) or f"NIC{i}"
        taken = any(device.name == called for device in parts.devices)
        parts.of[id(port.element)] = f"NIC{i}" if taken else called
        parts.devices.append(Device(parts.of[id(port.element)], "NIC", _numa(objects, port)))


def _called(element: Element) -> str:
    return os_name(element) or element.attributes.get("pci_busid", "one without a name")


def _numa(objects: Objects, port: Port) -> int:
    bridge = next(bridge for bridge in objects.bridges if port in _ports(bridge.below))
    return bridge.domains[0].numa if bridge.domains else -1


def _cpus(objects: Objects, parts: _HwlocParts) -> dict[int, str]:
    """One CPU device per domain, by the domain's id()."""
    numas = [domain.numa for domain in objects.domains]
    by_numa = len(set(numas)) == len(numas) and -1 not in numas
    cpus = {}
    for i, domain in enumerate(objects.domains):
        cpus[id(domain)] = f"CPU{domain.numa if by_numa else i}"
        parts.devices.append(Device(cpus[id(domain)], "CPU", domain.numa))
    return cpus


def _pci(objects: Objects, parts: _HwlocParts, cpus: dict[int, str], notes: list[str]) -> None:
    """PCI as the file nests it; a bridge that leads to one port only is part of that port's link."""
    bridges = [(bridge, ports) for bridge in objects.bridges if (ports := _with_devices(bridge.below, parts))]
    for bridge, ports in bridges:
        if not bridge.domains:
            continue
        domain = bridge.domains[0]
        if len(bridge.domains) > 1:
            first = ports[0].element.attributes.get("pci_busid", "")
            notes.append(f"the PCI bus of {first} is near several NUMA nodes or packages: put on {cpus[id(domain)]}")
        above = cpus[id(domain)]
        if sum(other.domains[:1] == [domain] for other, _ in bridges) > 1:
            above = parts.add(f"{cpus[id(domain)]}.HB", "CPU", domain.numa)
        before = len(parts.links)
        for port in ports:
            _hang(parts, port, above, domain.numa, parts.take("phb_latency"))
        if above != cpus[id(domain)]:
            rate = sum(link.bandwidth for link in parts.links[before:] if link.dst == above)
            parts.cable(above, cpus[id(domain)], rate, parts.take("node_latency"))
    if any(device.name.partition(".")[2].startswith("HB") for device in parts.devices):
        notes.append("host bridges of one CPU are joined as fast as all their PCI links together")


def _with_devices(ports: list[Port], parts: _HwlocParts) -> list[Port]:
    """The ports that lead to devices of the machine."""
    return [port for port in ports if any(id(leaf.element) in parts.of for leaf in _ports([port]))]


def _hang(parts: _HwlocParts, port: Port, above: str, numa: int, latency: float) -> None:
    speeds = [port.speed]
    while len(below := _with_devices(port.below, parts)) == 1:
        port = below[0]
        speeds.append(port.speed)
    rate = min((speed for speed in speeds if speed), default=0.0) or parts.take("pix")
    if not below:
        parts.cable(parts.of[id(port.element)], above, rate, parts.take("pix_latency") + latency)
        return
    switch = parts.add("PCI", "PCI", numa)
    parts.cable(switch, above, rate, latency)
    for each in below:
        inner = len(_with_devices(each.below, parts)) > 1 or any(
            len(_ports([p])) > 1 for p in _with_devices(each.below, parts)
        )
        _hang(parts, each, switch, numa, parts.take("pxb_latency") if inner else 0.0)


def _nvlinks(objects: Objects, parts: _HwlocParts, cpus: dict[int, str], notes: list[str]) -> None:
    """Links of the matrices. Switches that see the same devices are one: their links carry one message together."""
    if not objects.rates:
        return
    names = dict(parts.of)
    for domain in reversed(objects.domains):
        names[id(domain.package)] = cpus[id(domain)]
    groups: dict[frozenset[int], list[int]] = {}
    elements = {id(e): e for one, other, _ in objects.rates.values() for e in (one, other)}
    for key in elements:
        if key not in names:
            seen = frozenset(b for a, b in objects.rates if a == key and b in names)
            groups.setdefault(seen, []).append(key)
    for members in groups.values():
        name = parts.add("NVS", "NVS", -1)
        names.update(dict.fromkeys(members, name))
    if any(len(members) > 1 for members in groups.values()):
        notes.append("NVSwitches that join the same GPUs are taken as one, with all their links")
    total: dict[tuple[str, str], float] = {}
    for (a, b), (_, _, rate) in objects.rates.items():
        if names[a] != names[b]:
            total[names[a], names[b]] = total.get((names[a], names[b]), 0.0) + rate
    single, called = _one_link(objects, list(total.values()))
    kind = {device.name: device.kind for device in parts.devices}
    for (one, other), rate in total.items():
        switched = "NVS" in (kind[one], kind[other])
        wait = parts.take("nvlink_latency") / (2 if switched else 1)
        parts.links.append(Link(one, other, rate, wait, "NVL", lanes=max(1, round(rate / single))))
    notes.append(f"{called} are counted as {fmt_bandwidth(single)} each, the matrix tells only their sum")


def _one_link(objects: Objects, rates: list[float]) -> tuple[float, str]:
    """B/s that count as one link, and what such links are called: of xGMI, the narrowest pair has one."""
    if "NVLinkBandwidth" not in objects.matrices:
        return min(rates, default=NVLINK2), "xGMI links"
    return (NVLINK2 if all(rate % NVLINK2 == 0 for rate in rates) else NVLINK1), "NVLinks"
