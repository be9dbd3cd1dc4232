"""Places in a tree of PCIe switches from the classes of pairs.

PIX, PXB, PHB and NODE nest: whoever shares a switch shares its host bridge, and so on. So the classes are
groups within groups, and a pair whose class is hidden can be bounded by what third parties see of the two.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.topology import Ints
from sim.topology.host import Place

UNKNOWN = 9
"""A class not told; above all of PIX 0, PXB 1, PHB 2, NODE 3, SYS 4."""

SYS = 4


class Placement(NamedTuple):
    """Where every device is, the class of every pair that follows, and which pairs that only assumes."""

    places: list[Place]
    classes: Ints
    assumed: NDArray[np.bool_]


def place(classes_seen: Ints, apart: NDArray[np.bool_]) -> Placement:
    """The nearest places that agree with the known classes, which are indices into `CLASSES` or UNKNOWN.

    `known` is symmetric; `apart[a, b]` keeps two devices from being put together without evidence. Where
    the known classes fit no tree, a pair is as near as other known pairs make it, and no nearer: compare `classes`.
    """
    n = len(classes_seen)
    classes_seen = classes_seen.copy()
    np.fill_diagonal(classes_seen, 0)
    levels = []
    group = np.arange(n)
    for level in range(SYS):
        group = _joined(group, classes_seen <= level)
        if level == 0:
            group = _drawn_together(group, classes_seen, apart)
        levels.append(group)
    classes = np.full((n, n), SYS, np.int32)
    for level in reversed(range(SYS)):
        classes[levels[level][:, None] == levels[level][None, :]] = level
    pix, pxb, phb, node = (level.tolist() for level in levels)
    return Placement(list(map(Place, node, phb, pxb, pix)), classes, (classes_seen == UNKNOWN) & ~_forced(classes_seen))


def _joined(group: NDArray[np.int64], near: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Groups merged wherever two of their members are near; a group is called by its first member."""
    near = near | (group[:, None] == group[None, :])
    while True:
        lowest = np.where(near, group[None, :], len(group)).min(axis=1)
        if (lowest == group).all():
            return group
        group = lowest


def _drawn_together(group: NDArray[np.int64], classes: Ints, apart: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Groups merged greedily, in the order of their first members, where that contradicts no known class."""
    group = group.copy()
    first = np.unique(group).tolist()
    reach = _reach(classes)
    for i, a in enumerate(first):
        for b in first[i + 1 :]:
            one, other = group == group[a], group == group[b]
            if group[a] == group[b] or apart[np.ix_(one, other)].any():
                continue
            through = np.maximum.outer(reach[a], reach[b])
            through = np.minimum(through, through.T)
            if ((through < reach) & (classes != UNKNOWN)).any():
                continue
            reach = np.minimum(reach, through)
            group[other] = group[a]
    return group


def _reach(classes: Ints) -> Ints:
    """The farthest that each pair can be: the worst class on the best way over pairs that are known."""
    reach = classes.copy()
    for k in range(len(reach)):
        reach = np.minimum(reach, np.maximum.outer(reach[:, k], reach[k]))
    return reach


def _forced(classes: Ints) -> NDArray[np.bool_]:
    """Pairs that some third device sees at two different distances: then the farther one is their own."""
    forced = np.zeros(classes.shape, np.bool_)
    for seen in classes:
        visible = seen != UNKNOWN
        forced |= visible[:, None] & visible[None, :] & (seen[:, None] != seen[None, :])
    return forced
