"""Schedules that send some blocks along one tree and the others along another."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.schedule import Schedule

Edges = set[tuple[int, int]]


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
