"""NCCL's and RCCL's topology XML: templates that name PCI devices only, and full dumps with NVLinks, xGMI and nets.

Rates are worked out as NCCL does it (`src/graph/topo.cc`, `src/graph/topo.h`). What a file does not say, latencies
above all, is assumed and listed.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated

from sim.base.numbers import whole
from sim.base.xml import Element, parse_xml
from sim.errors import InputError
from sim.formats import reader
from sim.parameters import Bounds, spread
from sim.topology import Device, DeviceKind, Link, Topology
from sim.topology.generations import GENERATIONS, Generation, of_sm
from sim.topology.host import HOPPER, HostParts, between_sockets, rate_options
from sim.topology.rails import join_by_rails
from sim.units import GBps, Time, fmt_bandwidth, fmt_time

PCI_LANE = {"2.5": 15, "5": 30, "8": 60, "16": 120, "32": 240, "64": 480}
"""100 Mbit/s per lane by GT/s; times lanes over 80 is GB/s. Unknown speeds count as 8 GT/s."""
NVLINK_BY_SM = ((60, 18.0), (70, 20.0), (80, 20.0), (86, 12.0), (89, 20.0), (90, 20.6), (100, 40.1))
"""GB/s of one NVLink from this compute capability on; 86 stands alone (`ncclTopoNVLinkBw`, `src/graph/topo.h`)."""
XGMI: dict[Generation, float] = {"CDNA": 24.0, "CDNA2": 36.0, "CDNA3": 48.0, "CDNA4": 48.0}
"""GB/s of one xGMI link, RCCL `src/graph/topo.h`."""
LOC = 5000 * GBps
"""Between PCI switches that are one chip: LOC_BW."""
LATENCIES = ("nvlink_latency", "pix_latency", "pxb_latency", "phb_latency", "sys_latency", "nic_latency")
TARGETS = ("GPU", "NVS", "NIC", "PCI")
"""What a link may end at, likeliest first, where several kinds of devices have its bus id."""
_MARK = re.compile(r"<system\b[^<>]*\bversion\s*=")


@dataclass(slots=True)
class _SystemParts(HostParts):
    """Devices and links gathered on the way; `of` names the device of a host, kind and bus id."""

    name: str
    rate: dict[str, float]
    host: int = 0
    of: dict[tuple[int, str, str], str] = field(default_factory=dict)
    gpus: list[tuple[str, Element]] = field(default_factory=list)
    order: list[tuple[int, str]] = field(default_factory=list)
    count: Counter[str] = field(default_factory=Counter)
    ports: dict[str, float] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    many: bool = False

    def add(self, prefix: str, kind: DeviceKind, numa: int, number: str = "") -> str:
        """A new device, numbered by its kind unless the file numbers it."""
        front = f"H{self.host}." if self.many else ""
        if not number:
            number = str(self.count[front + prefix])
            self.count[front + prefix] += 1
        self.devices.append(Device(f"{front}{prefix}{number}", kind, numa, self.host))
        return self.devices[-1].name


@reader(
    "nccl_xml",
    "a topology file of NCCL or RCCL (XML)",
    matches=lambda text: bool(_MARK.search(text)),
    endings=("xml",),
)
@spread("set_rates", rate_options("nvlink", "xgmi", "sys", "nic"))
@spread("latencies", rate_options(*LATENCIES, usual=HOPPER))
def read(
    text: str,
    *,
    name: str,
    nvlinks: Annotated[int, Bounds(0, 64)] = 0,
    set_rates: Mapping[str, float | None],
    latencies: Mapping[str, float],
    hosts: Annotated[int, Bounds(1, 1024)] = 1,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """The machine, ranks in the order of the job. Raises InputError naming the line.

    Templates say nothing of NVLinks: `nvlinks` per GPU are taken to end at an NVSwitch. `nvlink` and `xgmi` are of
    one link; NCCL's value for the GPU where they are left out.
    """
    root = parse_xml(_without_comments(text), name)
    if root.tag != "system":
        root.refuse(name, "nccl_xml.root", tag=root.tag)
    parts = _SystemParts(name, {**{key: rate for key, rate in set_rates.items() if rate is not None}, **latencies})
    _put_together(parts, root, nvlinks)
    machine = Topology(
        name,
        tuple(parts.devices),
        tuple(parts.links),
        _ranks(parts, root),
        overhead=overhead,
        gamma=gamma,
        relays=int(any(wire.tag == "xgmi" for _, gpu in parts.gpus for wire in gpu.children)),
        assumed=tuple(parts.notes),
        generation=_generation(parts),
    )
    if parts.many and hosts > 1:
        root.refuse(name, "nccl_xml.hosts")
    port = parts.rate.get("nic", max(parts.ports.values(), default=1.25 * GBps))
    return join_by_rails(machine, hosts, port, latencies["nic_latency"])


def _without_comments(text: str) -> str:
    """The text without comments, which begin and end as in NCCL's own parser: dashes inside are no matter to it."""
    parts, at = [], 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + len("<!--"))) >= 0:
        parts += [text[at:begin], "\n" * text.count("\n", begin, end)]
        at = end + len("-->")
    return "".join([*parts, text[at:]])


