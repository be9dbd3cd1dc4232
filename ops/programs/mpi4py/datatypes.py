"""MPI datatypes over numpy: predefined ones, and derived ones as a map of where their elements lie."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]


class Datatype:
    """`base` elements at `offsets`, repeated every `extent` elements; plain ones have a single element at 0."""

    def __init__(self, name: str, base: np.dtype[Any], offsets: Whole | None = None, extent: int = 1) -> None:
        self.name, self.base, self.offsets, self.extent = name, base, offsets, extent

    @property
    def elements(self) -> int:
        """How many basic elements one of it has."""
        return 1 if self.offsets is None else len(self.offsets)

    @property
    def size(self) -> int:
        """Bytes of data in one of it."""
        return self.elements * self.base.itemsize

    def Get_size(self) -> int:  # noqa: N802
        """Bytes of data in one of it."""
        return self.size

    def Get_extent(self) -> tuple[int, int]:  # noqa: N802
        """Lower bound and extent in bytes."""
        return 0, self.extent * self.base.itemsize

    def Get_name(self) -> str:  # noqa: N802
        """Its MPI name."""
        return self.name

    def Commit(self) -> "Datatype":  # noqa: N802
        """Derived types are ready as they are."""
        return self

    def Free(self) -> None:  # noqa: N802
        """Nothing to give back."""

    def Create_contiguous(self, count: int) -> "Datatype":  # noqa: N802
        """`count` of it in a row."""
        return self._at(np.arange(count) * self.extent, count * self.extent)

    def Create_vector(self, count: int, blocklength: int, stride: int) -> "Datatype":  # noqa: N802
        """`count` blocks of `blocklength`, `stride` of it apart."""
        starts = np.add.outer(np.arange(count) * stride, np.arange(blocklength)).reshape(-1)
        return self._at(starts * self.extent, ((count - 1) * stride + blocklength) * self.extent)

    def Create_indexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> "Datatype":  # noqa: N802
        """Blocks of given lengths at given places, counted in its extent."""
        pairs = list(zip(blocklengths, displacements, strict=True))
        starts = np.concatenate([np.arange(length) + at for length, at in pairs] or [np.zeros(0, np.int64)])
        return self._at(starts * self.extent, int(starts.max(initial=-1) + 1) * self.extent)

    def Create_indexed_block(self, blocklength: int, displacements: Sequence[int]) -> "Datatype":  # noqa: N802
        """Blocks of one length at given places, counted in its extent."""
        return self.Create_indexed([blocklength] * len(displacements), displacements)

    @classmethod
    def fromcode(cls, code: str) -> "Datatype":
        """The predefined type of a typecode."""
        return datatype_called(code)

    def Create_subarray(  # noqa: N802
        self, sizes: Sequence[int], subsizes: Sequence[int], starts: Sequence[int], order: int = 0
    ) -> "Datatype":
        """A box inside an array in C (0) or Fortran order."""
        places = np.arange(math.prod(sizes)).reshape(tuple(sizes), order="F" if order else "C")
        box = places[tuple(slice(a, a + length) for a, length in zip(starts, subsizes, strict=True))]
        return self._at(np.sort(box.reshape(-1)) * self.extent, math.prod(sizes) * self.extent)

    def Create_resized(self, lb: int, extent: int) -> "Datatype":  # noqa: N802
        """The same elements, repeated every `extent` bytes."""
        if lb or extent % self.base.itemsize:
            raise ValueError("a resized type begins at 0 and its extent is a whole number of elements here")
        return Datatype(self.name, self.base, self._offsets, extent // self.base.itemsize)

    @property
    def _offsets(self) -> Whole:
        return np.zeros(1, np.int64) if self.offsets is None else self.offsets

    def _at(self, starts: Whole, extent: int) -> "Datatype":
        offsets = np.add.outer(starts, self._offsets).reshape(-1)
        return Datatype(f"{self.name}*", self.base, offsets, extent)

    def __repr__(self) -> str:
        return f"MPI.{self.name}"


def _plain(names: str, code: str) -> dict[str, Datatype]:
    return {name: Datatype(name, np.dtype(code)) for name in names.split()}


def _pair(name: str, code: str) -> dict[str, Datatype]:
    return {name: Datatype(name, np.dtype([("value", code), ("index", "i4")], align=True))}


DATATYPES: dict[str, Datatype] = {
    **_plain("BYTE CHAR UNSIGNED_CHAR UINT8_T CHARACTER PACKED", "u1"), **_plain("SIGNED_CHAR INT8_T INTEGER1", "i1"),
    **_plain("BOOL C_BOOL CXX_BOOL LOGICAL", "?"), **_plain("SHORT INT16_T INTEGER2", "i2"),
    **_plain("UNSIGNED_SHORT UINT16_T", "u2"), **_plain("INT INT32_T INTEGER INTEGER4", "i4"),
    **_plain("UNSIGNED UNSIGNED_INT UINT32_T", "u4"),
    **_plain("LONG LONG_LONG INT64_T INTEGER8 AINT OFFSET COUNT", "i8"),
    **_plain("UNSIGNED_LONG UNSIGNED_LONG_LONG UINT64_T", "u8"), **_plain("FLOAT REAL REAL4", "f4"),
    **_plain("DOUBLE DOUBLE_PRECISION REAL8", "f8"), **_plain("LONG_DOUBLE", "g"),
    **_plain("COMPLEX C_FLOAT_COMPLEX COMPLEX8 C_COMPLEX", "c8"),
    **_plain("DOUBLE_COMPLEX C_DOUBLE_COMPLEX COMPLEX16", "c16"),
    **_plain("C_LONG_DOUBLE_COMPLEX CXX_LONG_DOUBLE_COMPLEX", "G"),
    **_pair("FLOAT_INT", "f4"), **_pair("DOUBLE_INT", "f8"), **_pair("LONG_INT", "i8"), **_pair("SHORT_INT", "i2"),
    **_pair("TWOINT", "i4"), **_pair("INT_INT", "i4"),
}  # fmt: skip
_BY_DTYPE = {
    np.dtype(code): DATATYPES[name]
    for code, name in (
        ("u1", "BYTE"), ("i1", "SIGNED_CHAR"), ("?", "C_BOOL"), ("i2", "SHORT"), ("u2", "UNSIGNED_SHORT"),
        ("i4", "INT"), ("u4", "UNSIGNED"), ("i8", "LONG"), ("u8", "UNSIGNED_LONG"), ("f4", "FLOAT"), ("f8", "DOUBLE"),
        ("g", "LONG_DOUBLE"), ("c8", "C_FLOAT_COMPLEX"), ("c16", "C_DOUBLE_COMPLEX"), ("G", "C_LONG_DOUBLE_COMPLEX"),
    )
}  # fmt: skip


def datatype_of(dtype: Any) -> Datatype:
    """The datatype of a numpy dtype, or of what becomes one. Raises TypeError for one MPI does not have."""
    plain = np.dtype(dtype)
    if plain in _BY_DTYPE:
        return _BY_DTYPE[plain]
    if plain == np.dtype("f2"):
        return Datatype("FLOAT16", plain)
    raise TypeError(f"MPI has no datatype for {plain}: send its bytes as [array, MPI.BYTE]")


def datatype_called(code: str) -> Datatype:
    """The datatype of a typecode such as `d` or `i`, or of a name. Raises TypeError."""
    return DATATYPES[code] if code in DATATYPES else datatype_of(code)
