"""What ranks held in memory, in as few changes as a picture can show."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ops.training.step import MemoryChange

MOMENTS = 1000
"""Moments at which a rank's memory is kept."""


def thinned(changes: Sequence[MemoryChange]) -> list[MemoryChange]:
    """Return every rank's changes at no more than MOMENTS moments, its peak among them.

    >>> many = [MemoryChange(0, t, "activations", 2.0 - 3 * (t % 2)) for t in range(9000)]
    >>> few = thinned(many)
    >>> len(few) <= MOMENTS, sum(change.bytes for change in few) == sum(change.bytes for change in many)
    (True, True)
    """
    by_rank: dict[int, list[MemoryChange]] = {}
    for change in changes:
        by_rank.setdefault(change.rank, []).append(change)
    return [change for rank in sorted(by_rank) for change in _of_rank(by_rank[rank])]


def _of_rank(changes: list[MemoryChange]) -> list[MemoryChange]:
    if len(changes) <= MOMENTS:
        return changes
    total = np.cumsum([change.bytes for change in changes])
    kinds = list(dict.fromkeys(change.kind for change in changes))
    ends, few, first = np.linspace(0, len(changes), MOMENTS // (2 * len(kinds)) + 1).astype(int), [], 0
    for begin, end in pairwise(ends.tolist()):
        for last in sorted({begin + int(total[begin:end].argmax()), end - 1}):
            sums = dict.fromkeys(kinds, 0.0)
            for change in changes[first : last + 1]:
                sums[change.kind] += change.bytes
            here = changes[last]
            few += [MemoryChange(here.rank, here.time, kind, size) for kind, size in sums.items() if size]
            first = last + 1
    return few
