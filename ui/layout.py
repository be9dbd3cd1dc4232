"""Where every device stands on the stage and how every link runs, computed apart from drawing.

Positions are in units of about one device width; y grows downwards. Hosts are boxes that hold NUMA boxes, which
hold the tree of CPUs and PCI switches with GPUs and NICs as its leaves. NVSwitches stand between the GPUs they
join, the network between the hosts. Machines that are nothing but GPUs, or GPUs around one switch, stand in a
circle, or along the sides of a rectangle when they are many.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.topology import Device, Topology

SIZES = {
    "GPU": (1.2, 0.95),
    "NVS": (1.5, 0.55),
    "PCI": (1.0, 0.46),
    "CPU": (1.1, 0.6),
    "NIC": (0.9, 0.46),
    "NET": (1.9, 0.6),
}
"""Width and height of every kind of device."""
CIRCLE, SIDES = 16, 96
"""Up to this many GPUs a machine without a CPU side is drawn as a circle, as a rectangle."""
ASPECT = 1.35
"""Width over height of the stage, about."""
GAP, PAD, HEAD, STEP = 0.55, 0.5, 0.55, 1.5
AISLE = 1.7
"""Room between rows of boxes that links between them cross."""
BENDS = (0.0, 0.5, -0.5, 0.9, -0.9, 1.3, -1.3, 1.8, -1.8, 2.4, -2.4, 3.2, -3.2, 4.2, -4.2, 5.4, -5.4, 6.8, -6.8)
"""How far from the straight line a link may run, in the order tried."""
TRIED = 300
"""On machines of more devices than this all links are straight."""


class Box(NamedTuple):
    """A frame around devices that belong together; its label is at the top, or at the foot."""

    label: str
    kind: str
    x: float
    y: float
    width: float
    height: float
    foot: bool


class Stage(NamedTuple):
    """Centres of all devices, frames, the size of the whole, and how far every link bends to its right."""

    x: list[float]
    y: list[float]
    boxes: list[Box]
    width: float
    height: float
    bends: list[float]


class _Piece(NamedTuple):
    """A part of the stage laid out on its own, from (0, 0): devices with their places, frames, size."""

    at: dict[int, tuple[float, float]]
    boxes: list[Box]
    width: float
    height: float

    @property
    def scale(self) -> float:
        """How large one unit can be drawn on a stage of height 1."""
        return min(ASPECT / self.width, 1 / self.height)


def arrange(topology: Topology) -> Stage:
    """Place every device, so that no two overlap, and bend links round devices that are in their way."""
    kinds = {d.kind for d in topology.devices}
    gpus = [i for i, d in enumerate(topology.devices) if d.kind == "GPU"]
    if kinds <= {"GPU", "NVS"} and len(gpus) <= SIDES and len(topology.devices) - len(gpus) <= 1:
        whole = _around(topology.devices, gpus)
    else:
        whole = _hosts(topology)
    x, y = ([whole.at[i][k] for i in range(len(topology.devices))] for k in (0, 1))
    return Stage(x, y, whole.boxes, whole.width, whole.height, _bends(topology, np.array(x), np.array(y)))


def _around(devices: Sequence[Device], gpus: list[int]) -> _Piece:
    """GPUs in a circle or along a rectangle, clockwise from the top; a switch in the middle."""
    bare = len(gpus) == len(devices)
    if len(gpus) <= CIRCLE:
        radius = max(2.0, len(gpus) * (2.2 if bare else 1.75) / (2 * math.pi))
        turns = [2 * math.pi * k / len(gpus) - math.pi / 2 for k in range(len(gpus))]
        spots = [(radius * math.cos(turn), radius * math.sin(turn)) for turn in turns]
        half = (radius + 1.1, radius + 1.1)
    else:
        across = math.ceil(len(gpus) * 0.26)
        down = math.ceil(len(gpus) / 2) - across
        wide, high = (1.9, 1.6) if bare else (1.4, 1.25)
        half = (across * wide / 2 + 1.4, down * high / 2 + 1.2)
        top = [((k - (across - 1) / 2) * wide, -half[1] + 0.6) for k in range(across)]
        side = [(half[0] - 0.7, (k - (down - 1) / 2) * high) for k in range(down)]
        spots = [*top, *side, *[(-x, -y) for x, y in top], *[(-x, -y) for x, y in side]][: len(gpus)]
    at = dict.fromkeys(range(len(devices)), (half[0], half[1]))
    at |= {i: (half[0] + x, half[1] + y) for i, (x, y) in zip(gpus, spots, strict=True)}
    return _Piece(at, [], 2 * half[0], 2 * half[1])


def _join(pieces: Sequence[_Piece], places: Sequence[tuple[float, float]], width: float, height: float) -> _Piece:
    """Several pieces put at their places."""
    at = {i: (x + dx, y + dy) for p, (dx, dy) in zip(pieces, places, strict=True) for i, (x, y) in p.at.items()}
    boxes = [b._replace(x=b.x + dx, y=b.y + dy) for p, (dx, dy) in zip(pieces, places, strict=True) for b in p.boxes]
    return _Piece(at, boxes, width, height)


def _frame(piece: _Piece, label: str, kind: str, *, foot: bool = False) -> _Piece:
    """The piece in a labelled box."""
    width, height = piece.width + 2 * PAD, piece.height + 2 * PAD + HEAD
    inner = _join([piece], [(PAD, PAD if foot else PAD + HEAD)], width, height)
    return inner._replace(boxes=[Box(label, kind, 0.0, 0.0, width, height, foot), *inner.boxes])


def _turned(piece: _Piece) -> _Piece:
    """The piece upside down; it must not hold frames, whose labels would turn with it."""
    return piece._replace(at={i: (x, piece.height - y) for i, (x, y) in piece.at.items()})


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


def _parted(devices: Sequence[int]) -> _Piece:
    """Devices in one line with a way through its middle."""
    half = len(devices) // 2
    return _beside([_row(part) for part in (devices[:half], devices[half:]) if part])


def _hosts(topology: Topology) -> _Piece:
    devices, parents = topology.devices, _parents(topology)
    numbers = sorted({d.host for d in devices if d.kind != "NET"})
    net = [i for i, d in enumerate(devices) if d.kind == "NET"]
    framed = len(numbers) > 1 or bool(net)
    each = {n: [i for i, d in enumerate(devices) if d.host == n and d.kind != "NET"] for n in numbers}
    most = 4 if len(numbers) > 2 else 8

    def drawn(part: Sequence[int], *, turned: bool) -> list[_Piece]:
        pieces = [_host(devices, parents, each[n], most, turned=turned) for n in part]
        return [
            _frame(p, f"host {n}", "host", foot=bool(net) and not turned) if framed else p
            for p, n in zip(pieces, part, strict=True)
        ]

    def shaped(columns: int) -> _Piece:
        lines = [numbers[k : k + columns] for k in range(0, len(numbers), columns)]
        upper = len(lines) // 2 if net else 0
        rows = [_beside(drawn(line, turned=k < upper)) for k, line in enumerate(lines)]
        width = max(r.width for r in rows)
        middle = [_row(line, width * 0.8) for line in _network(devices, net)]
        return _above([*rows[:upper], *middle, *rows[upper:]], AISLE if net else GAP)

    def worth(columns: int) -> float:
        return shaped(columns).scale * (0.7 if net and len(numbers) > 2 * columns else 1.0)  # cables cross inner rows

    even = [c for c in range(1, len(numbers) + 1) if len(numbers) % c == 0]
    return shaped(max(even if len(even) > 2 or len(numbers) < 8 else range(1, len(numbers) + 1), key=worth))


def _network(devices: Sequence[Device], net: list[int]) -> list[list[int]]:
    """Network switches in lines: the spine, then the rails."""
    rails = [i for i in net if "RAIL" in devices[i].name]
    spine = [i for i in net if i not in rails]
    return [line for tier in (spine, rails) if tier for line in _lines(tier, 16)]


def _parents(topology: Topology) -> dict[int, int]:
    """The device each device hangs on in the tree of PCI links, whose roots are CPUs."""
    near: dict[int, list[int]] = {}
    for link in topology.links:
        if link.kind == "PCI":
            a, b = topology.index[link.src], topology.index[link.dst]
            near.setdefault(a, []).append(b)
            near.setdefault(b, []).append(a)
    parents: dict[int, int] = {}
    seen: set[int] = set()
    for root in sorted(near, key=lambda i: (topology.devices[i].kind != "CPU", topology.devices[i].kind != "PCI", i)):
        if root in seen:
            continue
        seen.add(root)
        waiting = deque([root])
        while waiting:
            at = waiting.popleft()
            for below in near[at]:
                if below not in seen:
                    seen.add(below)
                    parents[below] = at
                    waiting.append(below)
    return parents


def _host(
    devices: Sequence[Device], parents: dict[int, int], mine: list[int], most: int, *, turned: bool = False
) -> _Piece:
    """One host: its NUMA boxes in one row or two, whichever can be drawn larger, NVSwitches between.

    Without a CPU side: network cards above GPUs and switches. Turned, the network cards are below.
    """
    switches = [i for i in mine if devices[i].kind == "NVS"]
    if not any(devices[i].kind in ("CPU", "PCI") for i in mine):
        cards, gpus = ([i for i in mine if devices[i].kind == kind] for kind in ("NIC", "GPU"))
        rows = [_row(line) for line in _lines(gpus, most)]
        if switches:
            upper = len(rows) // 2
            near = [_parted(line) for line in _lines(gpus, most)[:upper]]
            rows = [*near, *map(_row, _lines(switches, most)), *rows[upper:]]
        piece = _above([*map(_row, _lines(cards, most)), *rows] if cards else rows)
        return _turned(piece) if turned else piece
    domains: dict[int, list[int]] = {}
    for i in sorted(mine, key=lambda i: (devices[i].kind != "GPU", i)):
        if devices[i].kind != "NVS":
            domains.setdefault(devices[i].numa, []).append(i)

    def shaped(rows: int) -> _Piece:
        numbers = list(domains)
        half = math.ceil(len(numbers) / rows)
        lines = []
        for k in range(0, len(numbers), half):
            part = numbers[k : k + half]
            drawn = [_domain(devices, parents, domains[d], turned=k > 0) for d in part]
            named = [
                _frame(p, f"NUMA {d}", "numa", foot=k > 0) if d >= 0 else p for p, d in zip(drawn, part, strict=True)
            ]
            lines.append(_beside(named))
        if switches:
            lines.insert(1, _row(switches, max(r.width for r in lines) * len(switches) / (len(switches) + 1)))
        return _above(lines, GAP if switches else AISLE)

    return max((shaped(rows) for rows in (1, 2) if rows <= len(domains)), key=lambda p: p.scale)


def _domain(devices: Sequence[Device], parents: dict[int, int], members: list[int], *, turned: bool) -> _Piece:
    """One NUMA domain: a tree with every inner device above the middle of what hangs on it."""
    inside = set(members)
    children: dict[int, list[int]] = {}
    for i in members:
        children.setdefault(parents[i] if parents.get(i) in inside else -1, []).append(i)
    depth: dict[int, int] = {}

    def walk(i: int, level: int) -> list[int]:
        depth[i] = level
        below = sorted(children.get(i, ()), key=lambda j: (devices[j].kind == "NIC", j))
        return [leaf for j in below for leaf in walk(j, level + 1)] or [i]

    leaves = [leaf for root in children[-1] for leaf in walk(root, 0)]
    bottom = max(depth.values())
    rows = _lines(leaves, 16)
    at = {
        i: ((k + 0.5) * STEP * len(rows[0]) / len(row), bottom + r)
        for r, row in enumerate(rows)
        for k, i in enumerate(row)
    }
    for level in range(bottom - 1, -1, -1):
        inner = {
            i: sum(at[j][0] for j in children[i]) / len(children[i])
            for i in depth
            if depth[i] == level
            if i in children
        }
        right = -math.inf
        for i in sorted(inner, key=lambda i: inner[i]):
            right = max(inner[i], right + 1.15)
            at[i] = (right, level)
    tier = 1 + GAP
    reach = max((abs(at[i][0] - at[parents[i]][0]) for i in leaves if parents.get(i) in inside), default=0.0)
    drop = min(max(0.0, reach * 0.7 - tier), 1.0)  # far leaves hang lower, so that near ones are not in the way
    width = max(len(rows[0]) * STEP, max(x for x, _ in at.values()) + 0.7)
    places = {i: (x, 0.5 + y * tier + (drop if y >= bottom else 0)) for i, (x, y) in at.items()}
    piece = _Piece(places, [], width, (bottom + len(rows) - 1) * tier + 1 + drop)
    return _turned(piece) if turned else piece


def _lines(tier: list[int], most: int) -> list[list[int]]:
    """A tier broken into lines of equal length, of at most `most` or about a square."""
    per_line = most if len(tier) <= 64 else math.ceil(math.sqrt(len(tier) * 2))
    count = math.ceil(len(tier) / per_line)
    size = math.ceil(len(tier) / count)
    return [tier[k : k + size] for k in range(0, len(tier), size)]


def _bends(topology: Topology, x: NDArray[np.float64], y: NDArray[np.float64]) -> list[float]:
    """For every link how far its middle runs to the right of the straight line, so that it meets no other device."""
    if len(topology.devices) > TRIED:
        return [0.0] * len(topology.links)
    half = np.array([SIZES[d.kind] for d in topology.devices]) / 2 + 0.08
    src, dst = topology.ends
    found: dict[tuple[int, int], float] = {}
    for a, b in zip(src.tolist(), dst.tolist(), strict=True):
        pair = (min(a, b), max(a, b))
        if "NET" in (topology.devices[a].kind, topology.devices[b].kind):
            found[pair] = 0.0  # cables between hosts run above everything
        if pair not in found:
            others = np.ones(len(x), bool)
            others[[a, b]] = False
            found[pair] = _bend(pair, x, y, half[others], others)
    return [found[min(a, b), max(a, b)] * (1 if a < b else -1) for a, b in zip(src.tolist(), dst.tolist(), strict=True)]


def _bend(
    pair: tuple[int, int],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    half: NDArray[np.float64],
    others: NDArray[np.bool_],
) -> float:
    """The first of BENDS that clears all other devices, or the one that meets fewest."""
    u = np.linspace(0, 1, 25)
    (ax, bx), (ay, by) = x[list(pair)], y[list(pair)]
    length = math.hypot(bx - ax, by - ay) or 1.0
    hits = []
    for bend in BENDS:
        sag = bend * 4 * u * (1 - u) / length
        px, py = ax + (bx - ax) * u - (by - ay) * sag, ay + (by - ay) * u + (bx - ax) * sag
        near = (abs(px[:, None] - x[others]) < half[:, 0]) & (abs(py[:, None] - y[others]) < half[:, 1])
        hits.append(int(near.any(axis=0).sum()))
        if not hits[-1]:
            return bend
    return BENDS[hits.index(min(hits))]
