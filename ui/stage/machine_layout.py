"""Where every device stands on the stage, computed apart from drawing.

Positions are in units of about one device width; y grows downwards. Hosts are boxes that hold NUMA boxes, which
hold devices in tiers: CPUs, PCI switches, then GPUs and NICs side by side under the switch they hang on;
NVSwitches stand below the GPUs they join, and the network above all hosts. Machines that are nothing but GPUs,
or GPUs around one switch, stand in a circle, unless they are a grid; networks without hosts stand in tiers.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from sim.topology import Device, Topology
from ui.stage.boxes import GAP, STEP, Bow, Piece, Stage, above, beside, frame, in_lines, in_rows, misfit, row
from ui.stage.network_layout import lattice, tiers

CIRCLE = 16
"""Up to this many GPUs a machine without a CPU side is drawn as a circle."""
TIERS = (("CPU",), ("PCI",), ("GPU", "NIC"))


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
    middle = radius + 1.1
    x, y = [middle] * len(devices), [middle] * len(devices)
    for k, i in enumerate(gpus):
        turn = 2 * math.pi * k / len(gpus) - math.pi / 2
        x[i], y[i] = middle + radius * math.cos(turn), middle + radius * math.sin(turn)
    return Stage(x, y, [], 2 * middle, 2 * middle)


def _hosts(devices: Sequence[Device], parents: dict[int, int]) -> Stage:
    numbers = sorted({d.host for d in devices if d.kind != "NET"})
    net = [i for i, d in enumerate(devices) if d.kind == "NET"]
    framed = len(numbers) > 1 or bool(net)
    hosts = []
    for number in numbers:
        inside = [i for i, d in enumerate(devices) if d.host == number and d.kind != "NET"]
        piece = _host(devices, parents, inside, most=4 if len(numbers) > 2 else 8)
        hosts.append(frame(piece, f"host {number}", "host") if framed else piece)
    even = [c for c in range(1, len(hosts) + 1) if len(hosts) % c == 0 or len(hosts) > 8]
    whole = min((in_rows(hosts, columns) for columns in even), key=misfit)
    if net:
        rails = [i for i in net if "RAIL" in devices[i].name]
        spine = [i for i in net if i not in rails]
        lines = [row(line, whole.width * 0.8) for line in (spine, rails) if line]
        whole = above([*lines, whole], 2 * GAP)
    x, y = ([whole.at[i][k] for i in range(len(devices))] for k in (0, 1))
    bow = Bow(level=1.7) if whole.boxes else Bow()
    return Stage(x, y, whole.boxes, whole.width, whole.height, bow)


def _host(devices: Sequence[Device], parents: dict[int, int], inside: list[int], most: int) -> Piece:
    """One host: NUMA boxes side by side, or above and below where there are three or more, NVSwitches between.

    Without a CPU side: network cards, switches and GPUs, tier under tier.
    """
    switches = [i for i in inside if devices[i].kind == "NVS"]
    if not any(i in parents for i in inside):
        tiers = [[i for i in inside if devices[i].kind == kind] for kind in ("CPU", "PCI", "NIC", "NVS", "GPU")]
        return above([row(line) for tier in tiers if tier for line in in_lines(tier, most)])
    domains = sorted({devices[i].numa for i in inside if devices[i].kind != "NVS"})
    half = (len(domains) + 1) // 2 if len(domains) > 2 else len(domains)
    rows = []
    for number, part in enumerate((domains[:half], domains[half:])):
        if part:
            members = [[i for i in inside if devices[i].numa == d and devices[i].kind != "NVS"] for d in part]
            drawn = [_domain(devices, parents, m, upside_down=number == 1) for m in members]
            named = [frame(p, f"NUMA {d}", "numa") if d >= 0 else p for p, d in zip(drawn, part, strict=True)]
            rows.append(beside(named))
    if switches:
        rows.insert(1, row(switches, max(r.width for r in rows) * len(switches) / (len(switches) + 1)))
    return above(rows)


def _domain(devices: Sequence[Device], parents: dict[int, int], members: list[int], *, upside_down: bool) -> Piece:
    """One NUMA domain, tier under tier; upside down the GPUs come first."""
    tiers = [sorted((i for i in members if devices[i].kind in k), key=_lineage(devices, parents)) for k in TIERS]
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
