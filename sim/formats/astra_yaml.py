"""Network files of ASTRA-sim's analytical backends (astra-sim/astra-network-analytical): dimensions of simple shapes.

A GB is 2^30 bytes there and latencies are per link in ns. NPUs count dimension 0 fastest; a message crosses the
dimensions in order, a ring the shorter way, a switch up and down.
"""

import math
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.numbers import real, whole
from sim.base.pasted import bare_lines
from sim.base.size import room_for
from sim.base.yaml import YamlNode, parse_yaml
from sim.formats import reader
from sim.topology import Device, Ints, Link, LinkKind, Router, Routes, Topology
from sim.topology.routing import pack, with_fallback
from sim.units import LARGEST_BANDWIDTH, LARGEST_TIME, GiB, Time, ns

KEYS = ("topology", "npus_count", "bandwidth", "latency")
SHAPES = ("Ring", "FullyConnected", "Switch")
_MARK = re.compile(r"^[ \t]*[\"']?npus_count[\"']?[ \t]*:", re.MULTILINE)
_OLD = re.compile(r"[\"']?(topology-name|dimensions-count|units-count)[\"']?\s*:")


class Dimension(NamedTuple):
    """One dimension: its shape and size, B/s and s per link, the distance of neighbours, the first of its links."""

    shape: str
    size: int
    bandwidth: float
    latency: float
    stride: int
    first: int

    @property
    def links(self) -> int:
        """How many links start at each NPU or end there from its switch."""
        if self.shape == "FullyConnected":
            return self.size - 1
        return 1 if self.shape == "Ring" and self.size == 2 else 2


def matches(text: str) -> bool:
    """Whether it counts NPUs."""
    return "npus_count" in text and _MARK.search(bare_lines(text)) is not None


def explain(text: str) -> str:
    """What an older network file is."""
    return "instead.astra_1" if _OLD.search(text) else ""


