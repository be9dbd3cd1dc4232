"""The document of a drawing: hosts, devices, links and classes of links, as the browser sends it, and its YAML.

A class has a kind of link and the rates of all its links. Positions are for the picture alone.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from sim.base.yaml import quote
from sim.errors import InputError
from sim.formats.ringside_yaml.reader import VERSION
from sim.topology import DeviceKind, LinkKind

Part = TypeVar("Part")
OUTSIDE = 0
"""The host of a device outside of all hosts."""
LONGEST = 60
"""Characters of a name or a rate."""
FARTHEST = 100_000
"""Pixels from the corner of a drawing."""
MOST = {"hosts": 64, "devices": 2000, "links": 8000, "classes": 32}
"""The most of each part; a larger machine is easier to write than to draw."""
LARGEST = 1 << 20
"""Characters of a drawing's JSON."""
_MOST_ID = 1 << 30


@dataclass(frozen=True)
class DrawnHost:
    """A frame around devices."""

    id: int
    name: str
    x: float
    y: float


@dataclass(frozen=True)
class DrawnDevice:
    """A device of a host, or of none; its place is counted from the corner of its host's frame."""

    id: int
    kind: DeviceKind
    name: str
    host: int
    x: float
    y: float


@dataclass(frozen=True)
class LinkClass:
    """What the links of a class share. Rates are texts like `25GBps`; empty ones are missing."""

    id: int
    name: str
    kind: LinkKind
    bandwidth: str
    latency: str
    lanes: int


@dataclass(frozen=True)
class DrawnLink:
    """A link between two devices, by their ids."""

    id: int
    src: int
    dst: int
    group: int


@dataclass(frozen=True)
class MachineDrawing:
    """A machine as it is drawn."""

    name: str
    hosts: tuple[DrawnHost, ...] = ()
    devices: tuple[DrawnDevice, ...] = ()
    links: tuple[DrawnLink, ...] = ()
    classes: tuple[LinkClass, ...] = ()


def read_drawing(text: str) -> MachineDrawing:
    """The drawing that a JSON text describes. Raises InputError naming the part that is wrong."""
    if len(text) > LARGEST:
        raise InputError("draw.too_large", most=LARGEST)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("draw.damaged") from None
    values = _mapping(data, "drawing", ("name", *MOST))
    drawing = MachineDrawing(
        _text(values["name"], "name"),
        _parts(values, "hosts", _host),
        _parts(values, "devices", _device),
        _parts(values, "links", _link),
        _parts(values, "classes", _class),
    )
    _check_ids(drawing)
    return drawing


def _parts(values: Mapping[str, Any], name: str, read: Callable[[Any, str], Part]) -> tuple[Part, ...]:
    entries = values[name]
    if not isinstance(entries, list):
        raise InputError("draw.wrong", place=name, text=str(entries))
    if len(entries) > MOST[name]:
        raise InputError("draw.too_many", place=name, count=len(entries), most=MOST[name])
    return tuple(read(entry, f"{name}[{k}]") for k, entry in enumerate(entries))


def _host(entry: Any, place: str) -> DrawnHost:
    values = _mapping(entry, place, ("id", "name", "x", "y"))
    x, y = (_pixels(values[key], f"{place}.{key}") for key in ("x", "y"))
    return DrawnHost(_id(values["id"], f"{place}.id"), _text(values["name"], f"{place}.name"), x, y)


def _device(entry: Any, place: str) -> DrawnDevice:
    values = _mapping(entry, place, ("id", "kind", "name", "host", "x", "y"))
    kind = _choice(values["kind"], f"{place}.kind", get_args(DeviceKind))
    x, y = (_pixels(values[key], f"{place}.{key}") for key in ("x", "y"))
    number = _id(values["id"], f"{place}.id")
    host = _id(values["host"], f"{place}.host", OUTSIDE)
    return DrawnDevice(number, kind, _text(values["name"], f"{place}.name"), host, x, y)


def _link(entry: Any, place: str) -> DrawnLink:
    values = _mapping(entry, place, ("id", "from", "to", "class"))
    return DrawnLink(*(_id(values[key], f"{place}.{key}") for key in ("id", "from", "to", "class")))


def _class(entry: Any, place: str) -> LinkClass:
    values = _mapping(entry, place, ("id", "name", "kind", "bandwidth", "latency", "lanes"))
    kind = _choice(values["kind"], f"{place}.kind", get_args(LinkKind))
    name, bandwidth, latency = (_text(values[key], f"{place}.{key}") for key in ("name", "bandwidth", "latency"))
    lanes = _id(values["lanes"], f"{place}.lanes")
    return LinkClass(_id(values["id"], f"{place}.id"), name, kind, bandwidth, latency, lanes)


