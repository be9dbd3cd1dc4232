"""Where every device stands on the stage, computed apart from drawing.

Positions are in units of about one device width; y grows downwards. Hosts are boxes that hold NUMA boxes, which
hold devices in tiers: CPUs, PCI switches, then GPUs and NICs side by side under the switch they hang on;
NVSwitches are bars beside the GPUs they join, and the network stands between the hosts or above them. Machines that
are nothing but GPUs, or GPUs around one switch, stand in a ring, unless they are a grid; networks without hosts stand
in tiers.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

from sim.topology import Device, Topology
from ui.stage.algorithm_layout import MARGIN, OVAL
from ui.stage.boxes import (
    GAP,
    PAD,
    STEP,
    Bow,
    Piece,
    Stage,
    above,
    bars,
    beside,
    frame,
    in_lines,
    in_rows,
    misfit,
    row,
)
from ui.stage.network_layout import lattice, tiers

CIRCLE = 16
"""Up to this many GPUs a machine without a CPU side is drawn as a circle."""
TIERS = (("CPU",), ("PCI",), ("GPU", "NIC"))
APART = (("NIC",), ("CPU",), ("PCI",), ("GPU",))
"""Tiers of narrow hosts: GPUs alone next to the switches that join them."""
SLIM = 0.2
"""Room around what stands in a narrow host."""
RAGGED = 0.5
"""How much better rows of unequal length have to fit."""
FAR = 1 << 30


def arrange(topology: Topology) -> Stage:
    """Place every device; no two overlap."""
    kinds = {d.kind for d in topology.devices}
    gpus = [i for i, d in enumerate(topology.devices) if d.kind == "GPU"]
    grid = lattice(topology) or tiers(topology)
    if grid:
        return grid
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
    across, down = OVAL * radius + MARGIN, radius + MARGIN
    x, y = [across] * len(devices), [down] * len(devices)
    for k, i in enumerate(gpus):
        turn = 2 * math.pi * k / len(gpus) - math.pi / 2
        x[i], y[i] = across + OVAL * radius * math.cos(turn), down + radius * math.sin(turn)
    return Stage(x, y, [], 2 * across, 2 * down)


def _hosts(devices: Sequence[Device], parents: dict[int, int]) -> Stage:
    """Hosts in rows; what joins them in the middle, or above where they stand in one row."""
    shared = [i for i, d in enumerate(devices) if d.kind == "NVS" and d.host < 0]
    net = [i for i, d in enumerate(devices) if d.kind == "NET"]
    numbers = sorted({d.host for i, d in enumerate(devices) if d.kind != "NET" and i not in shared})
    framed = len(numbers) > 1 or bool(net)
    half = math.ceil(len(numbers) / 2)
    hosts = []
    for place, number in enumerate(numbers):
        inside = [i for i, d in enumerate(devices) if d.host == number and d.kind != "NET" and i not in shared]
        lower = bool(shared) and place >= half
        piece = _host(devices, parents, inside, slim=bool(shared), upside_down=lower)
        pad = SLIM if shared else PAD
        hosts.append(frame(piece, f"host {number}", "host", below=lower, pad=pad) if framed else piece)
    if shared:
        rows = [beside(hosts[:half]), *([beside(hosts[half:])] if hosts[half:] else [])]
        rows.insert(1, bars(shared, max(r.width for r in rows)))
        whole = above([*_network(devices, net, rows[0].width), *rows])
    else:
        whole = _with_network(devices, hosts, net)
    x, y = ([whole.at[i][k] for i in range(len(devices))] for k in (0, 1))
    bow = Bow(level=1.7) if whole.boxes else Bow()
    return Stage(x, y, whole.boxes, whole.width, whole.height, bow, whole.bars)


def _with_network(devices: Sequence[Device], hosts: Sequence[Piece], net: Sequence[int]) -> Piece:
    """Hosts in rows of one length where that is no strip, with the network above them or between two halves of rows."""
    sizes = range(1, len(hosts) + 1)
    columns = min(sizes, key=lambda c: misfit(in_rows(hosts, c)) + (RAGGED if len(hosts) % c else 0))
    lines = [beside(hosts[k : k + columns]) for k in range(0, len(hosts), columns)]
    if not net:
        return above(lines)
    between = len(lines) // 2
    return above([*lines[:between], *_network(devices, net, lines[0].width), *lines[between:]], 2 * GAP)


def _network(devices: Sequence[Device], net: Sequence[int], width: float) -> list[Piece]:
    """Switches between hosts: one tier above that of the rails."""
    rails = [i for i in net if "RAIL" in devices[i].name]
    spine = [i for i in net if i not in rails]
    return [row(line, width * 0.9) for line in (spine, rails) if line]


def _host(
    devices: Sequence[Device],
    parents: dict[int, int],
    inside: list[int],
    *,
    slim: bool = False,
    upside_down: bool = False,
) -> Piece:
    """One host: NUMA boxes side by side, or above and below where there are three or more, NVSwitches between.

    Boxes stand in the order of their GPUs. Without a CPU side: network cards, switches and GPUs, tier under tier.
    """
    switches = [i for i in inside if devices[i].kind == "NVS"]
    if not any(i in parents for i in inside):
        return _tiers(devices, inside)
    members: dict[int, list[int]] = defaultdict(list)
    for i in inside:
        if devices[i].kind != "NVS":
            members[devices[i].numa].append(i)
    domains = sorted(members, key=lambda d: (min((i for i in members[d] if devices[i].kind == "GPU"), default=FAR), d))
    half = (len(domains) + 1) // 2 if len(domains) > 2 and not slim else len(domains)
    rows = []
    for number, part in enumerate((domains[:half], domains[half:])):
        if part:
            turned = upside_down or number == 1
            drawn = [_domain(devices, parents, members[d], upside_down=turned, slim=slim) for d in part]
            pad = SLIM if slim else PAD
            rows.append(
                beside(
                    [
                        frame(p, f"NUMA {d}", "numa", below=turned, pad=pad) if d >= 0 else p
                        for p, d in zip(drawn, part, strict=True)
                    ]
                )
            )
    if switches:
        rows.insert(1, bars(switches, max(r.width for r in rows)))
    return above(rows)


def _tiers(devices: Sequence[Device], inside: Sequence[int]) -> Piece:
    """A host without a CPU side, its switches as wide as its GPUs."""
    tiers = [[i for i in inside if devices[i].kind == kind] for kind in ("CPU", "PCI", "NIC", "NVS", "GPU")]
    pieces = {k: [row(line) for line in in_lines(tier, 8)] for k, tier in enumerate(tiers) if tier}
    width = max(piece.width for tier in pieces.values() for piece in tier)
    switches = 3
    if switches in pieces:
        pieces[switches] = [bars(line, width) for line in in_lines(tiers[switches], 8)]
    return above([piece for tier in pieces.values() for piece in tier])


def _domain(
    devices: Sequence[Device], parents: dict[int, int], members: list[int], *, upside_down: bool, slim: bool
) -> Piece:
    """One NUMA domain, tier under tier; upside down the GPUs come first."""
    kinds = APART if slim else TIERS
    tiers = [sorted((i for i in members if devices[i].kind in k), key=_lineage(devices, parents)) for k in kinds]
    lines = [line for tier in tiers if tier for line in in_lines(tier, 16)]
    width = max(len(line) for line in lines) * STEP
    piece = above([row(line, width) for line in (reversed(lines) if upside_down else lines)])
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
    middles = {}
    for i in switches:
        below = [x[j] for j in members if parents.get(j) == i]
        middles[i] = sum(below) / len(below) if below else x[i]
    places = sorted(middles.values())
    if all(b - a >= STEP * 0.85 for a, b in pairwise(places)):
        x.update(middles)
