"""Where every device stands on the stage, computed apart from drawing.

Positions are in units of about one device width; y grows downwards. Hosts are boxes that hold NUMA boxes, which
hold trees of PCIe with GPUs and NICs side by side under what they hang on; NVSwitches are bars beside the GPUs they
join. The network stands between the hosts or above them, its rails as lanes across all of them. Machines that
are nothing but GPUs, or GPUs around one switch, stand in a ring, unless they are a grid; networks without hosts stand
in tiers.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence, Set

from sim.topology import Device, Topology
from ui.layout.algorithm_layout import MARGIN, OVAL
from ui.layout.boxes import GAP, HEAD, PAD, Bow, Box, Piece, Stage, above, bars, beside, frame, in_rows, misfit
from ui.layout.host_layout import SLIM, host, parents_of
from ui.layout.network_layout import lattice, network, switch_tiers, tiers

CIRCLE = 16
"""Up to this many GPUs a machine without a CPU side is drawn as a circle."""
MARK = 4.2
"""How wide the mark of idle devices is."""
RAGGED = 1.0
"""How much better rows of unequal length have to fit."""


def arrange(topology: Topology, idle: Set[int] = frozenset()) -> Stage:
    """Place every device; no two overlap, but all that are `idle` in a host stand in one box."""
    kinds = {d.kind for d in topology.devices}
    gpus = [i for i, d in enumerate(topology.devices) if d.kind == "GPU"]
    grid = lattice(topology) or tiers(topology)
    if grid:
        return grid
    if kinds <= {"GPU", "NVS"} and len(gpus) <= CIRCLE and len(topology.devices) - len(gpus) <= 1:
        return _circle(topology.devices, gpus)
    return _hosts(topology, idle)


def _circle(devices: Sequence[Device], gpus: list[int]) -> Stage:
    """Clockwise from the top around a switch, if there is one; two side by side."""
    radius = max(2.0, len(gpus) * 1.75 / (2 * math.pi))
    across, down = OVAL * radius + MARGIN, (radius if len(gpus) > 2 else 0.0) + MARGIN
    x, y = [across] * len(devices), [down] * len(devices)
    for k, i in enumerate(gpus):
        turn = 2 * math.pi * k / len(gpus) - (math.pi / 2 if len(gpus) > 2 else math.pi)
        x[i], y[i] = across + OVAL * radius * math.cos(turn), down + radius * math.sin(turn)
    return Stage(x, y, [], 2 * across, 2 * down)


def _hosts(topology: Topology, idle: Set[int]) -> Stage:
    """Hosts, or the racks that they share switches in, in rows; what joins them in the middle, or above one row."""
    devices, parents = topology.devices, parents_of(topology)
    shared = [i for i, d in enumerate(devices) if d.kind == "NVS" and d.host < 0]
    net = [i for i, d in enumerate(devices) if d.kind == "NET"]
    apart = {*shared, *net}
    inside: dict[int, list[int]] = defaultdict(list)
    folded: dict[int, list[int]] = defaultdict(list)
    for i, device in enumerate(devices):
        if i not in apart:
            (folded if i in idle else inside)[device.host].append(i)
    framed, pad = len(inside) > 1 or bool(net), SLIM if shared else PAD

    def drawn(numbers: Sequence[int], *, flip: bool) -> list[Piece]:
        pieces = [
            _folded(host(devices, parents, inside[n], slim=bool(shared), flip=flip), folded[n], flip=flip)
            for n in numbers
        ]
        if not framed:
            return pieces
        return [frame(p, f"host {n}", "host", below=flip, pad=pad) for p, n in zip(pieces, numbers, strict=True)]

    tiers, racks = switch_tiers(topology, net), _racks(topology, shared, sorted(inside))

    def rack(number: int, *, flip: bool) -> Piece:
        switches, hosts = racks[number]
        half = math.ceil(len(hosts) / 2) if switches else len(hosts)
        lines = [
            beside(drawn(part, flip=below)) for part, below in ((hosts[:half], False), (hosts[half:], True)) if part
        ]
        if switches:
            lines.insert(1, bars(switches, max(line.width for line in lines)))
        whole = above(lines)
        return frame(whole, f"rack {number}", "rack", below=flip) if len(racks) > 1 else whole

    if shared:
        numbers = range(len(racks))
        whole = _with_network(
            topology, numbers, lambda some, *, flip: [rack(number, flip=flip) for number in some], tiers
        )
    else:
        whole = _with_network(topology, sorted(inside), drawn, tiers)
    x, y = ([whole.at[i][k] for i in range(len(devices))] for k in (0, 1))
    bow = Bow(level=1.7) if whole.boxes else Bow()
    return Stage(x, y, whole.boxes, whole.width, whole.height, bow, whole.bars)


def _folded(piece: Piece, idle: list[int], *, flip: bool) -> Piece:
    """A host with one small mark for all that is idle in it, away from the network."""
    if not idle:
        return piece
    box = Box(f"idle {len(idle)}", "idle", 0.0, 0.0, MARK, HEAD)
    mark = Piece(dict.fromkeys(idle, (MARK / 2, HEAD / 2)), [box], MARK, HEAD)
    return above([mark, piece][:: 1 if flip is False else -1])


def _racks(topology: Topology, shared: Sequence[int], hosts: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Switches that hosts share and those hosts, where nothing is shared from one to the next; the other hosts last."""
    joined: dict[int, set[int]] = {i: set() for i in shared}
    for ends in zip(*(side.tolist() for side in topology.ends), strict=True):
        for switch, other in (ends, ends[::-1]):
            if switch in joined and other not in joined:
                joined[switch].add(topology.devices[other].host)
    racks: list[tuple[list[int], set[int]]] = []
    for switch, own in joined.items():
        same = [rack for rack in racks if rack[1] & own]
        racks = [rack for rack in racks if rack not in same]
        racks.append(
            ([i for switches, _ in same for i in switches] + [switch], own.union(*(with_ for _, with_ in same)))
        )
    alone = set(hosts).difference(*(own for _, own in racks))
    return [(switches, sorted(own)) for switches, own in [*racks, ([], alone)] if own]


def _with_network(
    topology: Topology, numbers: Sequence[int], drawn: Callable[..., list[Piece]], tiers: Sequence[list[int]]
) -> Piece:
    """Hosts in rows of one length where that is no strip, with the network above them or between two halves of rows.

    All hosts have their network cards on its side.
    """
    hosts = drawn(numbers, flip=False)
    lanes = network(topology, tiers, 0.0)

    def unfit(columns: int) -> float:
        whole = above([in_rows(hosts, columns), *lanes], 2 * GAP)
        return misfit(whole) + (RAGGED if len(hosts) % columns else 0)

    columns = min(range(1, len(hosts) + 1), key=unfit)
    count = math.ceil(len(hosts) / columns)
    half = columns * (count // 2)
    if tiers:
        hosts[half:] = drawn(numbers[half:], flip=True)
    lines = [beside(hosts[k : k + columns]) for k in range(0, len(hosts), columns)]
    if not tiers:
        return above(lines)
    between = network(topology, tiers, lines[0].width, around=half > 0)
    return above([*lines[: count // 2], *between, *lines[count // 2 :]], 2 * GAP)
