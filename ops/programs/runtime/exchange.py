"""What every collective hands to whom: from what all ranks bring to what each rank gets, and how many bytes that is.

`sends[r]` is what rank r brings: one item for itself, or one for every rank (scatter at its root, alltoall,
reduce_scatter). An item is anything with a size in bytes. `fold` adds two items up.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from sim.topology import Floats

Item = Any
Items = Sequence[Item]
Fold = Callable[[Item, Item], Item]


class Exchange(NamedTuple):
    """`gets(sends, root, fold)` is one list of items per rank; `units(sends, root)` the bytes of the unit blocks."""

    gets: Callable[[Sequence[Items], int, Fold], list[Items]]
    units: Callable[[Sequence[Items], int], Floats]


def size_of(item: Item) -> int:
    """Bytes of an array or of a pickled object."""
    return len(item) if isinstance(item, bytes) else int(item.nbytes)


def _sizes(items: Items) -> Floats:
    return np.array([size_of(item) for item in items], np.float64)


def _folded(items: Sequence[Item], fold: Fold) -> Item:
    *_, total = accumulate(items, fold)
    return total


def _only(n: int, root: int, items: Items) -> list[Items]:
    return [items if r == root else [] for r in range(n)]


def _columns(sends: Sequence[Items], fold: Fold) -> list[Item]:
    return [_folded([row[r] for row in sends], fold) for r in range(len(sends))]


def _prefixes(sends: Sequence[Items], fold: Fold) -> list[Item]:
    return list(accumulate((row[0] for row in sends), fold))


def _largest(sends: Sequence[Items], _: int) -> Floats:
    return np.array([max(size_of(row[0]) for row in sends)], np.float64)


def _one_each(sends: Sequence[Items], _: int) -> Floats:
    return _sizes([row[0] for row in sends])


def _first_row(sends: Sequence[Items], _: int) -> Floats:
    return _sizes(sends[0])


EXCHANGES: dict[str, Exchange] = {
    "broadcast": Exchange(
        lambda sends, root, _: [sends[root] for _ in sends],
        lambda sends, root: _sizes(sends[root]),
    ),
    "scatter": Exchange(
        lambda sends, root, _: [[item] for item in sends[root]],
        lambda sends, root: _sizes(sends[root]),
    ),
    "gather": Exchange(lambda sends, root, _: _only(len(sends), root, [row[0] for row in sends]), _one_each),
    "allgather": Exchange(lambda sends, _, __: [[row[0] for row in sends]] * len(sends), _one_each),
    "alltoall": Exchange(
        lambda sends, _, __: [list(column) for column in zip(*sends, strict=True)],
        lambda sends, _: np.concatenate([_sizes(row) for row in sends]),
    ),
    "reduce": Exchange(
        lambda sends, root, fold: _only(len(sends), root, [_folded([row[0] for row in sends], fold)]), _largest
    ),
    "allreduce": Exchange(
        lambda sends, _, fold: [[_folded([row[0] for row in sends], fold)]] * len(sends),
        _largest,
    ),
    "reduce_scatter": Exchange(lambda sends, _, fold: [[total] for total in _columns(sends, fold)], _first_row),
    "scan": Exchange(lambda sends, _, fold: [[total] for total in _prefixes(sends, fold)], _largest),
    "exscan": Exchange(lambda sends, _, fold: [[], *([total] for total in _prefixes(sends, fold)[:-1])], _largest),
    "barrier": Exchange(lambda sends, _, __: [[] for _ in sends], lambda _, __: np.zeros(1)),
}
