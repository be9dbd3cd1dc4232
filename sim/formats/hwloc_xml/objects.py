"""What an hwloc file says of a machine: CPU domains, the PCI tree above GPUs and NICs, and matrices of link rates.

Versions 1 (NUMA nodes are levels of the tree), 2 and 3 (they are children beside it) come down to the same sets.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sim.base.numbers import real, whole
from sim.base.xml import Element

COMPUTE = ("CUDA", "NVML", "RSMI", "OpenCL", "LevelZero", "HIP")
"""OS devices that only a GPU to compute on has."""

MATRICES = ("NVLinkBandwidth", "XGMIBandwidth")
"""Distances in MB/s per direction, from row to column."""

GUIDS = ("NodeGUID", "SysImageGUID")
"""What only OS devices of OpenFabrics have: InfiniBand, RoCE, EFA."""

MOST_ENTRIES = 1024


@dataclass(slots=True, eq=False)
class Domain:
    """CPUs of one package and one NUMA node."""

    package: Element | None
    numa: int
    cpus: int


@dataclass(slots=True, eq=False)
class Port:
    """A PCI bridge or device that leads to a GPU or NIC; `speed` is that of its link upwards in B/s, 0 if unknown."""

    element: Element
    speed: float
    below: "list[Port]" = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The device it is: GPU, NIC or NVS; nothing for a bridge."""
        return pci_kind(self.element)


@dataclass(slots=True, eq=False)
class Bridge:
    """A host bridge: where PCI begins, and the domains its parent covers."""

    below: list[Port]
    domains: list[Domain]


@dataclass(slots=True)
class Objects:
    """A whole file; `name` is what messages call it."""

    name: str
    domains: list[Domain] = field(default_factory=list)
    bridges: list[Bridge] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    by_gp: dict[tuple[str, int | None], Element] = field(default_factory=dict)
    owner: dict[int, Element] = field(default_factory=dict)
    """By the id() of an OS device: the PCI device it belongs to."""
    info: dict[str, str] = field(default_factory=dict)
    version: int = 1
    """Types of OS devices are numbers before 3, bits since."""
    rates: dict[tuple[int, int], tuple[Element, Element, float]] = field(default_factory=dict)
    """By the id()s of two objects: both, and B/s from the one to the other."""
    matrices: set[str] = field(default_factory=set)
    """Those of `MATRICES` that the file has."""


def read_objects(root: Element, name: str) -> Objects:
    """Everything the file says. Raises InputError with the line for impossible numbers and broken matrices."""
    objects = Objects(name, version=whole(root.attributes.get("version", "1").partition(".")[0]) or 1)
    machines = [child for child in root.children if child.tag == "object"]
    if len(machines) != 1:
        root.refuse(name, "hwloc.no_machine")
    for element in walk(machines[0]):
        gp = element.attributes.get("gp_index", "")
        if (number := whole(gp)) is not None:
            objects.by_gp[element.attributes.get("type", ""), number] = element
        if element.attributes.get("type") == "Package" or element is machines[0]:
            objects.info = {**information(element), **objects.info}
    _domains(objects, machines[0])
    _bridges(objects, machines[0], machines[0])
    for matrix in root.children:
        if matrix.tag in ("distances2", "distances2hetero") and matrix.attributes.get("name") in MATRICES:
            _matrix(objects, matrix)
    return objects


def walk(element: Element) -> Iterator[Element]:
    """An object and all below it, in the order of the file."""
    open_now = [element]
    while open_now:
        here = open_now.pop()
        yield here
        open_now += [child for child in reversed(here.children) if child.tag == "object"]


def information(element: Element) -> dict[str, str]:
    """The <info> of an object."""
    pairs = (child.attributes for child in element.children if child.tag == "info")
    return {pair.get("name", ""): pair.get("value", "") for pair in pairs}


