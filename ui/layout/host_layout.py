"""Where the devices of one host stand: boxes of NUMA domains, trees of PCIe within them, switches as bars beside GPUs.

Positions are in units of about one device width; y grows downwards. What hangs on a CPU or on a PCI switch stands below
it, GPUs and NICs in one line; upside down where the network is above.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from sim.topology import Device, Topology
from ui.layout.boxes import PAD, STEP, Piece, above, bars, beside, frame, in_lines, join, row

TIERS = (("CPU",), ("PCI",), ("GPU", "NIC"))
APART = (("NIC",), ("CPU",), ("PCI",), ("GPU",))
"""Tiers of narrow hosts: GPUs alone next to the switches that join them."""
SLIM = 0.2
"""Room around what stands in a narrow host."""
KINDS = ("CPU", "PCI", "GPU", "NIC")
FAR = 1 << 30
MOST_LEAVES = 16
"""So many devices that hang on others stand in one line below them."""

Parents = Mapping[int, int]
Devices = Sequence[Device]


def parents_of(topology: Topology) -> dict[int, int]:
    """The PCI switch or CPU each device hangs on by PCI links: the one by which it is nearest to a root.

    Roots are the CPUs that other sockets are joined to; without such, the CPU or switch with the most below it.
    """
    beyond: dict[int, list[int]] = defaultdict(list)
    sockets = set()
    for link in topology.links:
        a, b = topology.index[link.src], topology.index[link.dst]
        if link.kind == "PCI":
            beyond[a].append(b)
            beyond[b].append(a)
        elif link.kind == "SYS":
            sockets |= {a, b}
    inner = [i for i in beyond if topology.devices[i].kind in ("CPU", "PCI")]
    inner.sort(key=lambda i: (topology.devices[i].kind != "CPU", i not in sockets, -len(beyond[i]), i))
    parents: dict[int, int] = {}
    reached = {i for i in inner if i in sockets and topology.devices[i].kind == "CPU"}
    line = [i for i in inner if i in reached]
    for root in [-1, *inner]:
        if root >= 0 and root not in reached:
            reached.add(root)
            line = [root]
        for i in line:  # which grows
            for j in beyond[i]:
                kind = topology.devices[j].kind
                if j not in reached and kind in KINDS:
                    reached.add(j)
                    parents[j] = i
                    if kind in ("CPU", "PCI"):
                        line.append(j)
        line = []
    return parents


def host(devices: Devices, parents: Parents, inside: list[int], *, slim: bool = False, flip: bool = False) -> Piece:
    """One host: NUMA boxes side by side, or above and below where there are three or more, NVSwitches between.

    Boxes stand in the order of their GPUs. Without a CPU side: network cards, switches and GPUs, tier under tier.
    """
    switches = [i for i in inside if devices[i].kind == "NVS"]
    if not any(i in parents for i in inside):
        return _tiers(devices, inside, flip=flip)
    members: dict[int, list[int]] = defaultdict(list)
    for i in inside:
        if devices[i].kind != "NVS":
            members[devices[i].numa].append(i)
    domains = sorted(members, key=lambda d: (min((i for i in members[d] if devices[i].kind == "GPU"), default=FAR), d))
    half = (len(domains) + 1) // 2 if len(domains) > 2 and not slim else len(domains)
    rows = []
    for number, part in enumerate((domains[:half], domains[half:])):
        if part:
            turned = flip or number == 1
            drawn = [_domain(devices, parents, members[d], flip=turned, slim=slim) for d in part]
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
        rows.insert(0 if flip and len(rows) == 1 else 1, bars(switches, max(r.width for r in rows)))
    return above(rows)


def _tiers(devices: Devices, inside: Sequence[int], *, flip: bool) -> Piece:
    """A host without a CPU side: GPUs above and below their switches, or above them where there are NICs below."""
    gpus, switches, nics, pci, cpus = (
        [i for i in inside if devices[i].kind == kind] for kind in ("GPU", "NVS", "NIC", "PCI", "CPU")
    )
    others = [line for tier in (nics, pci, cpus) if tier for line in in_lines(tier, MOST_LEAVES)]
    lines = in_lines(gpus, MOST_LEAVES) if gpus else []
    half = len(lines) // 2 if switches and not others else 0
    over, under = _staggered(lines[: len(lines) - half])[::-1], _staggered(lines[len(lines) - half :])
    pieces = [*over, *under, *map(row, others)]
    width = max((piece.width for piece in pieces), default=0.0)
    bar = [bars(line, max(width, STEP * len(line))) for line in in_lines(switches, 8)] if switches else []
    drawn = [*over, *bar, *under, *map(row, others)]
    return above(drawn[::-1] if flip else drawn)


def _staggered(lines: Sequence[list[int]]) -> list[Piece]:
    """Rows of which every other one stands half a step aside: lines of one pass between the devices of the next."""
    if len(lines) < 2:
        return [row(line) for line in lines]
    return [
        join([row(line)], [(STEP / 2 * (k % 2), 0.0)], STEP * (len(line) + 0.5), 1.0) for k, line in enumerate(lines)
    ]


def _domain(devices: Devices, parents: Parents, members: list[int], *, flip: bool, slim: bool) -> Piece:
    """One NUMA domain, tier under tier; flipped the GPUs come first."""
    if not slim and (tree := _tree(devices, parents, members, flip=flip)):
        return tree
    kinds = APART if slim else TIERS
    tiers = [sorted((i for i in members if devices[i].kind in k), key=_lineage(devices, parents)) for k in kinds]
    lines = [line for tier in tiers if tier for line in in_lines(tier, MOST_LEAVES)]
    width = max(len(line) for line in lines) * STEP
    piece = above([row(line, width) for line in (reversed(lines) if flip else lines)])
    x = {i: place[0] for i, place in piece.at.items()}
    _centre(devices, parents, members, x)
    return piece._replace(at={i: (x[i], place[1]) for i, place in piece.at.items()})


def _tree(devices: Devices, parents: Parents, members: list[int], *, flip: bool) -> Piece | None:
    """Every CPU and switch above the middle of what hangs on it; None for more leaves than fit into one line."""
    below: dict[int, list[int]] = defaultdict(list)
    inner = set(members)
    for i in members:
        below[parents[i] if parents.get(i) in inner else -1].append(i)
    leaves, depth = _leaves(devices, below)
    if len(leaves) > MOST_LEAVES:
        return None
    ends = {"GPU", "NIC"}
    last = max((d + 1 for i, d in depth.items() if devices[i].kind not in ends), default=0)
    tier = {i: last if devices[i].kind in ends else d for i, d in depth.items()}
    x = {i: STEP * (k + 0.5) for k, i in enumerate(leaves)}
    for i in sorted(depth, key=lambda i: -depth[i]):
        if below[i]:
            x[i] = (x[below[i][0]] + x[below[i][-1]]) / 2
    lines = [[i for i in members if tier[i] == k] for k in sorted(set(tier.values()))]
    width = STEP * len(leaves)
    piece = above([row(line, width) for line in (reversed(lines) if flip else lines)])
    return piece._replace(at={i: (x[i], place[1]) for i, place in piece.at.items()}, width=width)


def _leaves(devices: Devices, below: dict[int, list[int]]) -> tuple[list[int], dict[int, int]]:
    """What nothing hangs on, from left to right, and how many devices are above each.

    Sorts what is below each by its GPUs.
    """
    first: dict[int, int] = {}
    order, todo = [], [-1]
    while todo:
        order.append(todo.pop())
        todo += below[order[-1]]
    for i in reversed(order):
        own = i if i >= 0 and devices[i].kind == "GPU" else FAR
        first[i] = min([own, *(first[j] for j in below[i])])
        below[i].sort(key=lambda j: (first[j], j))
    leaves, depth, line = [], {}, [(-1, -1)]
    while line:
        i, deep = line.pop()
        if i >= 0:
            depth[i] = deep
            if not below[i]:
                leaves.append(i)
        line += [(j, deep + 1) for j in reversed(below[i])]
    return leaves, depth


def _lineage(devices: Devices, parents: Parents) -> Callable[[int], tuple[int, ...]]:
    """A sorting key that keeps the children of one switch together, GPUs before NICs."""

    def key(i: int) -> tuple[int, ...]:
        line = [i]
        while line[-1] in parents and len(line) < 8:
            line.append(parents[line[-1]])
        return (*reversed(line[1:]), int(devices[i].kind == "NIC"), i)

    return key


def _centre(devices: Devices, parents: Parents, members: list[int], x: dict[int, float]) -> None:
    """Move every PCI switch above the middle of what hangs on it, where that leaves it clear of its neighbours."""
    switches = [i for i in members if devices[i].kind == "PCI"]
    middles = {}
    for i in switches:
        below = [x[j] for j in members if parents.get(j) == i]
        middles[i] = sum(below) / len(below) if below else x[i]
    places = sorted(middles.values())
    if all(b - a >= STEP * 0.85 for a, b in pairwise(places)):
        x.update(middles)
