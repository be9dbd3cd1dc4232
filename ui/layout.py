"""Where every device stands on the stage, computed apart from drawing.

Positions are in units of about one device width; y grows downwards. Hosts are boxes that hold NUMA boxes, which
hold devices in tiers: CPUs, PCI switches, then GPUs and NICs side by side under the switch they hang on;
NVSwitches stand below the GPUs they join, and the network above all hosts. Machines that are nothing but GPUs,
or GPUs around one switch, stand in a circle.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
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


TIERS = (("CPU",), ("PCI",), ("GPU", "NIC"))
STEP = 1.5


def arrange(topology: Topology) -> Stage:
    """Place every device; no two overlap."""
    kinds = {d.kind for d in topology.devices}
    gpus = [i for i, d in enumerate(topology.devices) if d.kind == "GPU"]
    if kinds <= {"GPU", "NVS"} and len(gpus) <= CIRCLE and len(topology.devices) - len(gpus) <= 1:
        return _circle(topology.devices, gpus)
    return _hosts(topology.devices, _parents(topology))


def _parents(topology: Topology) -> dict[int, int]:
    """The PCI switch or CPU each device hangs on: the first it has a PCI link to, nearer the root."""
    depth = {"CPU": 0, "PCI": 1, "GPU": 2, "NIC": 2}
    parents: dict[int, int] = {}
    for link in topology.links:
        a, b = topology.index[link.src], topology.index[link.dst]
        above, below = (topology.devices[i].kind for i in (a, b))
        if link.kind == "PCI" and above in ("CPU", "PCI") and depth[above] <= depth.get(below, -1):
            parents.setdefault(b, a)
    return parents


def _circle(devices: Sequence[Device], gpus: list[int]) -> Stage:
    radius = max(2.0, len(gpus) * 1.75 / (2 * math.pi))
    middle = radius + 1.1
    x, y = [middle] * len(devices), [middle] * len(devices)
    for k, i in enumerate(gpus):
        turn = 2 * math.pi * k / len(gpus) - math.pi / 2
        x[i], y[i] = middle + radius * math.cos(turn), middle + radius * math.sin(turn)
    return Stage(x, y, [], 2 * middle, 2 * middle)


class _Piece(NamedTuple):
    """A part of the stage laid out on its own, from (0, 0): devices with their places, frames, size."""

    at: dict[int, tuple[float, float]]
    boxes: list[Box]
    width: float
    height: float


def _join(pieces: Sequence[_Piece], places: Sequence[tuple[float, float]], width: float, height: float) -> _Piece:
    """Several pieces put at their places."""
    at = {i: (x + dx, y + dy) for p, (dx, dy) in zip(pieces, places, strict=True) for i, (x, y) in p.at.items()}
    boxes = [b._replace(x=b.x + dx, y=b.y + dy) for p, (dx, dy) in zip(pieces, places, strict=True) for b in p.boxes]
    return _Piece(at, boxes, width, height)


def _frame(piece: _Piece, label: str, kind: str) -> _Piece:
    """The piece in a labelled box."""
    width, height = piece.width + 2 * PAD, piece.height + 2 * PAD + HEAD
    inner = _join([piece], [(PAD, PAD + HEAD)], width, height)
    return inner._replace(boxes=[Box(label, kind, 0.0, 0.0, width, height), *inner.boxes])


def _beside(pieces: Sequence[_Piece]) -> _Piece:
    """Pieces in a row, middles level."""
    height = max(p.height for p in pieces)
    places, left = [], 0.0
    for p in pieces:
        places.append((left, (height - p.height) / 2))
        left += p.width + GAP
    return _join(pieces, places, left - GAP, height)


def _above(pieces: Sequence[_Piece], gap: float = GAP) -> _Piece:
    """Pieces in a column, middles in line."""
    width = max(p.width for p in pieces)
    places, top = [], 0.0
    for p in pieces:
        places.append(((width - p.width) / 2, top))
        top += p.height + gap
    return _join(pieces, places, width, top - gap)


def _row(devices: Sequence[int], width: float = 0.0) -> _Piece:
    """Devices in one line, spread over a width."""
    width = max(width, len(devices) * STEP)
    return _Piece({i: (width * (k + 0.5) / len(devices), 0.5) for k, i in enumerate(devices)}, [], width, 1.0)


def _hosts(devices: Sequence[Device], parents: dict[int, int]) -> Stage:
    numbers = sorted({d.host for d in devices if d.kind != "NET"})
    net = [i for i, d in enumerate(devices) if d.kind == "NET"]
    framed = len(numbers) > 1 or bool(net)
    hosts = []
    for number in numbers:
        mine = [i for i, d in enumerate(devices) if d.host == number and d.kind != "NET"]
        piece = _host(devices, parents, mine, most=4 if len(numbers) > 2 else 8)
        hosts.append(_frame(piece, f"host {number}", "host") if framed else piece)
    even = [c for c in range(1, len(hosts) + 1) if len(hosts) % c == 0 or len(hosts) > 8]
    whole = min((_grid(hosts, columns) for columns in even), key=_misfit)
    if net:
        rails = [i for i in net if "RAIL" in devices[i].name]
        spine = [i for i in net if i not in rails]
        lines = [_row(line, whole.width * 0.8) for line in (spine, rails) if line]
        whole = _above([*lines, whole], 2 * GAP)
    x, y = ([whole.at[i][k] for i in range(len(devices))] for k in (0, 1))
    return Stage(x, y, whole.boxes, whole.width, whole.height)


def _misfit(piece: _Piece) -> float:
    """How far from twice as wide as high."""
    return abs(math.log(piece.width / piece.height / 2.0))


def _grid(pieces: Sequence[_Piece], columns: int) -> _Piece:
    return _above([_beside(pieces[k : k + columns]) for k in range(0, len(pieces), columns)])


def _host(devices: Sequence[Device], parents: dict[int, int], mine: list[int], most: int) -> _Piece:
    """One host: NUMA boxes side by side, or above and below where there are three or more, NVSwitches between.

    Without a CPU side: network cards, switches and GPUs, tier under tier.
    """
    switches = [i for i in mine if devices[i].kind == "NVS"]
    if not any(i in parents for i in mine):
        tiers = [[i for i in mine if devices[i].kind == kind] for kind in ("CPU", "NIC", "NVS", "GPU")]
        return _above([_row(line) for tier in tiers if tier for line in _lines(tier, most)])
    domains = sorted({devices[i].numa for i in mine if devices[i].kind != "NVS"})
    half = (len(domains) + 1) // 2 if len(domains) > 2 else len(domains)
    rows = []
    for number, part in enumerate((domains[:half], domains[half:])):
        if part:
            members = [[i for i in mine if devices[i].numa == d and devices[i].kind != "NVS"] for d in part]
            drawn = [_domain(devices, parents, m, upside_down=number == 1) for m in members]
            named = [_frame(p, f"NUMA {d}", "numa") if d >= 0 else p for p, d in zip(drawn, part, strict=True)]
            rows.append(_beside(named))
    if switches:
        rows.insert(1, _row(switches, max(r.width for r in rows) * len(switches) / (len(switches) + 1)))
    return _above(rows)


def _domain(devices: Sequence[Device], parents: dict[int, int], members: list[int], *, upside_down: bool) -> _Piece:
    """One NUMA domain, tier under tier; upside down the GPUs come first."""
    tiers = [sorted((i for i in members if devices[i].kind in k), key=_lineage(devices, parents)) for k in TIERS]
    lines = [line for tier in tiers if tier for line in _lines(tier, 16)]
    width = max(len(line) for line in lines) * STEP
    piece = _above([_row(line, width) for line in (reversed(lines) if upside_down else lines)])
    x = {i: place[0] for i, place in piece.at.items()}
    _centre(devices, parents, members, x)
    return piece._replace(at={i: (x[i], place[1]) for i, place in piece.at.items()})


def _lineage(devices: Sequence[Device], parents: dict[int, int]) -> Callable[[int], tuple[int, ...]]:
    """A sorting key that keeps the children of one switch together, GPUs before NICs."""

    def key(i: int) -> tuple[int, ...]:
        line = [i]
        while line[-1] in parents and len(line) < 8:
            line.append(parents[line[-1]])
        return (*reversed(line[1:]), int(devices[i].kind == "NIC"), i)

    return key


def _centre(devices: Sequence[Device], parents: dict[int, int], members: list[int], x: dict[int, float]) -> None:
    """Move every PCI switch above the middle of what hangs on it, where that leaves it clear of its neighbours."""
    switches = [i for i in members if devices[i].kind == "PCI"]
    wanted = {}
    for i in switches:
        below = [x[j] for j in members if parents.get(j) == i]
        wanted[i] = sum(below) / len(below) if below else x[i]
    places = sorted(wanted.values())
    if all(b - a >= STEP * 0.85 for a, b in pairwise(places)):
        x.update(wanted)


def _lines(tier: list[int], most: int) -> list[list[int]]:
    """A tier broken into lines of equal length, of at most `most` or about a square."""
    per_line = most if len(tier) <= 64 else math.ceil(math.sqrt(len(tier) * 2))
    count = math.ceil(len(tier) / per_line)
    size = math.ceil(len(tier) / count)
    return [tier[k : k + size] for k in range(0, len(tier), size)]
