"""Names for the arrays that columns are, and memory for long ones."""

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Whole = TypeVar("Whole", bound=np.integer[Any])
PAGE = 1 << 21
"""Bytes of a large page, of which the system gives one at once where it would give hundreds of small ones in turn."""


def blank(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array like `numpy.empty`, C-contiguous, which a long one fills at a fifth of the cost.

    A large page begins at a multiple of its size, and what lies before the first one and after the last is of small
    pages. So a long array begins where a large page does, and ends with room for the last if that
    is an eighth more at most. What is taken are two pages or more, for which numpy asks for large ones.
    """
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    more = -size % PAGE
    more = more if 8 * more <= size else 0
    if size + more < PAGE:
        return np.empty(shape, dtype)
    memory = np.empty(size + PAGE + more, np.uint8)
    begin = -memory.ctypes.data % PAGE
    return memory[begin : begin + size].view(dtype).reshape(shape)


def joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of one dimension, end to end; int32 where there are none."""
    if not arrays:
        return np.zeros(0, np.int32)
    return np.concatenate(arrays, out=blank(sum(map(len, arrays)), np.result_type(*{array.dtype for array in arrays})))


def each_once(numbers: NDArray[Whole]) -> NDArray[Whole]:
    """The different ones of some whole numbers, ascending.

    What `numpy.unique` gives, which looks them up one by one: of a million it is seventy times slower than to sort.

    >>> each_once(np.array([[3, 1], [3, 2]]))
    array([1, 2, 3])
    """
    ordered = np.sort(numbers, axis=None)
    isnew = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=isnew[1:])
    return ordered[isnew]


def counted(stop: int) -> Ints:
    """The numbers from 0 up to `stop`, without it.

    >>> counted(3)
    array([0, 1, 2], dtype=int32)
    """
    piece = np.arange(min(stop, 1 << 14), dtype=np.int32)
    if stop == len(piece):
        return piece
    numbers = blank(stop, np.int32)
    for start in range(0, stop, len(piece)):
        part = numbers[start : start + len(piece)]
        np.add(piece[: len(part)], np.int32(start), out=part)
    return numbers