def _mapping(entry: Any, place: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise InputError("draw.wrong", place=place, text=str(entry))
    for key in (*entry, *keys):
        if key not in keys or key not in entry:
            raise InputError("draw.keys", place=place, key=str(key), names=keys)
    return entry


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or len(value) > LONGEST or not value.isprintable():
        raise InputError("draw.text", place=place, text=str(value), most=LONGEST)
    return value.strip()


def _id(value: Any, place: str, least: int = 1) -> int:
    if type(value) is not int or not least <= value <= _MOST_ID:
        raise InputError("draw.wrong", place=place, text=str(value))
    return value


def _pixels(value: Any, place: str) -> float:
    if type(value) not in (int, float) or abs(value) > FARTHEST or not math.isfinite(value):
        raise InputError("draw.wrong", place=place, text=str(value))
    return float(value)


def _choice(value: Any, place: str, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise InputError("draw.choice", place=place, text=str(value), choices=choices)
    return value


def _check_ids(drawing: MachineDrawing) -> None:
    """Raise InputError for an id that two parts have, or that no part has."""
    ids: dict[str, set[int]] = {}
    for what in MOST:
        parts = getattr(drawing, what)
        ids[what] = {part.id for part in parts}
        if len(ids[what]) < len(parts):
            raise InputError("draw.twice", place=what)
    for device in drawing.devices:
        if device.host not in ids["hosts"] | {OUTSIDE}:
            raise InputError("draw.no_part", place=f"devices: {device.name}", what="hosts", number=device.host)
    for link in drawing.links:
        for what, number in (("devices", link.src), ("devices", link.dst), ("classes", link.group)):
            if number not in ids[what]:
                raise InputError("draw.no_part", place=f"links: {link.id}", what=what, number=number)


class YamlText:
    """The machine's text in Ringside's YAML, and which part each of its lines describes."""

    def __init__(self, drawing: MachineDrawing, links: tuple[DrawnLink, ...] | None = None) -> None:
        self.parts: dict[int, DrawnDevice | DrawnLink] = {}
        self._lines = [f"ringside: {VERSION}"]
        if drawing.name:
            self._lines.append(f"name: {quote(drawing.name)}")
        self._write_devices(drawing)
        self._write_links(drawing, drawing.links if links is None else links)

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self._lines) + "\n"

    def _add(self, part: DrawnDevice | DrawnLink, keys: Mapping[str, str]) -> None:
        said = ", ".join(f"{key}: {value}" for key, value in keys.items())
        self._lines.append(f"  - {{{said}}}")
        self.parts[len(self._lines)] = part

    def _write_devices(self, drawing: MachineDrawing) -> None:
        numbers = {host.id: k for k, host in enumerate(drawing.hosts)}
        sockets = numa_nodes(drawing)
        self._lines.append("devices:" if drawing.devices else "devices: []")
        for device in in_order(drawing):
            keys = {"name": quote(device.name), "kind": device.kind}
            if device.id in sockets:
                keys["numa"] = str(sockets[device.id])
            if number := numbers.get(device.host, _host_outside(device, drawing)):
                keys["host"] = str(number)
            self._add(device, keys)

    def _write_links(self, drawing: MachineDrawing, links: tuple[DrawnLink, ...]) -> None:
        names = {device.id: device.name for device in drawing.devices}
        classes = {group.id: group for group in drawing.classes}
        self._lines.append("links:" if links else "links: []")
        for link in links:
            group = classes[link.group]
            keys = {"from": quote(names[link.src]), "to": quote(names[link.dst])}
            keys |= {key: quote(rate) for key in ("bandwidth", "latency") if (rate := getattr(group, key))}
            keys["kind"] = group.kind
            if group.lanes > 1:
                keys["lanes"] = str(group.lanes)
            self._add(link, keys)


def _host_outside(device: DrawnDevice, drawing: MachineDrawing) -> int:
    """The host of a device outside of all frames; without any frame the drawing is one host."""
    return 0 if not drawing.hosts and device.kind != "NET" else -1


ORDER: tuple[DeviceKind, ...] = ("GPU", "NIC", "NVS", "PCI", "CPU", "NET")
"""Kinds of devices in the order of a file."""


def in_order(drawing: MachineDrawing) -> list[DrawnDevice]:
    """Devices by host, kind and name, those outside last: so ranks follow names, whatever was drawn first."""
    numbers = {host.id: k for k, host in enumerate(drawing.hosts)}
    last = len(numbers)
    return sorted(
        drawing.devices,
        key=lambda device: (numbers.get(device.host, last), ORDER.index(device.kind), _natural(device.name)),
    )


def _natural(name: str) -> list[tuple[int, int, str]]:
    """A key by which GPU2 comes before GPU10."""
    parts = re.split(r"([0-9]+)", name)
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]


def numa_nodes(drawing: MachineDrawing) -> dict[int, int]:
    """The NUMA node of each device that PCIe joins to a CPU of its host; a host's nodes count from 0."""
    kinds = {group.id: group.kind for group in drawing.classes}
    host = {device.id: device.host for device in drawing.devices}
    neighbours: dict[int, list[int]] = {device.id: [] for device in drawing.devices}
    for link in drawing.links:
        if kinds[link.group] == "PCI" and host[link.src] == host[link.dst]:
            neighbours[link.src].append(link.dst)
            neighbours[link.dst].append(link.src)
    nodes: dict[int, int] = {}
    counts: dict[int, int] = {}
    for cpu in (device for device in in_order(drawing) if device.kind == "CPU" and device.id not in nodes):
        number = counts[cpu.host] = counts.get(cpu.host, -1) + 1
        todo = [cpu.id]
        while todo:
            here = todo.pop()
            if nodes.setdefault(here, number) == number:
                todo += [other for other in neighbours[here] if other not in nodes]
    return nodes
