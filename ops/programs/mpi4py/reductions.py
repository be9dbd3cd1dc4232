"""MPI's reduction operations, on arrays and on objects."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.programs.mpi4py.buffers import one
from ops.programs.mpi4py.datatypes import datatype_of

Array = NDArray[Any]


class Op:
    """`arrays(a, b)` and `objects(a, b)` combine two contributions, the lower rank's first.

    `commutes` is None for a user's own commutative operation, as libraries treat those with care.
    """

    def __init__(
        self,
        name: str,
        arrays: Callable[[Array, Array], Array],
        objects: Callable[[Any, Any], Any],
        commutes: bool | None = True,
    ) -> None:
        self.name, self.arrays, self.objects, self.commutes = name, arrays, objects, commutes

    def __call__(self, a: Any, b: Any) -> Any:
        """Two objects combined."""
        return self.objects(a, b)

    def __repr__(self) -> str:
        return self.name

    @classmethod
    def Create(cls, function: Callable[..., Any], commute: bool = False) -> "Op":  # noqa: N802
        """A user's operation: `function(in, inout, datatype)` on buffers, `function(a, b)` on objects."""
        name = getattr(function, "__name__", "user operation")

        def arrays(a: Array, b: Array) -> Array:
            total = b.copy()
            function(a.copy().data.cast("B"), total.data.cast("B"), datatype_of(a.dtype))
            return total

        def objects(a: Any, b: Any) -> Any:
            return function(a, b)

        return cls(name, arrays, objects, None if commute else False)

    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:  # noqa: N802
        """Combine two buffers of one rank into the second."""
        operand, total = one(inbuf), one(inoutbuf, writes=True)
        if operand.room != total.room:
            raise ValueError(f"message: {operand.room[0]} bytes cannot be combined with {total.room[0]}")
        total.write([self.arrays(operand.read()[0], total.read()[0])])

    def Is_commutative(self) -> bool:  # noqa: N802
        """Whether operands may change places."""
        return self.commutes is not False

    @property
    def is_commutative(self) -> bool:
        """Whether operands may change places."""
        return self.commutes is not False

    def Free(self) -> None:  # noqa: N802
        """Nothing to give back."""


def _quiet(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Overflow and NaN are the numbers' own affair, as in an MPI library."""

    def combine(a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(a, b), a.dtype)

    return combine


def _by_place(better: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """MAXLOC and MINLOC on (value, index) pairs: the better value, of equal ones the lower index."""

    def combine(a: Array, b: Array) -> Array:
        if a.dtype.names is None:
            raise TypeError("MAXLOC and MINLOC take pairs of a value and an index, like MPI.DOUBLE_INT")
        first = better(a["value"], b["value"]) | ((a["value"] == b["value"]) & (a["index"] <= b["index"]))
        return np.where(first, a, b)

    return combine


def _located(better: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def combine(a: Any, b: Any) -> Any:
        (u, i), (v, j) = a, b
        if u == v:
            return u, min(i, j)
        return (u, i) if better(u, v) else (v, j)

    return combine


OPS: dict[str, Op] = {
    "SUM": Op("MPI.SUM", _quiet(np.add), lambda a, b: a + b),
    "PROD": Op("MPI.PROD", _quiet(np.multiply), lambda a, b: a * b),
    "MAX": Op("MPI.MAX", _quiet(np.maximum), lambda a, b: b if b > a else a),
    "MIN": Op("MPI.MIN", _quiet(np.minimum), lambda a, b: b if b < a else a),
    "LAND": Op("MPI.LAND", _quiet(np.logical_and), lambda a, b: bool(a) & bool(b)),
    "LOR": Op("MPI.LOR", _quiet(np.logical_or), lambda a, b: bool(a) | bool(b)),
    "LXOR": Op("MPI.LXOR", _quiet(np.logical_xor), lambda a, b: bool(a) ^ bool(b)),
    "BAND": Op("MPI.BAND", _quiet(np.bitwise_and), lambda a, b: a & b),
    "BOR": Op("MPI.BOR", _quiet(np.bitwise_or), lambda a, b: a | b),
    "BXOR": Op("MPI.BXOR", _quiet(np.bitwise_xor), lambda a, b: a ^ b),
    "MAXLOC": Op("MPI.MAXLOC", _by_place(np.greater), _located(lambda a, b: a > b)),
    "MINLOC": Op("MPI.MINLOC", _by_place(np.less), _located(lambda a, b: a < b)),
    "REPLACE": Op("MPI.REPLACE", lambda a, b: b, lambda a, b: b, commutes=False),
    "NO_OP": Op("MPI.NO_OP", lambda a, b: a, lambda a, b: a, commutes=False),
}
