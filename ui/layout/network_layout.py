"""Where the devices of a network stand: grids of GPUs, and switches in tiers above the GPUs they join."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import each_once
from sim.topology import Topology
from ui.layout.boxes import GAP, HEAD, STEP, Bow, Box, Piece, Stage, above, frame, in_lines, in_rows, join, lane, row

SPACE = 2.0
"""From one GPU of a grid to the next."""
CLOSE, NEXT = 1.7, 1.5
"""The same in a plane of a large solid: across, and down."""
ASIDE, DOWN = 0.9, 1.0
"""From one plane of a grid to the next, which stands a little lower to the right."""
TALL = 1.1
"""Between tiers, so that lines can fan out."""
WIDE, STRIP = 3.0, 5.0
"""Up to how many times as wide as high many parts may stand, and a few in one row."""
FEW = 4
SOLID = 64
"""Up to so many GPUs a grid of three dimensions is drawn as a solid, larger ones plane by plane."""
BETWEEN = 2.0
"""From one plane to the next where they stand side by side."""
MOST_DIMENSIONS = 3
EVEN = 64
"""Up to so many parts stand in rows of one length."""
MANY = 8
"""So many GPUs on a switch are a group that may be drawn as one."""
MOST_LANES = 16
"""So many switches of one tier are drawn as lanes."""
MOST_TIERS = 12
"""More are no tiers but a way through many switches."""

Ints = NDArray[np.int64]


def lattice(topology: Topology) -> Stage | None:
    """A grid of GPUs in two or three dimensions, open or closed; None for anything else.

    Rank r stands where r's digits point, the last dimension counting fastest, across; the first of three is depth.
    """
    n = len(topology.devices)
    src, dst = (np.array(ends, np.int64) for ends in topology.ends)
    if any(device.kind != "GPU" for device in topology.devices) or not 0 < len(src) <= 2 * MOST_DIMENSIONS * n:
        return None
    dims = next((dims for dims in _shapes(n) if _is_grid(dims, src, dst)), None)
    if dims is None:
        return None
    planes, rows, columns = (1,) * (MOST_DIMENSIONS - len(dims)) + dims
    if planes > 1 and n > SOLID:
        return _planes(planes, rows, columns)
    across = max(SPACE, planes * ASIDE + 1.2)
    down = max(SPACE, planes * DOWN + 1.0)
    plane, line, column = np.unravel_index(np.arange(n), (planes, rows, columns))
    x, y = 1.0 + column * across + plane * ASIDE, 1.0 + line * down + plane * DOWN
    bow = Bow(across + 0.3, down + 0.3, min(across, down) * 0.6)
    return Stage(x.tolist(), y.tolist(), [], float(x.max()) + 1.0, float(y.max()) + 1.0, bow)


def _planes(planes: int, rows: int, columns: int) -> Stage:
    """A large solid as its planes side by side, each a grid in a box."""
    wide, high = columns * CLOSE + 1.0, rows * NEXT + 1.0 + HEAD
    sizes = range(1, planes + 1)
    count = min(sizes, key=lambda c: abs(math.log(c * wide / (math.ceil(planes / c) * high) / 2.0)) + planes % c)
    plane, line, column = np.unravel_index(np.arange(planes * rows * columns), (planes, rows, columns))
    left, top = (plane % count) * (wide + BETWEEN), (plane // count) * (high + BETWEEN)
    x, y = left + 0.5 + (column + 0.5) * CLOSE, top + HEAD + 0.5 + (line + 0.5) * NEXT
    boxes = [
        Box(f"plane {k}", "group", k % count * (wide + BETWEEN), k // count * (high + BETWEEN), wide, high)
        for k in range(planes)
    ]
    width, height = max(b.x for b in boxes) + wide, max(b.y for b in boxes) + high
    return Stage(x.tolist(), y.tolist(), boxes, width, height, Bow(CLOSE + 0.3, NEXT + 0.3, NEXT * 0.5))


def _shapes(n: int) -> Iterator[tuple[int, ...]]:
    """Ways to see n GPUs as a grid of two or three dimensions of two or more."""
    for a in range(2, n // 2 + 1):
        if n % a == 0:
            yield a, n // a
            for b in range(2, n // a // 2 + 1):
                if n // a % b == 0:
                    yield a, b, n // a // b


def _is_grid(dims: tuple[int, ...], src: Ints, dst: Ints) -> bool:
    """Whether links join exactly the neighbours in each dimension, and perhaps its ends."""
    a, b = np.unravel_index(src, dims), np.unravel_index(dst, dims)
    steps = [np.abs(i - j) for i, j in zip(a, b, strict=True)]
    near = [(step == 1) | (step == size - 1) for step, size in zip(steps, dims, strict=True)]
    along = [step > 0 for step in steps]
    if not (sum(along) == 1).all() or not all((ok[on]).all() for ok, on in zip(near, along, strict=True)):
        return False
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    n = math.prod(dims)
    next_to = each_once((low * n + high)[sum((step == 1) & on for step, on in zip(steps, along, strict=True)) > 0])
    return len(next_to) == sum((size - 1) * (n // size) for size in dims)


def tiers(topology: Topology) -> Stage | None:
    """Switches above the GPUs they join, tier above tier; None for machines with a CPU side, or without a network.

    Switches of one tier that are joined in triangles form a group, and groups stand side by side.
    """
    kinds = Counter(device.kind for device in topology.devices)
    if set(kinds) != {"GPU", "NET"} or kinds["NET"] < 2:
        return None
    beyond = _neighbours(topology)
    tier = _tiers(topology, beyond)
    if tier is None or max(tier) > MOST_TIERS:
        return None
    names = [device.name for device in topology.devices]
    whole = _pile([i for i, t in enumerate(tier) if t], max(tier), beyond, tier, set(), names)
    x, y = ([whole.at[i][k] for i in range(len(topology.devices))] for k in (0, 1))
    return Stage(x, y, whole.boxes, whole.width, whole.height, Bow(level=1.7, most=TALL))


def switch_tiers(topology: Topology, net: Sequence[int]) -> list[list[int]]:
    """Switches of a network between hosts by how far they are from these, the nearest first."""
    beyond, left = _neighbours(topology), set(net)
    reached = {j for i, d in enumerate(topology.devices) if d.kind != "NET" for j in beyond[i]}
    tiers = []
    while line := sorted(reached & left):
        tiers.append(line)
        left -= set(line)
        reached = {j for i in line for j in beyond[i]}
    return [*tiers, *([sorted(left)] if left else [])]


def network(topology: Topology, tiers: Sequence[list[int]], width: float, *, around: bool = False) -> list[Piece]:
    """Switches between hosts, tier above tier; with hosts `around`, half of the nearest stand below the others.

    Switches that join everything below them are lanes across a width, so the rails of hosts are parallel; others are
    boxes in a row.
    """
    if not tiers:
        return []
    beyond = _neighbours(topology)
    hosts = {device.host for device in topology.devices if device.host >= 0}
    lanes: list[list[Piece]] = []
    below: set[int] = set()
    for tier in tiers:
        joined = (
            all(below <= beyond[i] for i in tier)
            if below
            else all({topology.devices[j].host for j in beyond[i]} >= hosts for i in tier)
        )
        across = joined and len(hosts) > 1 and len(tier) <= MOST_LANES
        lanes.append([lane(i, width) for i in tier] if across else [row(tier, width * 0.9)])
        below = set(tier) if across else {-1}
    nearest, *others = lanes
    half = len(nearest) // 2 if around else 0
    piece = above([*nearest[:half], *(piece for tier in reversed(others) for piece in tier), *nearest[half:]], 0.0)
    names = [topology.devices[i].name.rstrip("0123456789.") for i in tiers[0]]
    return [_framed(piece, names[0] if len({*names}) == 1 else "", "group")] if len(tiers[0]) > 1 else [piece]


def _neighbours(topology: Topology) -> list[set[int]]:
    beyond: list[set[int]] = [set() for _ in topology.devices]
    for a, b in zip(*(ends.tolist() for ends in topology.ends), strict=True):
        beyond[a].add(b)
        beyond[b].add(a)
    return beyond


def _tiers(topology: Topology, beyond: Sequence[set[int]]) -> list[int] | None:
    """Hops to the nearest GPU, or None where GPUs are joined directly or something is joined to nothing."""
    tier = [0 if device.kind == "GPU" else -1 for device in topology.devices]
    reached = [i for i, t in enumerate(tier) if t == 0]
    if any(tier[j] == 0 for i in reached for j in beyond[i]) or not all(beyond[i] for i in reached):
        return None
    while reached:
        further = sorted({j for i in reached for j in beyond[i] if tier[j] < 0})
        for j in further:
            tier[j] = tier[reached[0]] + 1
        reached = further
    return tier if min(tier) >= 0 else None


def _pile(
    switches: Sequence[int],
    top: int,
    beyond: Sequence[set[int]],
    tier: Sequence[int],
    taken: set[int],
    names: Sequence[str],
) -> Piece:
    """Switches up to a tier: parts that nothing below it joins stand side by side, the tier itself above them."""
    if top == 1:
        inner = set(switches)
        groups = _parts(switches, lambda i, j: bool(beyond[i] & beyond[j] & inner), beyond)
        shelves = [_shelf([_block(i, beyond, tier, taken, names) for i in group]) for group in groups]
        if len(shelves) > 1:
            shelves = [
                _framed(p, _group_name([names[i] for i in g], k), "pod") if len(g) > 1 else p
                for k, (p, g) in enumerate(zip(shelves, groups, strict=True))
            ]
        return _shelf([join([p], [(GAP, GAP)], p.width + 2 * GAP, p.height + 2 * GAP) for p in shelves])
    parts = _parts([i for i in switches if tier[i] < top], lambda i, j: True, beyond)
    piles = [_pile(part, top - 1, beyond, tier, taken, names) for part in parts]
    if len(piles) > 1:
        tops = [[names[i] for i in part if tier[i] == max(tier[j] for j in part)] for part in parts]
        piles = [_framed(p, _group_name(t, k), "pod") for k, (p, t) in enumerate(zip(piles, tops, strict=True))]
    base = _shelf(piles)
    line = [i for i in switches if tier[i] == top]
    if not line:  # a part may have fewer tiers than its neighbours
        return base
    middle = {i: np.mean([base.at[j][0] for j in beyond[i] if j in base.at]) for i in line}
    line.sort(key=lambda i: (middle[i], i))
    most = max(4, int(base.width / (STEP + GAP)))
    rows = [row(part, base.width * 0.9) for part in in_lines(line, most)]
    if len(line) >= MANY and len(piles) > 1:
        stem = names[line[0]].rstrip("0123456789.")
        rows = [_framed(above(rows), stem if all(names[i].startswith(stem) for i in line) else "", "group")]
    return above([*rows, base], TALL)


def _group_name(switches: Sequence[str], number: int) -> str:
    """What a group is called by its switches: what all their names begin with, up to a dot; or its number.

    >>> _group_name(["POD3.0", "POD3.1"], 3), _group_name(["LEAF7"], 3), _group_name(["R8", "R9"], 2)
    ('POD3', 'LEAF7', 'group 2')
    """
    stems = {name.split(".")[0] for name in switches}
    return stems.pop() if len(stems) == 1 else f"group {number}"


def _framed(piece: Piece, label: str, kind: str) -> Piece:
    return frame(piece, label, kind, pad=GAP / 2)


def _block(
    switch: int, beyond: Sequence[set[int]], tier: Sequence[int], taken: set[int], names: Sequence[str]
) -> Piece:
    """A switch above those of its GPUs that stand nowhere yet: one may be joined to several switches."""
    leaves = sorted(j for j in beyond[switch] if tier[j] == 0 and j not in taken)
    taken.update(leaves)
    most = max(2, math.ceil(math.sqrt(len(leaves))))
    gpus = [above([row(line) for line in in_lines(leaves, most)])] if leaves else []
    block = above([row([switch], STEP + GAP), *gpus], TALL)
    return _framed(block, names[switch], "group") if len(leaves) >= MANY else block


def _shelf(pieces: Sequence[Piece]) -> Piece:
    """Pieces of one height in as few rows as leave the whole not too wide, of one length unless that is a tower."""
    tallest = max(piece.height for piece in pieces)
    level = [join([piece], [(0.0, 0.0)], piece.width, tallest) for piece in pieces]
    counts = range(1, len(pieces) + 1)
    even = [rows for rows in counts if len(pieces) % rows == 0 or len(pieces) > EVEN]
    for rows in (even, counts):
        for whole in (in_rows(level, math.ceil(len(pieces) / count)) for count in rows):
            if whole.width <= (STRIP if len(pieces) <= FEW else WIDE) * whole.height:
                break
        if whole.width >= whole.height:
            break
    return whole


def _parts(switches: Sequence[int], held: Callable[[int, int], bool], beyond: Sequence[set[int]]) -> list[list[int]]:
    """Switches that links hold together, those links of which `held` is true."""
    part = {i: i for i in switches}

    def root(i: int) -> int:
        while part[i] != i:
            i = part[i]
        return i

    for i in switches:
        for j in beyond[i]:
            if j in part and held(i, j):
                part[root(j)] = root(i)
    groups: dict[int, list[int]] = defaultdict(list)
    for i in switches:
        groups[root(i)].append(i)
    return list(groups.values())