def pci_kind(element: Element) -> str:
    """GPU, NIC, NVS, DISPLAY for an adapter that is only a screen's, or nothing.

    PCI classes: 02xx networks, 0c06 InfiniBand as it was, 0302 3D controllers, 12xx accelerators, 0300 and 0380
    displays, which are GPUs to compute on when NVIDIA's or when a compute library knows them.
    """
    if element.attributes.get("type") != "PCIDev":
        return ""
    match = re.match(r"\s*([0-9a-fA-F]{4})\s*(?:\[([0-9a-fA-F]{4}):)?", element.attributes.get("pci_type", ""))
    number, vendor = (match[1].lower(), (match[2] or "").lower()) if match else ("", "")
    if element.attributes.get("subtype") == "NVSwitch" or (number == "0680" and vendor == "10de"):
        return "NVS"
    if number.startswith("02") or number == "0c06":
        return "NIC"
    is_gpu = any(_subtype(device) in COMPUTE for device in walk(element) if device is not element)
    if number == "0302" or number.startswith("12") or (number.startswith("03") and (is_gpu or vendor == "10de")):
        return "GPU"
    return "DISPLAY" if number.startswith("03") else ""


def _subtype(device: Element) -> str:
    """CUDA, NVML, …: said as such, as a Backend (version 3), or by the name (version 1)."""
    said = device.attributes.get("subtype") or information(device).get("Backend", "")
    if said:
        return said
    prefix = device.attributes.get("name", "").rstrip("0123456789")
    return {"cuda": "CUDA", "nvml": "NVML", "rsmi": "RSMI", "ze": "LevelZero"}.get(prefix, "")


def os_name(element: Element, subtypes: tuple[str, ...] = ()) -> str:
    """The name of a device's first OS device, or of its first of some subtypes."""
    names = (
        d.attributes.get("name", "")
        for d in walk(element)
        if d is not element and (not subtypes or _subtype(d) in subtypes)
    )
    return next(names, "")


def fabric_name(objects: Objects, element: Element) -> str:
    """The name of an InfiniBand or RoCE device, like mlx5_0: the OS device of that type, with GUIDs, or called so."""
    for device in walk(element):
        name = device.attributes.get("name", "")
        number = whole(device.attributes.get("osdev_type", "")) or 0
        is_fabric = number & 32 if objects.version >= 3 else number == 3
        if device is not element and (
            is_fabric
            or not information(device).keys().isdisjoint(GUIDS)
            or re.match(r"(mlx|hfi|bnxt_re|irdma|efa|qib)\w*\d", name)
        ):
            return name
    return ""


def _domains(objects: Objects, machine: Element) -> None:
    elements = list(walk(machine))
    packages: list[Element | None] = [o for o in elements if o.attributes.get("type") in ("Package", "Socket")]
    nodes = [o for o in elements if o.attributes.get("type") == "NUMANode"]
    whole = _set(objects, machine, "cpuset")
    for package in packages or [None]:
        inside = whole if package is None else _set(objects, package, "cpuset")
        taken = 0
        for node in _narrowest_first(objects, nodes, package):
            cpus = inside & _set(objects, node, "cpuset")
            if cpus & ~taken:
                taken |= cpus
                objects.domains.append(Domain(package, _number(objects, node, "os_index"), cpus))
        if inside & ~taken and not taken:
            objects.domains.append(Domain(package, -1, inside))
    numbers = {domain.numa for domain in objects.domains}
    bare = [number for node in nodes if (number := _number(objects, node, "os_index")) not in numbers]
    if bare:
        objects.notes.append(
            f"NUMA nodes {', '.join(map(str, sorted(bare)))} have no CPUs of their own (memory alone): left out"
        )


def _narrowest_first(objects: Objects, nodes: list[Element], package: Element | None) -> list[Element]:
    """NUMA nodes in the order in which they take CPUs: those of few before those around them, the package's own first.

    A node that covers the machine, like CXL memory, has only the CPUs that no nearer one has.
    """
    own = {id(element) for element in walk(package)} if package is not None else set()

    def order(node: Element) -> tuple[int, bool, bool]:
        special = node.attributes.get("subtype", "DRAM") not in ("", "DRAM")
        return _set(objects, node, "cpuset").bit_count(), id(node) not in own, special

    return sorted(nodes, key=order)


