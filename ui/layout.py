"""Where every device stands on the stage, computed apart from drawing.

Positions are in units of one device width; y grows downwards. Hosts are boxes that hold NUMA boxes, which hold
devices in tiers: CPU, PCI switches, GPUs with their NICs; NVSwitches stand below the GPUs they join, and the
network above all hosts. Machines that are nothing but GPUs, or GPUs around one switch, stand in a circle.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from sim.topology import Device, Topology

CIRCLE = 16
"""Up to this many GPUs a machine without a CPU side is drawn as a circle."""
GAP, PAD, HEAD = 0.55, 0.5, 0.55


class Box(NamedTuple):
    """A frame around devices that belong together."""

    label: str
    kind: str
    x: float
    y: float
    width: float
    height: float


class Stage(NamedTuple):
    """Centres of all devices, frames, and the size of the whole."""

    x: list[float]
    y: list[float]
    boxes: list[Box]
    width: float
    height: float


TIERS = ("CPU", "PCI", "NIC", "GPU", "NVS")


def arrange(topology: Topology) -> Stage:
    """Place every device; no two overlap."""
    kinds = {d.kind for d in topology.devices}
    gpus = [i for i, d in enumerate(topology.devices) if d.kind == "GPU"]
    if kinds <= {"GPU", "NVS"} and len(gpus) <= CIRCLE and len(topology.devices) - len(gpus) <= 1:
        return _circle(topology.devices, gpus)
    return _hosts(topology.devices)


def _circle(devices: Sequence[Device], gpus: list[int]) -> Stage:
    radius = max(2.0, len(gpus) * 1.75 / (2 * math.pi))
    middle = radius + 1.1
    x, y = [middle] * len(devices), [middle] * len(devices)
    for k, i in enumerate(gpus):
        turn = 2 * math.pi * k / len(gpus) - math.pi / 2
        x[i], y[i] = middle + radius * math.cos(turn), middle + radius * math.sin(turn)
    return Stage(x, y, [], 2 * middle, 2 * middle)


def _hosts(devices: Sequence[Device]) -> Stage:
    x, y = [0.0] * len(devices), [0.0] * len(devices)
    boxes: list[Box] = []
    net = [i for i, d in enumerate(devices) if d.kind == "NET"]
    top = 1.6 if net else 0.0
    numbers = sorted({d.host for i, d in enumerate(devices) if d.kind != "NET"})
    columns = _columns(numbers, devices)
    left, row_top, row_height, width = 0.0, top, 0.0, 0.0
    for k, host in enumerate(numbers):
        if k and k % columns == 0:
            left, row_top, row_height = 0.0, row_top + row_height + GAP, 0.0
        mine = [i for i, d in enumerate(devices) if d.host == host and d.kind != "NET"]
        w, h = _host(devices, mine, host, left, row_top, x, y, boxes, framed=len(numbers) > 1 or bool(net))
        left += w + GAP
        width, row_height = max(width, left - GAP), max(row_height, h)
    for k, i in enumerate(net):
        x[i], y[i] = width * (k + 0.5) / len(net), 0.7
    return Stage(x, y, boxes, width, row_top + row_height)


def _columns(hosts: list[int], devices: Sequence[Device]) -> int:
    """How many hosts stand side by side, so that the whole is about twice as wide as high."""
    if len(hosts) <= 4:
        return len(hosts)
    per_host = max(1, sum(d.kind == "GPU" for d in devices) // len(hosts))
    return max(2, math.ceil(math.sqrt(len(hosts) * 5.0 / max(2, per_host))))


def _host(
    devices: Sequence[Device],
    mine: list[int],
    host: int,
    left: float,
    top: float,
    x: list[float],
    y: list[float],
    boxes: list[Box],
    *,
    framed: bool,
) -> tuple[float, float]:
    """Place one host's devices; returns its width and height."""
    pad = PAD if framed else 0.0
    head = HEAD if framed else 0.0
    domains = sorted({devices[i].numa for i in mine if devices[i].kind != "NVS"})
    inner = left + pad
    deepest = 0.0
    for domain in domains:
        members = [i for i in mine if devices[i].numa == domain and devices[i].kind != "NVS"]
        w, h = _domain(devices, members, domain, inner, top + head + pad, x, y, boxes)
        inner += w + GAP
        deepest = max(deepest, h)
    width = inner - GAP + pad - left
    switches = [i for i in mine if devices[i].kind == "NVS"]
    bottom = top + head + pad + deepest
    if switches:
        room = width - 2 * pad
        for k, i in enumerate(switches):
            x[i], y[i] = left + pad + room * (k + 0.5) / len(switches), bottom + GAP + 0.5
        bottom += GAP + 1.0
    height = bottom + pad - top
    if framed:
        boxes.append(Box(f"host {host}", "host", left, top, width, height))
    return width, height


def _domain(
    devices: Sequence[Device],
    members: list[int],
    domain: int,
    left: float,
    top: float,
    x: list[float],
    y: list[float],
    boxes: list[Box],
) -> tuple[float, float]:
    """Place one NUMA domain's devices, tier under tier; returns its width and height."""
    framed = domain >= 0
    pad, head = (PAD, HEAD) if framed else (0.0, 0.0)
    tiers = [[i for i in members if devices[i].kind == kind] for kind in TIERS]
    tiers = [line for tier in tiers if tier for line in _lines(tier)]
    widest = max(len(tier) for tier in tiers)
    step = 1.35
    width = widest * step + 2 * pad
    row = top + head + pad + 0.5
    for tier in tiers:
        for k, i in enumerate(tier):
            x[i] = left + pad + (widest * step) * (k + 0.5) / len(tier)
            y[i] = row
        row += 1.0 + GAP
    height = row - GAP - 0.5 + pad - top
    if framed:
        boxes.append(Box(f"NUMA {domain}", "numa", left, top, width, height))
    return width, height


def _lines(tier: list[int]) -> list[list[int]]:
    """A tier broken into lines of at most eight."""
    per_line = 8 if len(tier) <= 64 else math.ceil(math.sqrt(len(tier) * 2))
    count = math.ceil(len(tier) / per_line)
    size = math.ceil(len(tier) / count)
    return [tier[k : k + size] for k in range(0, len(tier), size)]