@reader("astra_yaml", "an ASTRA-sim network file", matches=matches, explain=explain, endings=("yml", "yaml"))
def read(text: str, *, name: str = "ASTRA-sim network", overhead: Time = 0.0, gamma: Time = 0.0) -> Topology:
    """The machine of a network file; each NPU is a GPU and a rank.

    Raises InputError naming the line for lists of different length, unknown shapes and impossible numbers.
    """
    dims = _dimensions(parse_yaml(text, name))
    n = math.prod(dim.size for dim in dims)
    inner = dims[0].size if len(dims) > 1 else n
    devices = [Device(f"GPU{i}", "GPU", host=i // inner) for i in range(n)]
    links: list[Link] = []
    for d, dim in enumerate(dims):
        kind: LinkKind = "NET" if d else "NVL"
        if dim.shape == "Switch":
            devices += [
                Device(f"SW{d}.{g}", "NET", host=-1)
                if d
                else Device(f"SW{d}.{g}", "NVS", host=g if len(dims) > 1 else 0)
                for g in range(n // dim.size)
            ]
        for i in range(n):
            links += [Link(src, dst, dim.bandwidth, dim.latency, kind) for src, dst in _links_of(d, dim, i)]
    topology = Topology(
        name, tuple(devices), tuple(links), overhead=overhead, gamma=gamma, forwarding=True, assumed=_notes(dims)
    )
    npus = np.array([device.kind == "GPU" for device in devices])
    return topology.but(router=with_fallback(topology, _router(dims), npus))


def _notes(dims: list[Dimension]) -> tuple[str, ...]:
    notes = [
        "1 GB is 2^30 bytes and latency counts per link, as in ASTRA-sim",
        "messages share links, as in its congestion-aware backend",
    ]
    if len(dims) > 1:
        notes.append(f"dimension 0 is taken as a host of {dims[0].size} GPUs, the others as the network between hosts")
    return tuple(notes)


def _dimensions(root: YamlNode) -> list[Dimension]:
    said = root.mapping("the file", KEYS)
    missing = next((key for key in KEYS if key not in said), None)
    if missing is not None:
        root.refuse("astra.no_key", key=missing)
    lists = {key: said[key].items(key) for key in KEYS}
    for key, values in lists.items():
        if len(values) != len(lists["topology"]) or not values:
            said[key].refuse("astra.entries", key=key, entries=len(values), dimensions=len(lists["topology"]))
    dims: list[Dimension] = []
    stride, first = 1, 0
    n = 1
    sizes = [_size(node) for node in lists["npus_count"]]
    for size, node in zip(sizes, lists["npus_count"], strict=True):
        n *= size
        room_for(n, f"{node.name}, line {node.line}")
    for shape, size, rate, wait in zip(lists["topology"], sizes, lists["bandwidth"], lists["latency"], strict=True):
        word = shape.text("a topology")
        if word not in SHAPES:
            shape.refuse("topology.shape", shape=word, choices=SHAPES)
        bandwidth = _number(rate, "bandwidth", "50.0") * GiB
        latency = _number(wait, "latency", "500.0") * ns
        if not 1 <= bandwidth <= LARGEST_BANDWIDTH or not 0 <= latency <= LARGEST_TIME:
            (wait if 1 <= bandwidth <= LARGEST_BANDWIDTH else rate).refuse("astra.rates")
        dim = Dimension(word, size, bandwidth, latency, stride, first)
        dims.append(dim)
        stride, first = stride * size, first + n * dim.links
        room_for(n, f"{shape.name}, line {shape.line}", first)
    return dims


def _size(node: YamlNode) -> int:
    text = node.text("npus_count")
    size = whole(text)
    if size is None or size < 2:
        node.refuse("astra.npus_count", text=text)
    return size


def _number(node: YamlNode, what: str, example: str) -> float:
    text = node.text(what)
    value = real(text)
    if value is None:
        node.refuse("astra.number", what=what, text=text, example=example)
    return value


def _links_of(d: int, dim: Dimension, i: int) -> list[tuple[str, str]]:
    """The links that NPU i adds in a dimension, `dim.links` of them."""
    at = i // dim.stride % dim.size
    if dim.shape == "Switch":
        group = i % dim.stride + i // (dim.stride * dim.size) * dim.stride
        return [(f"GPU{i}", f"SW{d}.{group}"), (f"SW{d}.{group}", f"GPU{i}")]
    steps = range(1, dim.size) if dim.shape == "FullyConnected" else (1, -1)[: dim.links]
    return [(f"GPU{i}", f"GPU{i + ((at + step) % dim.size - at) * dim.stride}") for step in steps]


def _router(dims: list[Dimension]) -> Router:
    """Dimension after dimension."""

    def route(src: Ints, dst: Ints) -> Routes:
        here = src.astype(np.int64)
        columns: list[NDArray[np.int64]] = []
        for dim in dims:
            at, target = here // dim.stride % dim.size, dst // dim.stride % dim.size
            far = (target - at) % dim.size
            onward = here + (target - at) * dim.stride
            if dim.shape == "Switch":
                columns += [np.where(far, dim.first + 2 * here, -1), np.where(far, dim.first + 2 * onward + 1, -1)]
            elif dim.shape == "FullyConnected":
                columns.append(np.where(far, dim.first + here * dim.links + far - 1, -1))
            else:
                columns += _round(dim, here, at, far)
            here = onward
        return pack(np.stack(columns, axis=1).astype(np.int32))

    return route


def _round(
    dim: Dimension, here: NDArray[np.int64], at: NDArray[np.int64], far: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """One column per hop round a ring, upwards where both ways are as long."""
    down = (far > dim.size - far) & (dim.links == 2)
    hops = np.where(down, dim.size - far, far)
    columns = []
    for k in range(int(hops.max(initial=0))):
        place = (at + np.where(down, -k, k)) % dim.size
        node = here + (place - at) * dim.stride
        columns.append(np.where(k < hops, dim.first + node * dim.links + down, -1))
    return columns or [np.full(len(here), -1)]
