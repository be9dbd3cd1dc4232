"""MPI datatypes over numpy: predefined ones, and derived ones as a map of where their elements lie."""
# ruff: noqa: N802  methods are called as mpi4py calls them

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ops.programs.mpi4py.handles.attributes import Attributed
from ops.programs.mpi4py.handles.constants import CONSTANTS, ORDER_C, ORDER_FORTRAN
from ops.programs.mpi4py.handles.envelope import Enveloped, recipe
from ops.programs.mpi4py.handles.errors import whole, wrong
from ops.programs.mpi4py.handles.packing import Packing

Whole = NDArray[np.int64]
BYTES = np.dtype("u1")
MOST_ELEMENTS = 1 << 25
"""Of one derived type, whose places are kept one by one."""


class Datatype(Packing, Enveloped, Attributed):
    """`base` elements at `offsets`, repeated every `extent` elements; plain ones have a single element at 0.

    The token is the same of all handles for one type; `made` is how a derived one came about.
    """

    kind, error = "Datatype", "ERR_TYPE"
    name = ""
    base: np.dtype[Any] = BYTES
    offsets: Whole | None = None
    extents = 1
    """From one of it to the next, in elements of the base."""
    basic = 1
    """How many basic elements one of it has, whatever their types."""
    made: tuple[Any, str, dict[str, Any]] | None = None

    @classmethod
    def over(cls, base: np.dtype[Any], offsets: Whole | None = None, extent: int = 1, *, name: str = "") -> Self:
        """A type of elements at these places, counted in elements."""
        made = cls.__new__(cls)
        made.token, made.name, made.base, made.offsets, made.extents = object(), name, base, offsets, extent
        made.basic = 1 if offsets is None else len(offsets)
        return made

    @property
    def elements(self) -> int:
        """How many elements of the base one of it has."""
        return 1 if self.offsets is None else len(self.offsets)

    @property
    def size(self) -> int:
        """Bytes of data in one of it."""
        self.stands()
        return self.elements * self.base.itemsize

    @property
    def extent(self) -> int:
        """Bytes from one of it to the next."""
        return self.extents * self.base.itemsize

    ub = extent

    @property
    def lb(self) -> int:
        """Where it begins."""
        return 0

    @property
    def true_lb(self) -> int:
        """Bytes before its first element."""
        return 0 if self.offsets is None else int(self.offsets.min(initial=self.extents)) * self.base.itemsize

    @property
    def true_ub(self) -> int:
        """Bytes up to the end of its last element."""
        return (1 if self.offsets is None else int(self.offsets.max(initial=-1)) + 1) * self.base.itemsize

    @property
    def true_extent(self) -> int:
        """Bytes from its first element to the end of the last."""
        return self.true_ub - self.true_lb

    @property
    def is_predefined(self) -> bool:
        """Whether MPI has it by name, or it is null."""
        return self.made is None

    is_named = is_predefined

    @property
    def combiner(self) -> int:
        """How it was made."""
        return CONSTANTS[f"COMBINER_{'NAMED' if self.made is None else self.made[1]}"]

    @property
    def typestr(self) -> str:
        """Numpy's name of a predefined type."""
        original = self.original()
        return original.base.str[1:] if original.is_predefined else f"V{self.extent}"

    @property
    def typechar(self) -> str:
        """Numpy's letter of a predefined type."""
        original = self.original()
        return original.base.char if original.is_predefined else "V"

    def tocode(self) -> str:
        """The typecode of a predefined type. Raises ValueError for one that has none."""
        datatype = self.original()
        if datatype.token is None or not datatype.is_predefined or datatype.base.char == "V":
            raise ValueError(f"cannot map to character code: {datatype.name or 'a derived datatype'}")
        named = {"MPI_CHAR": "c", "MPI_LONG_LONG": "q", "MPI_UNSIGNED_LONG_LONG": "Q"}
        return named.get(datatype.name) or ("b1" if datatype.base.char == "?" else datatype.base.char)

    def Get_size(self) -> int:
        """Bytes of data in one of it."""
        return self.size

    def Get_extent(self) -> tuple[int, int]:
        """Lower bound and extent in bytes."""
        self.stands()
        return 0, self.extent

    def Get_true_extent(self) -> tuple[int, int]:
        """Where its elements begin, and how far they reach from there, in bytes."""
        return self.true_lb, self.true_extent

    def Get_name(self) -> str:
        """Its MPI name."""
        return self.name

    def Set_name(self, name: str) -> None:
        """Give it a name."""
        self.name = name

    def remade(self) -> Any:
        """What it was made of."""
        if self.made is None:
            return super().remade()
        base, how, arguments = self.made
        return (_rebuilt, (base, how, arguments))

    def Commit(self) -> "Datatype":
        """Derived types are ready as they are."""
        self.stands()
        return self

    def Dup(self) -> "Datatype":
        """Another one of the same."""
        copied = self._at(np.zeros(1, np.int64), self.extents, "DUP")
        copied.basic = self.basic
        self.copy_attributes(copied)
        return copied

    Create_dup = Dup

    def Create_contiguous(self, count: int) -> "Datatype":
        """`count` of it in a row."""
        _limited(count * self.elements)
        return self._at(np.arange(count) * self.extents, count * self.extents, "CONTIGUOUS", count=count)

    def Create_vector(self, count: int, blocklength: int, stride: int) -> "Datatype":
        """`count` blocks of `blocklength`, `stride` of it apart."""
        _limited(count * blocklength * self.elements)
        starts = np.add.outer(np.arange(count) * stride, np.arange(blocklength)).reshape(-1)
        return self._at(
            starts * self.extents, self._reach(starts), "VECTOR", count=count, blocklength=blocklength, stride=stride
        )

    def Create_hvector(self, count: int, blocklength: int, stride: int) -> "Datatype":
        """`count` blocks of `blocklength`, `stride` bytes apart."""
        arguments = {"count": count, "blocklength": blocklength, "stride": stride}
        return self._blocks([blocklength] * count, [i * stride for i in range(count)], "HVECTOR", arguments)

    def Create_indexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> "Datatype":
        """Blocks of given lengths at given places, counted in its extent."""
        pairs = list(zip(blocklengths, displacements, strict=True))
        _limited(sum(blocklengths) * self.elements)
        starts = np.concatenate([np.arange(length) + at for length, at in pairs] or [np.zeros(0, np.int64)])
        arguments = {"blocklengths": list(blocklengths), "displacements": list(displacements)}
        return self._at(starts * self.extents, self._reach(starts), "INDEXED", **arguments)

    def Create_indexed_block(self, blocklength: int, displacements: Sequence[int]) -> "Datatype":
        """Blocks of one length at given places, counted in its extent."""
        made = self.Create_indexed([blocklength] * len(displacements), displacements)
        arguments = {"blocklength": blocklength, "displacements": list(displacements)}
        made.made = recipe(self, "INDEXED_BLOCK", arguments)
        return made

    def Create_hindexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> "Datatype":
        """Blocks of given lengths at given places, counted in bytes."""
        arguments = {"blocklengths": list(blocklengths), "displacements": list(displacements)}
        return self._blocks(blocklengths, displacements, "HINDEXED", arguments)

    def Create_hindexed_block(self, blocklength: int, displacements: Sequence[int]) -> "Datatype":
        """Blocks of one length at given places, counted in bytes."""
        arguments = {"blocklength": blocklength, "displacements": list(displacements)}
        return self._blocks([blocklength] * len(displacements), displacements, "HINDEXED_BLOCK", arguments)

    @classmethod
    def Create_struct(
        cls, blocklengths: Sequence[int], displacements: Sequence[int], datatypes: Sequence["Datatype"]
    ) -> "Datatype":
        """Blocks of several types, at places counted in bytes."""
        arguments = {
            "blocklengths": list(blocklengths), "displacements": list(displacements), "datatypes": list(datatypes),
        }  # fmt: skip
        return _struct(list(zip(blocklengths, displacements, datatypes, strict=True)), BYTE, "STRUCT", arguments)

    def Create_subarray(
        self, sizes: Sequence[int], subsizes: Sequence[int], starts: Sequence[int], order: int = ORDER_C
    ) -> "Datatype":
        """A box inside an array in C or Fortran order."""
        _limited(math.prod(sizes) * self.elements)
        places = np.arange(math.prod(sizes)).reshape(tuple(sizes), order="F" if order == ORDER_FORTRAN else "C")
        box = places[tuple(slice(a, a + length) for a, length in zip(starts, subsizes, strict=True))]
        arguments = {"sizes": list(sizes), "subsizes": list(subsizes), "starts": list(starts), "order": order}
        offsets = np.sort(box.reshape(-1)) * self.extents
        return self._at(offsets, math.prod(sizes) * self.extents, "SUBARRAY", **arguments)

    def Create_resized(self, lb: int, extent: int) -> "Datatype":
        """The same elements, repeated every `extent` bytes. Raises NotImplementedError where it begins before them."""
        if lb:
            raise NotImplementedError("a resized type begins at 0: lower bounds of others are not simulated")
        base = self if extent % self.base.itemsize == 0 else self._bytewise()
        made = Datatype.over(base.base, base._offsets, extent // base.base.itemsize)
        made.basic, made.made = self.basic, recipe(self, "RESIZED", {"lb": lb, "extent": extent})
        return made

    Resized = Create_resized

    @classmethod
    def Match_size(cls, typeclass: int, size: int) -> "Datatype":
        """The predefined type of a class, like TYPECLASS_REAL, with so many bytes."""
        kinds = ("REAL", "INTEGER", "COMPLEX", "LOGICAL")
        name = next((f"{kind}{size}" for kind in kinds if CONSTANTS[f"TYPECLASS_{kind}"] == typeclass), "")
        return DATATYPES.get(name) or wrong("ERR_ARG", f"no type of class {typeclass} has {size} bytes")

    @classmethod
    def Get_value_index(cls, value: "Datatype", index: "Datatype") -> "Datatype":
        """The type of pairs of these two, or the null type. Raises MPI.Exception for a null type."""
        value.stands()
        index.stands()
        pairs = (t for name, t in DATATYPES.items() if t.base.names and name != "TWOINT")
        return next((t for t in pairs if (t.base["value"], DATATYPES["INT"]) == (value.base, index)), NULL)

    @classmethod
    def fromcode(cls, code: str) -> "Datatype":
        """The predefined type of a typecode. Raises ValueError for no such code."""
        try:
            return datatype_called(code)
        except KeyError:
            raise ValueError(f"cannot map from character code: {code!r}") from None

    @property
    def _offsets(self) -> Whole:
        return np.zeros(1, np.int64) if self.offsets is None else self.offsets

    def _reach(self, starts: Whole) -> int:
        """The extent of copies of it at these places."""
        return int(starts.max(initial=-1) + 1) * self.extents

    def _bytewise(self) -> "Datatype":
        """The same as a map of bytes."""
        size = self.base.itemsize
        offsets = np.add.outer(self._offsets * size, np.arange(size)).reshape(-1)
        made = Datatype.over(BYTES, offsets, self.extents * size)
        made.basic = self.basic
        return made

    def _at(self, starts: Whole, extent: int, how: str, /, **arguments: Any) -> "Datatype":
        """Copies of it at these places, counted in elements of its base."""
        self.stands()
        if starts.min(initial=0) < 0:
            raise NotImplementedError("displacements before the beginning of a buffer are not simulated")
        offsets = np.add.outer(starts, self._offsets).reshape(-1)
        made = Datatype.over(self.base, offsets, extent)
        made.basic, made.made = self.basic * len(starts), recipe(self, how, arguments)
        return made

    def _blocks(self, lengths: Sequence[int], places: Sequence[int], how: str, arguments: dict[str, Any]) -> "Datatype":
        """Blocks of it at places counted in bytes."""
        return _struct([(length, at, self) for length, at in zip(lengths, places, strict=True)], self, how, arguments)


def _struct(blocks: Sequence[tuple[int, int, Datatype]], of: Datatype, how: str, arguments: dict[str, Any]) -> Datatype:
    """Blocks of (length, place in bytes, type); elements stay whole where all lie on multiples of one base's size."""
    for _, _, datatype in blocks:
        datatype.stands()
    base = blocks[0][2].base if blocks else BYTES
    aligned = all(datatype.base == base and at % base.itemsize == 0 for _, at, datatype in blocks)
    base = base if aligned else BYTES
    _limited(sum(length * datatype.size for length, _, datatype in blocks) // base.itemsize)
    pieces, reach, basic = [np.zeros(0, np.int64)], 0, 0
    for length, at, datatype in blocks:
        part = datatype if aligned else datatype._bytewise()
        starts = at // base.itemsize + np.arange(whole(length)) * part.extents
        pieces.append(np.add.outer(starts, part._offsets).reshape(-1))
        reach, basic = max(reach, int(starts.max(initial=0)) + part.extents), basic + len(starts) * datatype.basic
    offsets = np.concatenate(pieces)
    if offsets.min(initial=0) < 0:
        raise NotImplementedError("displacements before the beginning of a buffer are not simulated")
    align = 1 if aligned else max(datatype.base.itemsize for _, _, datatype in blocks)
    extent = reach if how != "STRUCT" else -(-reach // align) * align
    made = Datatype.over(base, offsets, extent)
    made.basic, made.made = basic, recipe(of, how, arguments)
    return made


def _limited(elements: int) -> None:
    if elements > MOST_ELEMENTS:
        raise NotImplementedError(
            f"a derived type of {elements:,} elements is not simulated: {MOST_ELEMENTS:,} are the most"
        )


def _rebuilt(base: Datatype, how: str, arguments: dict[str, Any]) -> Datatype:
    made: Datatype = getattr(base, f"Create_{how.lower()}")(**arguments)
    return made


def _plain(names: str, code: str) -> dict[str, Datatype]:
    return {name: Datatype.over(np.dtype(code), name=f"MPI_{name}") for name in names.split()}


def _pair(name: str, code: str) -> dict[str, Datatype]:
    dtype = np.dtype([("value", code), ("index", "i4")], align=True)
    return {name: Datatype.over(dtype, name=f"MPI_{name.replace('TWOINT', '2INT')}")}


DATATYPES: dict[str, Datatype] = {
    **_plain("BYTE CHAR UNSIGNED_CHAR UINT8_T CHARACTER PACKED", "u1"),
    **_plain("SIGNED_CHAR INT8_T SINT8_T INTEGER1", "i1"),
    **_plain("BOOL C_BOOL CXX_BOOL LOGICAL LOGICAL1 F_BOOL", "?"),
    **_plain("SHORT INT16_T SINT16_T SIGNED_SHORT INTEGER2 LOGICAL2", "i2"),
    **_plain("UNSIGNED_SHORT UINT16_T", "u2"),
    **_plain("INT INT32_T SINT32_T SIGNED_INT INTEGER INTEGER4 F_INT LOGICAL4 WCHAR", "i4"),
    **_plain("UNSIGNED UNSIGNED_INT UINT32_T", "u4"), **_plain("FLOAT16_T REAL2", "f2"),
    **_plain(
        "LONG LONG_LONG INT64_T SINT64_T SIGNED_LONG SIGNED_LONG_LONG INTEGER8 AINT OFFSET COUNT LOGICAL8", "i8"
    ),
    **_plain("UNSIGNED_LONG UNSIGNED_LONG_LONG UINT64_T", "u8"),
    **_plain("FLOAT FLOAT32_T REAL REAL4 F_FLOAT", "f4"),
    **_plain("DOUBLE FLOAT64_T DOUBLE_PRECISION REAL8 F_DOUBLE", "f8"), **_plain("LONG_DOUBLE REAL16", "g"),
    **_plain("COMPLEX C_COMPLEX C_FLOAT_COMPLEX CXX_FLOAT_COMPLEX COMPLEX8 F_COMPLEX F_FLOAT_COMPLEX", "c8"),
    **_plain("DOUBLE_COMPLEX C_DOUBLE_COMPLEX CXX_DOUBLE_COMPLEX COMPLEX16 F_DOUBLE_COMPLEX", "c16"),
    **_plain("BFLOAT16_T", "V2"), **_plain("COMPLEX4", "V4"), **_plain("INTEGER16 LOGICAL16", "V16"),
    **_plain("C_LONG_DOUBLE_COMPLEX CXX_LONG_DOUBLE_COMPLEX COMPLEX32", "G"),
    **_pair("FLOAT_INT", "f4"), **_pair("DOUBLE_INT", "f8"), **_pair("LONG_INT", "i8"), **_pair("SHORT_INT", "i2"),
    **_pair("TWOINT", "i4"), **_pair("INT_INT", "i4"), **_pair("LONG_DOUBLE_INT", "g"),
}  # fmt: skip
BYTE = DATATYPES["BYTE"]
NULL = Datatype()
NULL.name = "MPI_DATATYPE_NULL"
BY_CODE = {
    code: DATATYPES[name]
    for code, name in (
        ("u1", "BYTE"), ("i1", "SIGNED_CHAR"), ("?", "C_BOOL"), ("i2", "SHORT"), ("u2", "UNSIGNED_SHORT"),
        ("i4", "INT"), ("u4", "UNSIGNED"), ("i8", "LONG"), ("u8", "UNSIGNED_LONG"), ("f4", "FLOAT"), ("f8", "DOUBLE"),
        ("g", "LONG_DOUBLE"), ("c8", "C_FLOAT_COMPLEX"), ("c16", "C_DOUBLE_COMPLEX"), ("G", "C_LONG_DOUBLE_COMPLEX"),
        ("f2", "FLOAT16_T"), ("S1", "CHAR"), ("q", "LONG_LONG"), ("Q", "UNSIGNED_LONG_LONG"),
    )
}  # fmt: skip
"""The predefined types that mpi4py takes for numpy's."""
_BY_DTYPE = {np.dtype(code): datatype for code, datatype in BY_CODE.items() if code not in "qQ"}


def datatype_of(dtype: Any) -> Datatype:
    """The datatype of a numpy dtype, or of what becomes one. Raises TypeError for one MPI does not have."""
    plain = np.dtype(dtype)
    if plain not in _BY_DTYPE:
        raise TypeError(f"MPI has no datatype for {plain}: send its bytes as [array, MPI.BYTE]")
    return _BY_DTYPE[plain]


def datatype_called(code: str) -> Datatype:
    """The datatype of a typecode such as `d` or `i`, or of a name. Raises TypeError or KeyError."""
    if code in DATATYPES:
        return DATATYPES[code]
    try:
        return datatype_of("S1" if code == "c" else code)
    except TypeError:
        raise KeyError(code) from None
