"""The shape of an algorithm: where its ranks stand when only who sends to whom counts, whatever the machine.

Found from the messages alone, so an imported schedule has one too: a ring or chain, a star, a tree, a hypercube,
groups of ranks with columns between them, or a circle where nothing simpler fits.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.arrays import each_once
from sim.schedule import Schedule
from ui.layout.boxes import GAP, HEAD, STEP, Bow, Box
from ui.layout.lines import BESIDE, Floats, between

MOST = 256
"""A shape of more places is a smudge."""
MARGIN = 0.8
OVAL = 1.4
"""How many times as wide as high a ring is: so is a page."""
AHEAD = 1.1
"""How many times as far apart the tiers of a tree stand side by side as one under the other: places are wide."""
ROW, AWAY = 8, 2.1
"""So many places of a chain stand in one row, so far apart."""
BENDS = 8
"""Pieces of an arc between two places of a ring."""
PAGE = 2.0
"""How many times as wide as high a page is."""
AXES = ((2.9, 0.0), (0.0, 2.6), (1.5, -1.25), (7.0, 0.0), (0.0, 6.4), (3.4, -3.0))
"""Where each dimension of a hypercube points on paper."""
Edges = set[tuple[int, int]]
Neighbours = list[set[int]]
Places = list[tuple[float, float]]


class Shape(NamedTuple):
    """Its name, the spots' centres in device widths with y downwards, frames, size, and who sends to whom.

    `src[k]` sends to `dst[k]`; no pair twice. `place[spot]` is the rank or switch that stands there. Of two trees every
    place has two spots, and `tree[block]` says along which of them a block goes; else `tree` is empty.
    """

    name: str
    x: list[float]
    y: list[float]
    boxes: list[Box]
    width: float
    height: float
    src: list[int]
    dst: list[int]
    place: list[int]
    tree: list[int]

    def lines(self) -> list[Floats]:
        """The points `[point, x or y]` of a line for every pair: arcs of a ring are parts of it."""
        if self.name != "ring":
            bow = Bow(level=1.7) if self.name in ("groups", "tree", "trees") else Bow()
            return between(self.x, self.y, self.src, self.dst, bow)
        return [_arc(self, a, b) for a, b in zip(self.src, self.dst, strict=True)]

    def spot(self, place: int, block: int) -> int:
        """Where a place stands for a block."""
        return place + (self.tree[block] * (len(self.place) // 2) if self.tree and block >= 0 else 0)


def shape_of(schedule: Schedule, blocks: NDArray[Any] | None = None) -> Shape | None:
    """The shape of a schedule, or None for one of more than MOST places.

    `blocks` is the block of every move: with it a schedule that sends half of its blocks along one tree and half along
    another has the shape of both.
    """
    count = schedule.places
    if count > MOST:
        return None
    away = schedule.src != schedule.dst
    pairs = each_once(schedule.src[away].astype(np.int64) * count + schedule.dst[away])
    sent = {(int(p) // count, int(p) % count) for p in pairs}
    two = two_trees(schedule, blocks) if blocks is not None and len(blocks) else None
    if two:
        first, second = two.sent
        places, boxes = _both(count, first, second)
        sent = {*first, *((a + count, b + count) for a, b in second)}
        return _shape("trees", places, boxes, sent, [*range(count)] * 2, two.tree)
    name, places, boxes = _placed(count, sent)
    return _shape(name, places, boxes, sent, [*range(count)], [])


def _shape(name: str, places: Places, boxes: list[Box], sent: Edges, place: list[int], tree: list[int]) -> Shape:
    """A shape moved to where its paper begins."""
    left = min([x for x, _ in places] + [b.x + MARGIN for b in boxes]) - MARGIN
    top = min([y for _, y in places] + [b.y + MARGIN for b in boxes]) - MARGIN
    x, y = [p[0] - left for p in places], [p[1] - top for p in places]
    boxes = [b._replace(x=b.x - left, y=b.y - top) for b in boxes]
    width = max([p + MARGIN for p in x] + [b.x + b.width for b in boxes])
    height = max([p + MARGIN for p in y] + [b.y + b.height for b in boxes])
    src, dst = [a for a, _ in sorted(sent)], [b for _, b in sorted(sent)]
    return Shape(name, x, y, boxes, width, height, src, dst, place, tree)


def _arc(shape: Shape, a: int, b: int) -> Floats:
    """A line of a ring, on its inner or its outer side by its direction."""
    middle = np.array([(min(side) + max(side)) / 2 for side in (shape.x, shape.y)])
    reach = np.array([(max(side) - min(side)) / 2 for side in (shape.x, shape.y)])
    reach[reach == 0] = 1.0
    ends = (np.stack([shape.x, shape.y], axis=1)[[a, b]] - middle) / reach
    start, stop = np.arctan2(ends[:, 1], ends[:, 0]).tolist()
    way = (stop - start + math.pi) % (2 * math.pi) - math.pi
    turn = start + way * np.linspace(0, 1, BENDS + 1)
    side = 1 + math.copysign(BESIDE / 2, way) / reach
    return np.asarray(middle + np.stack([np.cos(turn), np.sin(turn)], axis=1) * reach * side)


def _both(count: int, first: Edges, second: Edges) -> tuple[Places, list[Box]]:
    """Two trees, side by side or one above the other, whichever is nearer to the shape of a page."""
    drawn = []
    for sent in (first, second):
        near = _neighbours(count, sent)
        places = _tree(near, _root(near, sent))
        left, top = min(x for x, _ in places), min(y for _, y in places)
        drawn.append([(x - left, y - top) for x, y in places])
    wide, high = (max(p[k] for places in drawn for p in places) + 2 * MARGIN for k in (0, 1))
    high += HEAD
    beside = abs(math.log(2 * wide / high / PAGE)) < abs(math.log(wide / high / 2 / PAGE))
    across, down = (wide + GAP, 0.0) if beside else (0.0, high + GAP)
    spots = [
        (x + MARGIN + k * across, y + MARGIN + HEAD + k * down) for k, places in enumerate(drawn) for x, y in places
    ]
    return spots, [Box(f"tree {k + 1}", "numa", k * across, k * down, wide, high) for k in (0, 1)]


def _placed(count: int, sent: Edges) -> tuple[str, Places, list[Box]]:
    near = _neighbours(count, sent)
    edges = sum(map(len, near)) // 2
    if (line := _line(near)) is not None:
        is_ring = edges == count or count == 2
        return ("ring", _circle(line), []) if is_ring else ("chain", _snake(line), [])
    if edges == count - 1 and _connected(near):
        root = _root(near, sent)
        return ("star", _star(near, root), []) if len(near[root]) == edges else ("tree", _tree(near, root), [])
    if count == 1 << (count.bit_length() - 1) <= 1 << len(AXES) and _is_cube(near):
        return "hypercube", [_corner(r, count) for r in range(count)], []
    if group := _group(near, edges):
        places, boxes = _rows(count, group)
        return "groups", places, boxes
    return "circle", _circle(list(range(count))), []


def _neighbours(count: int, sent: Edges) -> Neighbours:
    near: Neighbours = [set() for _ in range(count)]
    for a, b in sent:
        near[a].add(b)
        near[b].add(a)
    return near


def _line(near: Neighbours) -> list[int] | None:
    """The places in the order of the one ring or chain that they form."""
    if any(len(n) not in (1, 2) for n in near):
        return None
    ends = [r for r, n in enumerate(near) if len(n) == 1]
    if len(ends) not in (0, 2):
        return None
    line = [ends[0] if ends else 0]
    while following := near[line[-1]] - set(line[-2:]) - ({line[0]} if len(line) > 2 else set()):
        line.append(min(following))
    return line if len(line) == len(near) else None


def _circle(order: list[int]) -> Places:
    """Clockwise from the top; two side by side."""
    radius = max(2.0, len(order) * 2.1 / (2 * math.pi))
    at: Places = [(0.0, 0.0)] * len(order)
    for k, place in enumerate(order):
        turn = 2 * math.pi * k / len(order) - (math.pi / 2 if len(order) > 2 else math.pi)
        at[place] = (OVAL * radius * math.cos(turn), radius * math.sin(turn))
    return at


def _snake(order: list[int]) -> Places:
    """To and fro in rows, so that the next one always stands beside the last one."""
    across = max(ROW, math.ceil(math.sqrt(2 * len(order))))
    at: Places = [(0.0, 0.0)] * len(order)
    for k, place in enumerate(order):
        row, column = divmod(k, across)
        at[place] = (AWAY * (across - 1 - column if row % 2 else column), AWAY * row)
    return at


def _depths(near: Neighbours, root: int) -> list[list[int]]:
    """Places by their distance from one, the children of one place side by side."""
    tiers, seen = [[root]], {root}
    while True:
        tier = [c for r in tiers[-1] for c in sorted(near[r], key=lambda c: (-_below(near, c, r), c)) if c not in seen]
        if not tier:
            return tiers
        seen.update(tier)
        tiers.append(tier)


def _below(near: Neighbours, place: int, above: int) -> int:
    """How many places hang on one, itself included."""
    seen, todo = {above, place}, [place]
    while todo:
        fresh = near[todo.pop()] - seen
        seen |= fresh
        todo += fresh
    return len(seen) - 1


def _connected(near: Neighbours) -> bool:
    return _below(near, 0, 0) == len(near) - 1


def _root(near: Neighbours, sent: Edges) -> int:
    """The one place that only sends or only receives; where there is none, the one with the lowest tree."""
    for only in ({a for a, _ in sent} - {b for _, b in sent}, {b for _, b in sent} - {a for a, _ in sent}):
        if len(only) == 1:
            return only.pop()
    return min(range(len(near)), key=lambda r: (len(_depths(near, r)), -len(near[r]), r))


def _star(near: Neighbours, middle: int) -> Places:
    around = _circle(sorted(near[middle])) if middle > max(near[middle]) else _circle(list(range(len(near) - 1)))
    return [*around[:middle], (0.0, 0.0), *around[middle:]]


def _tree(near: Neighbours, root: int) -> Places:
    """Every place above the middle of what hangs on it, or before it, whichever is drawn larger on a wide page."""
    places = _downwards(near, root)
    along, across = max(x for x, _ in places), max(y for _, y in places)
    aside = [(y * AHEAD, x) for x, y in places]
    is_deep = max(along, across * OVAL) > max(across * AHEAD, along * OVAL)
    return aside if is_deep else places


def _downwards(near: Neighbours, root: int) -> Places:
    tiers = _depths(near, root)
    depth = {r: k for k, tier in enumerate(tiers) for r in tier}
    at: dict[int, tuple[float, float]] = {}
    free = 0.0
    todo = [(root, -1, False)]
    while todo:
        place, above, done = todo.pop()
        below = sorted((c for c in near[place] if c != above), key=lambda c: (-_below(near, c, place), c))
        if below and not done:
            todo += [(place, above, True), *((c, place, False) for c in reversed(below))]
            continue
        if below:
            x = (at[below[0]][0] + at[below[-1]][0]) / 2
        else:
            x, free = free, free + STEP
        at[place] = (x, depth[place] * 2.0)
    return [at[r] for r in range(len(near))]


def _is_cube(near: Neighbours) -> bool:
    return all(near[r] == {r ^ 1 << k for k in range((len(near) - 1).bit_length())} for r in range(len(near)))


def _corner(rank: int, count: int) -> tuple[float, float]:
    ways = [AXES[k] for k in range((count - 1).bit_length()) if rank >> k & 1]
    return (sum(x for x, _ in ways), sum(y for _, y in ways))


def _group(near: Neighbours, edges: int) -> int:
    """The size of groups of neighbouring ranks, when messages keep to a group or to one column across groups; or 0."""
    count = len(near)
    sizes = [g for g in range(2, count // 2 + 1) if count % g == 0] if edges < count * (count - 1) // 2 else []
    for g in reversed(sizes):
        if all(a // g == b // g or a % g == b % g for a in range(count) for b in near[a]):
            return g
    return 0


def _rows(count: int, group: int) -> tuple[Places, list[Box]]:
    """A row for every group, one under the other."""
    places = [(STEP * 1.1 * (r % group), 3.2 * (r // group)) for r in range(count)]
    width = STEP * 1.1 * (group - 1) + 2.0
    boxes = [Box("", "numa", -1.0, 3.2 * k - 0.9, width, 2.2) for k in range(count // group)]
    return places, boxes


class TwoTrees(NamedTuple):
    """Who sends to whom in each tree, and the tree of each block."""

    sent: tuple[Edges, Edges]
    tree: list[int]


def two_trees(schedule: Schedule, blocks: NDArray[Any]) -> TwoTrees | None:
    """Return the two trees along which blocks go, or None for schedules without; `blocks[m]` is the block of move m."""
    count, moves = schedule.places, np.diff(schedule.moves)
    src, dst = (np.repeat(ends.astype(np.int64), moves) for ends in (schedule.src, schedule.dst))
    away = src != dst
    block, src, dst = blocks[away].astype(np.int64), src[away], dst[away]
    if not block.size or block.min() < 0:
        return None
    edges: dict[int, set[tuple[int, int]]] = {}
    for b, a, z in np.unique(np.stack([block, np.minimum(src, dst), np.maximum(src, dst)], axis=1), axis=0).tolist():
        edges.setdefault(b, set()).add((a, z))
    kinds = list(dict.fromkeys(map(frozenset, edges.values())))
    if len(kinds) != 2 or not all(_is_tree(kind, count) for kind in kinds):
        return None
    tree = [kinds.index(frozenset(edges[b])) if b in edges else 0 for b in range(int(block.max()) + 1)]
    of_move = np.array([*tree, 0])[blocks]
    starts = schedule.moves[:-1][moves > 0]
    if (np.maximum.reduceat(of_move, starts) != np.minimum.reduceat(of_move, starts)).any():
        return None  # a message goes along both
    of_row = np.array(tree)[block]
    first, second = (set(zip(src[of_row == k].tolist(), dst[of_row == k].tolist(), strict=True)) for k in (0, 1))
    return TwoTrees((first, second), tree)


def _is_tree(edges: frozenset[tuple[int, int]], count: int) -> bool:
    """Whether edges join all of so many places without a circle."""
    part = list(range(count))

    def root(place: int) -> int:
        while part[place] != place:
            place = part[place]
        return place

    for a, b in edges:
        if root(a) == root(b):
            return False
        part[root(a)] = root(b)
    return len(edges) == count - 1