def _put_together(parts: _SystemParts, root: Element, nvlinks: int) -> None:
    """All devices and links of the file, and notes of what it does not tell."""
    cpus = [element for element in root.children if element.tag == "cpu"]
    if not cpus:
        root.refuse(parts.name, "nccl_xml.no_cpu")
    _hosts(parts, cpus)
    _wires(parts)
    if parts.many:
        _network(parts)
    if nvlinks:
        _switch(parts, nvlinks)
    elif not any(link.kind == "NVL" for link in parts.links):
        parts.notes["no NVLinks in the file, as in templates: give nvlinks=12 for so many per GPU on an NVSwitch"] = (
            None
        )
    assumed = ", ".join(f"{key} {fmt_time(parts.rate[key])}" for key in LATENCIES)
    parts.notes[f"assumed latencies: {assumed}"] = None


def _ranks(parts: _SystemParts, root: Element) -> tuple[int, ...]:
    """Devices in the order of the job. Raises InputError where none takes part."""
    index = {device.name: i for i, device in enumerate(parts.devices)}
    ranks = tuple(index[gpu] for _, gpu in sorted(parts.order, key=lambda pair: pair[0]))
    if not ranks:
        root.refuse(parts.name, "nccl_xml.no_gpu")
    return ranks


def _hosts(parts: _SystemParts, cpus: list[Element]) -> None:
    """CPUs of every host, all joined to all, and what hangs below them."""
    hashes = list(dict.fromkeys(cpu.attributes.get("host_hash", "") for cpu in cpus))
    parts.many = len(hashes) > 1
    for parts.host, host_hash in enumerate(hashes):
        members = [cpu for cpu in cpus if cpu.attributes.get("host_hash", "") == host_hash]
        names = []
        for cpu in members:
            numa = _whole(parts, cpu, "numaid", 0, -1, 1 << 16)
            names.append(parts.add("CPU", "CPU", numa, str(max(0, numa))))
            if names[-1] in names[:-1]:
                cpu.refuse(parts.name, "nccl_xml.numaid", numa=numa)
            for child in cpu.children:
                _below(parts, child, names[-1], numa, depth=0)
        rate = parts.rate.get("sys", _sockets(members[0]))
        for a, b in combinations(names, 2):
            parts.cable(a, b, rate, parts.rate["sys_latency"], "SYS")
        if len(names) > 1 and "sys" not in parts.rate:
            parts.notes[f"assumed sys={fmt_bandwidth(rate)} between NUMA nodes: give sys= to change it"] = None


def _network(parts: _SystemParts) -> None:
    """The NICs of several hosts on one switch that never binds."""
    nics = [device.name for device in parts.devices if device.kind == "NIC"]
    parts.devices.append(Device("SPINE", "NET", host=-1))
    for nic in nics:
        rate = parts.rate.get("nic", parts.ports.get(nic, 1.25 * GBps))
        parts.cable(nic, "SPINE", rate, parts.rate["nic_latency"], "NET")
    parts.notes["all NICs are on one network that carries what they send"] = None


def _sockets(cpu: Element) -> float:
    """B/s between NUMA nodes by the CPU's make."""
    attributes = cpu.attributes
    model = attributes.get("modelid", "")
    return between_sockets(attributes.get("vendor", ""), whole(model) or 0, attributes.get("arch", ""))