def _bridges(objects: Objects, element: Element, parent: Element) -> None:
    """Host bridges, each below the object whose CPUs are near to it."""
    for child in element.children:
        kind = child.attributes.get("type")
        if child.tag != "object":
            continue
        if kind in ("Bridge", "PCIDev"):
            host = kind == "Bridge" and child.attributes.get("bridge_type", "").startswith("0")
            below = [port for each in (child.children if host else [child]) if (port := _port(objects, each))]
            if below:
                objects.bridges.append(Bridge(below, _near(objects, parent)))
        else:
            _bridges(objects, child, child)


def _near(objects: Objects, parent: Element) -> list[Domain]:
    """The domains an object covers."""
    cpus = _set(objects, parent, "cpuset")
    near = [domain for domain in objects.domains if domain.cpus & cpus]
    return near or objects.domains


def _port(objects: Objects, element: Element) -> Port | None:
    """A bridge or device, if it leads to a GPU, NIC or NVSwitch."""
    kind = pci_kind(element)
    if kind == "DISPLAY":
        infos = information(element)
        what = f"{infos.get('PCIVendor', '')} {infos.get('PCIDevice', '')}".strip() or "unknown"
        objects.notes.append(
            f"display adapter {element.attributes.get('pci_busid', '')} ({what}) is no GPU to compute on: left out"
        )
        return None
    if element.attributes.get("type") == "Bridge":
        below = [port for child in element.children if child.tag == "object" and (port := _port(objects, child))]
        return Port(element, _speed(objects, element), below) if below else None
    if kind not in ("GPU", "NIC", "NVS"):
        return None
    for device in walk(element):
        objects.owner[id(device)] = element
    return Port(element, _speed(objects, element))


def _speed(objects: Objects, element: Element) -> float:
    """B/s of a link; hwloc gives GB/s of payload, 0 where the kernel does not tell."""
    text = element.attributes.get("pci_link_speed", "0")
    speed = real(text)
    if speed is None or not 0 <= speed < 1e6:
        element.refuse(objects.name, "hwloc.link_speed", text=text)
    return speed * 1e9


def _matrix(objects: Objects, matrix: Element) -> None:
    """A matrix of rates: its objects, then its rows one after the other, both cut into several elements."""
    name = f"{matrix.attributes.get('name')}"
    objects.matrices.add(name)
    words = [w for child in matrix.children if child.tag == "indexes" for w in child.text.split()]
    values = [whole(v) for child in matrix.children if child.tag == "u64values" for v in child.text.split()]
    n = len(words)
    if not 0 < n <= MOST_ENTRIES or len(values) != n * n or any(v is None or v < 0 for v in values):
        matrix.refuse(objects.name, "hwloc.values", name=name, objects=n, values=len(values), numbers=n * n)
    elements = [_object(objects, matrix, word) for word in words]
    for i, one in enumerate(elements):
        for j, other in enumerate(elements):
            rate = (values[i * n + j] or 0) * 1e6
            if rate and i != j:
                objects.rates[id(one), id(other)] = one, other, rate


def _object(objects: Objects, matrix: Element, word: str) -> Element:
    """The object an index names: `OSDev:332`, or a number alone where all are of one type."""
    kind, _, gp = word.rpartition(":")
    key = kind or matrix.attributes.get("type", ""), whole(gp)
    if key not in objects.by_gp:
        matrix.refuse(objects.name, "hwloc.no_object", word=word, name=matrix.attributes.get("name"))
    element = objects.by_gp[key]
    return objects.owner.get(id(element), element)


def _set(objects: Objects, element: Element, key: str) -> int:
    """A cpuset: 32-bit words, most significant first, an empty one 0. Without one, everything."""
    text = element.attributes.get(key)
    if text is None:
        return (1 << 4096) - 1
    words = text.split(",")
    if len(words) > 4096 or not all(re.fullmatch(r"(0x)?[0-9a-fA-F]{0,8}|0xf\.\.\.f", word) for word in words):
        element.refuse(objects.name, "hwloc.hexadecimal", key=key, text=text)
    bits = 0
    for word in words:
        digits = "ffffffff" if "..." in word else word.removeprefix("0x") or "0"
        bits = bits << 32 | int(digits, 16)
    return bits


def _number(objects: Objects, element: Element, key: str) -> int:
    text = element.attributes.get(key, "0")
    number = whole(text)
    if number is None or not 0 <= number < 10**6:
        element.refuse(objects.name, "hwloc.whole", key=key, text=text)
    return number
