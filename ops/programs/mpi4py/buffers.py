"""Buffers as mpi4py takes them: an array, `[data, type]`, `[data, count, type]` or `[data, counts, displs, type]`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.programs.mpi4py.handles.datatypes import Datatype, Whole, datatype_called, datatype_of
from ops.programs.mpi4py.memory import BOTTOM, IN_PLACE, view

Array = NDArray[Any]


def in_place(spec: Any) -> bool:
    """Does this stand for the other buffer? So does None, as in mpi4py."""
    return spec is None or spec is IN_PLACE


class Blocks:
    """Consecutive pieces of a buffer: `counts[i]` of a datatype from `displs[i]` extents on."""

    def __init__(self, array: Array, datatype: Datatype, counts: Whole, displs: Whole) -> None:
        self.array, self.datatype, self.counts, self.displs = array, datatype, counts, displs
        last = (displs + counts - 1) * datatype.extents + (
            0 if datatype.offsets is None else datatype.offsets.max(initial=0)
        )
        reach = int(last[counts > 0].max(initial=-1)) + 1
        if (counts < 0).any() or (displs < 0).any() or reach > len(array):
            name = datatype.name or "a derived datatype"
            raise ValueError(
                f"message: the buffer has {len(array)} elements of {name}, but counts {_few(counts)} at"
                f" displacements {_few(displs)} reach {reach}"
            )

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def room(self) -> list[int]:
        """Bytes of every piece."""
        sizes: list[int] = (self.counts * self.datatype.size).tolist()
        return sizes

    @property
    def elements(self) -> int:
        """Basic elements in all pieces."""
        return int(self.counts.sum()) * self.datatype.elements

    def read(self) -> list[Array]:
        """Every piece, its elements in a row: a view where they are so in the buffer."""
        if self.datatype.offsets is None:
            ends = zip(self.displs.tolist(), (self.displs + self.counts).tolist(), strict=True)
            return [self.array[a:b] for a, b in ends]
        return [self.array[self._places(i)] for i in range(len(self))]

    def copies(self) -> list[Array]:
        """As `read`, but apart from the buffer."""
        return [piece.copy() for piece in self.read()]

    def write(self, items: Sequence[Array]) -> None:
        """Put one item into every piece."""
        if self.datatype.offsets is None and len(self) and self._in_a_row():
            begin = int(self.displs[0])
            region = self.array[begin : begin + int(self.counts.sum())]
            if all(item.dtype == region.dtype for item in items):
                np.concatenate(items, out=region)
            else:
                region.view(np.uint8)[:] = np.concatenate([np.ascontiguousarray(item).view(np.uint8) for item in items])
            return
        for i, item in enumerate(items):
            self.write_piece(i, item)

    def write_piece(self, i: int, item: Array) -> None:
        """Put an item, which may be shorter, into piece i."""
        base = self.array.dtype
        values = item if item.dtype == base else np.ascontiguousarray(item).view(np.uint8).view(base)
        self.array[self._places(i)[: len(values)]] = values

    def _places(self, i: int) -> Whole:
        starts = (self.displs[i] + np.arange(self.counts[i])) * self.datatype.extents
        if self.datatype.offsets is not None:
            starts = np.add.outer(starts, self.datatype.offsets).reshape(-1)
        places: Whole = starts
        return places

    def _in_a_row(self) -> bool:
        return bool((self.displs[1:] == (self.displs + self.counts)[:-1]).all())


def _few(numbers: Whole) -> str:
    shown = ", ".join(map(str, numbers[:6].tolist()))
    return f"[{shown}, …]" if len(numbers) > 6 else f"[{shown}]"


def one(spec: Any, *, writes: bool = False, optional: bool = False) -> Blocks:
    """A buffer as a single piece. Raises TypeError or ValueError in mpi4py's manner; None passes where it may."""
    if spec is None and optional:
        spec = (None, 0, datatype_of("u1"))
    data, counts, displs, datatype = _parts(spec)
    array, datatype = _typed(data, datatype, writes=writes)
    if counts is None:
        counts = _whole(len(array), datatype)
    if np.ndim(counts):
        raise TypeError("message: expecting a single count, not one per rank")
    return Blocks(array, datatype, np.array([counts], np.int64), np.array([displs or 0], np.int64))


def many(spec: Any, n: int, *, writes: bool = False) -> Blocks:
    """A buffer as n pieces: given counts and displacements, or n equal shares."""
    data, counts, displs, datatype = _parts(spec)
    array, datatype = _typed(data, datatype, writes=writes)
    if counts is None:
        total = _whole(len(array), datatype)
        if total % n:
            raise ValueError(f"message: buffer too small for requested count: {total} elements are no {n} equal blocks")
        counts = total // n
    sizes = np.full(n, counts, np.int64) if np.ndim(counts) == 0 else np.asarray(counts, np.int64).reshape(-1)
    places = np.cumsum(sizes) - sizes if displs is None else np.asarray(displs, np.int64)
    if places.ndim == 0:  # a single displacement is the distance from block to block
        places = np.arange(n) * places
    if len(sizes) != n or len(places) != n:
        raise ValueError(f"message: {len(sizes)} counts and {len(places)} displacements for {n} ranks: give one each")
    return Blocks(array, datatype, sizes, places)


def _whole(length: int, datatype: Datatype) -> int:
    if datatype.offsets is None:
        return length
    reach = int(datatype.offsets.max(initial=-1)) + 1
    return 0 if length < reach else 1 + (length - reach) // datatype.extents


def _parts(spec: Any) -> tuple[Any, Any, Any, Datatype | None]:
    """Data, counts, displacements and type of a specification."""
    if spec is None or isinstance(spec, (str, int, float)):
        raise TypeError("message: expecting buffer or list/tuple")
    if not isinstance(spec, (list, tuple)):
        return spec, None, None, None
    parts = list(spec)
    if not 2 <= len(parts) <= 4:
        raise ValueError("message: expecting 2 to 4 items")
    data, rest = parts[0], parts[1:]
    datatype = None
    if isinstance(rest[-1], (Datatype, str)) or (rest[-1] is None and len(rest) == 3):
        last = rest.pop()
        datatype = datatype_called(last) if isinstance(last, str) else last
    counts = rest[0] if rest else None
    displs = rest[1] if len(rest) > 1 else None
    if displs is None and isinstance(counts, tuple) and len(counts) == 2:  # a tuple is a pair, a list has counts
        counts, displs = counts
    return data, counts, displs, datatype


def _typed(data: Any, datatype: Datatype | None, *, writes: bool) -> tuple[Array, Datatype]:
    """The buffer as a row of the datatype's basic elements, without copying it."""
    if datatype is not None:
        datatype.stands()
    if data is None:
        return np.zeros(0, np.uint8 if datatype is None else datatype.base), datatype or datatype_of("u1")
    if data is BOTTOM:
        raise NotImplementedError("MPI.BOTTOM, for addresses of the whole memory, is not simulated: give the array")
    array = view(data, writes=writes)
    if datatype is None:
        return array, datatype_of(array.dtype)
    if array.dtype == datatype.base:
        return array, datatype
    raw = array.view(np.uint8)
    return raw[: len(raw) - len(raw) % datatype.base.itemsize].view(datatype.base), datatype