def _below(parts: _SystemParts, element: Element, parent: str, numa: int, depth: int) -> None:
    """A PCI device, or a NIC without one, and everything below it."""
    if element.tag == "nic":
        _nic(parts, element, parent, numa, LOC)
    if element.tag != "pci":
        return
    rate, kind = _rate(parts, element), _kind(element)
    bus = element.attributes.get("busid", "").lower()
    if not bus:
        element.refuse(parts.name, "nccl_xml.no_busid")
    if kind == "GPU" and (parts.host, kind, bus) in parts.of:
        element.refuse(parts.name, "nccl_xml.bus_twice", bus=bus)
    up = parts.rate["phb_latency" if depth == 0 else "pxb_latency"]
    if kind == "GPU":
        made = _gpu(parts, element, numa)
        parts.cable(made, parent, rate, parts.rate["pix_latency"] + (up if depth == 0 else 0.0))
    elif kind == "NIC":
        nic = next((child for child in element.children if child.tag == "nic"), element)
        if (parts.host, kind, bus) in parts.of:  # another function of it, and its ports are on the same PCIe link
            _add_ports(parts, nic, parts.of[parts.host, kind, bus])
            return
        made = _nic(parts, nic, parent, numa, rate, up if depth == 0 else 0.0)
    elif kind == "NVS":
        made = parent
    else:
        made = parts.add("PCI", "PCI", numa)
        parts.cable(made, parent, rate, up)
        for child in element.children:
            _below(parts, child, made, numa, depth + 1)
    parts.of.setdefault((parts.host, kind, bus), made)


def _gpu(parts: _SystemParts, element: Element, numa: int) -> str:
    """The GPU of a PCI device, and which rank it is where the file tells."""
    gpu = next((child for child in element.children if child.tag == "gpu"), None)
    dev = "" if gpu is None else str(_whole(parts, gpu, "dev", len(parts.gpus), 0, 1 << 16))
    made = parts.add("GPU", "GPU", numa, dev)
    if gpu is None:
        parts.order.append((len(parts.order), made))
    else:
        parts.gpus.append((made, gpu))
        if "rank" in gpu.attributes:
            parts.order.append((_whole(parts, gpu, "rank", 0, 0, 1 << 20), made))
    return made


def _kind(element: Element) -> DeviceKind:
    """What a PCI class stands for, as NCCL reads it: by its first digits."""
    code = element.attributes.get("class", "").lower()
    inside = {child.tag for child in element.children}
    if "gpu" in inside or code.startswith(("0x03", "0x1200")):
        return "GPU"
    if "nic" in inside or code.startswith("0x02"):
        return "NIC"
    return "NVS" if code.startswith("0x0680") else "PCI"


def _nic(parts: _SystemParts, element: Element, parent: str, numa: int, rate: float, more: float = 0.0) -> str:
    """A NIC; all its nets are its ports together."""
    made = parts.add("NIC", "NIC", numa)
    parts.cable(made, parent, rate, parts.rate["pix_latency"] + more)
    _add_ports(parts, element, made)
    return made


def _add_ports(parts: _SystemParts, element: Element, nic: str) -> None:
    nets = [child for child in element.children if child.tag == "net"]
    speeds = [_whole(parts, net, "speed", 10_000, -1, 1 << 30) for net in nets]
    if speeds:
        ports = sum((speed if speed > 0 else 10_000) / 8000 * GBps for speed in speeds)
        parts.ports[nic] = parts.ports.get(nic, 0.0) + ports


def _rate(parts: _SystemParts, element: Element) -> float:
    """B/s of a PCI link: lanes times what its speed carries."""
    width = _whole(parts, element, "link_width", 16, 0, 64) or 16
    text = element.attributes.get("link_speed", "")
    speed = re.match(r"\s*(\d+(?:\.\d+)?)\s*GT/s", text)
    lane = PCI_LANE.get(f"{float(speed[1]):g}") if speed else None
    if lane is None:
        parts.notes[f"link_speed={text[:20]!r} counts as 8 GT/s, as with NCCL"] = None
    return width * (lane or 60) / 80 * GBps


def _wires(parts: _SystemParts) -> None:
    """NVLinks, xGMI and chip-to-chip links of every GPU; both ends of a cable between GPUs list it."""
    seen: set[tuple[str, str]] = set()
    for gpu, element in parts.gpus:
        to_switches = sum(_lanes(parts, wire) for wire in element.children if _ends_at_switch(wire))
        host = next(device.host for device in parts.devices if device.name == gpu)
        numa = next(device.numa for device in parts.devices if device.name == gpu)
        for wire in element.children:
            lanes = to_switches if _ends_at_switch(wire) else _lanes(parts, wire)
            if wire.tag == "c2c":
                cpu = next(d.name for d in parts.devices if d.kind == "CPU" and (d.host, d.numa) == (host, numa))
                rate = lanes * _whole(parts, wire, "bw", 0, 1, 1 << 30) / 1000 * GBps
                parts.cable(gpu, cpu, rate, parts.rate["pix_latency"])
            elif wire.tag in ("nvlink", "xgmi"):
                _wire(parts, gpu, element, wire, host, lanes, seen)


def _lanes(parts: _SystemParts, wire: Element) -> int:
    return _whole(parts, wire, "count", 1, 1, 64)


