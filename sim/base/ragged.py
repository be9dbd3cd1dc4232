"""Ragged arrays: rows of unequal length in one array, row i from `offsets[i]` up to `offsets[i + 1]`."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.integer[Any]]
Offset = TypeVar("Offset", bound=np.integer[Any])
Value = TypeVar("Value", bound=np.generic)


def offsets_of(lengths: NDArray[Any] | Sequence[int]) -> NDArray[np.int64]:
    """Return where rows of these lengths begin, and behind them where the last one ends.

    >>> offsets_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def counts_of(offsets: Index, is_marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many values of every row are marked.

    >>> counts_of(np.array([0, 2, 2, 5]), np.array([True, False, True, True, False]))
    array([1, 0, 2])
    """
    before = offsets_of(is_marked)
    return before[offsets[1:]] - before[offsets[:-1]]


def row_numbers(offsets: Index) -> NDArray[np.int64]:
    """Return of every value the row it stands in.

    >>> row_numbers(np.array([0, 2, 2, 5]))
    array([0, 0, 2, 2, 2])
    """
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def ranges(starts: Index | int, lengths: Index) -> NDArray[np.int64]:
    """The numbers of several runs in a row: `lengths[i]` of them counted up from `starts[i]`, for every i.

    `starts` and `lengths` have one entry per run, or `starts` is the one start of all; a length of 0 adds nothing.

    >>> ranges(np.array([5, 8, 20]), np.array([2, 0, 3]))
    array([ 5,  6, 20, 21, 22])

    Five numbers are due, and 0 1 2 3 4 is counted easily. The first run shall begin at 5 where the count is 0, the
    last one at 20 where the count is 2: adding 5 5 18 18 18 makes it so.
    """
    ends = np.cumsum(lengths, dtype=np.int64)
    numbers = np.repeat(starts - (ends - lengths), lengths)
    numbers += np.arange(len(numbers))
    return numbers


def take(offsets: NDArray[Offset], values: NDArray[Value], rows: Index) -> tuple[NDArray[Offset], NDArray[Value]]:
    """Some rows of a ragged array, in the order of `rows`, as a ragged array: its offsets and its values.

    >>> take(np.array([0, 2, 3, 6]), np.array([10, 11, 12, 13, 14, 15]), np.array([2, 0]))
    (array([0, 3, 5]), array([13, 14, 15, 10, 11]))
    """
    starts = offsets[rows]
    lengths = offsets[rows + 1] - starts
    taken = np.zeros(len(rows) + 1, offsets.dtype)
    np.cumsum(lengths, out=taken[1:])
    return taken, values[ranges(starts, lengths)]