def _ends_at_switch(wire: Element) -> bool:
    """Whether it leads to an NVSwitch; NCCL takes all of a host's for one, to which a GPU has all of these links."""
    return wire.tag in ("nvlink", "xgmi") and wire.attributes.get("tclass", "").lower().startswith("0x068000")


def _wire(
    parts: _SystemParts, gpu: str, element: Element, wire: Element, host: int, lanes: int, seen: set[tuple[str, str]]
) -> None:
    per_link = parts.rate.get(wire.tag, _per_link(parts, element, wire.tag))
    target, latency = wire.attributes.get("target", "").lower(), parts.rate["nvlink_latency"]
    if _ends_at_switch(wire):
        parts.host = host
        switch = parts.of.setdefault((host, "NVS", ""), "") or parts.add("NVS", "NVS", -1)
        parts.of[host, "NVS", ""] = switch
        if (gpu, switch) not in seen:
            parts.cable(gpu, switch, lanes * per_link, latency / 2, "NVL", lanes)
        seen.add((gpu, switch))
        return
    other = next((parts.of[host, kind, target] for kind in TARGETS if (host, kind, target) in parts.of), None)
    if other is None:
        wire.refuse(parts.name, "nccl_xml.target", tag=wire.tag, target=target)
    if other == gpu:  # Azure publishes such files, and NCCL gets no path out of it
        parts.notes[f"{lanes} NVLinks from {gpu} to itself join nothing"] = None
        return
    if (gpu, other) in seen:
        wire.refuse(parts.name, "nccl_xml.wire_twice", tag=wire.tag, gpu=gpu, other=other)
    seen.add((gpu, other))
    parts.links.append(Link(gpu, other, lanes * per_link, latency, "NVL", lanes=lanes))
    if not any(other == name for name, _ in parts.gpus):
        parts.links.append(Link(other, gpu, lanes * per_link, latency, "NVL", lanes=lanes))


def _per_link(parts: _SystemParts, gpu: Element, tag: str) -> float:
    """B/s of one NVLink of this compute capability, or one xGMI link of this architecture."""
    if tag == "nvlink":
        sm = _whole(parts, gpu, "sm", 70, 0, 1 << 16)
        return next((rate for least, rate in reversed(NVLINK_BY_SM) if sm >= least), 18.0) * GBps
    return XGMI[_of_gcn(gpu)] * GBps


def _of_gcn(gpu: Element) -> Generation:
    """The generation of an architecture as RCCL writes it: gfx942, 942, or 910 for gfx90a."""
    code = gpu.attributes.get("gcn", "").lower().removeprefix("gfx")
    if code.startswith("95"):
        return "CDNA4"
    return "CDNA3" if code.startswith("94") else "CDNA2" if code in ("90a", "910") else "CDNA"


def _generation(parts: _SystemParts) -> Generation:
    """That of the oldest GPU, which NCCL goes by; empty where a GPU does not say it."""
    said: list[Generation] = [
        _of_gcn(gpu) if gpu.attributes.get("gcn", "").strip() else of_sm(_whole(parts, gpu, "sm", 0, 0, 1 << 16))
        for _, gpu in parts.gpus
    ]
    return "" if "" in said else min(said, key=GENERATIONS.index, default="")


def _switch(parts: _SystemParts, lanes: int) -> None:
    """All GPUs of a host on one NVSwitch, as a caller says."""
    if any(link.kind == "NVL" for link in parts.links):
        raise InputError("nccl_xml.nvlinks", file=parts.name)
    elements = dict(parts.gpus)
    rates: dict[float, None] = {}
    for host in sorted({device.host for device in parts.devices}):
        parts.host = host
        gpus = [device.name for device in parts.devices if device.kind == "GPU" and device.host == host]
        switch = parts.add("NVS", "NVS", -1)
        for gpu in gpus:
            usual = _per_link(parts, elements[gpu], "nvlink") if gpu in elements else 20 * GBps
            rate = parts.rate.get("nvlink", usual)
            parts.cable(gpu, switch, lanes * rate, parts.rate["nvlink_latency"] / 2, "NVL", lanes)
            rates[rate] = None
    each = " or ".join(map(fmt_bandwidth, rates))
    parts.notes[f"{lanes} NVLinks of {each} per GPU on an NVSwitch, as given"] = None


def _whole(parts: _SystemParts, element: Element, key: str, usual: int, low: int, high: int) -> int:
    """A whole number from an attribute. Raises InputError naming the line."""
    text = element.attributes.get(key, "")
    if not text.strip():
        return usual
    number = int(text, 16) if re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}", text) else whole(text)
    if number is None or not low <= number <= high:
        element.refuse(parts.name, "nccl_xml.whole", key=key, text=text, low=low, high=high)
    return number
