"""MPI's reduction operations, on arrays and on objects."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ops.programs.mpi4py.buffers import one
from ops.programs.mpi4py.handles.datatypes import datatype_of
from ops.programs.mpi4py.handles.handle import Handle
from ops.programs.mpi4py.memory import Memory

Array = NDArray[Any]


class Op(Handle):
    """`arrays(a, b)` and `objects(a, b)` combine two contributions, the lower rank's first.

    `commutes` is None for a user's own commutative operation, as libraries treat those with care. The token is the
    same of all handles for one operation; a user's `function` travels with it when it is pickled.
    """

    kind, error = "Op", "ERR_OP"
    name = "MPI.OP_NULL"
    commutes: bool | None = True
    function: Callable[..., Any] | None = None

    @classmethod
    def over(
        cls,
        name: str,
        arrays: Callable[[Array, Array], Array],
        objects: Callable[[Any, Any], Any],
        commutes: bool | None = True,
    ) -> Self:
        """An operation on arrays and on objects."""
        made = cls.__new__(cls)
        made.token, made.name, made.commutes = (arrays, objects), name, commutes
        return made

    @property
    def arrays(self) -> Callable[[Array, Array], Array]:
        """What combines two arrays. Raises MPI.Exception for the null operation."""
        function: Callable[[Array, Array], Array] = self.stands()[0]
        return function

    @property
    def objects(self) -> Callable[[Any, Any], Any]:
        """What combines two objects. Raises ValueError for the null operation."""
        if self.token is None:
            raise ValueError("cannot call user-defined operation")
        function: Callable[[Any, Any], Any] = self.token[1]
        return function

    def __call__(self, a: Any, b: Any) -> Any:
        """Two objects combined."""
        return self.objects(a, b)

    def __repr__(self) -> str:
        return self.name

    def remade(self) -> Any:
        """The user's function, which travels by its name."""
        if self.function is None:
            return super().remade()
        return (type(self).Create, (self.function, self.Is_commutative()))

    @classmethod
    def Create(cls, function: Callable[..., Any], commute: bool = False) -> Self:  # noqa: N802
        """A user's operation: `function(in, inout, datatype)` on buffers, `function(a, b, None)` on objects."""
        if not callable(function):
            raise TypeError("expecting a callable")
        name = getattr(function, "__name__", "user operation")

        def arrays(a: Array, b: Array) -> Array:
            total = b.copy()
            function(Memory.frombuffer(a.copy()), Memory.frombuffer(total), datatype_of(a.dtype))
            return total

        made = cls.over(name, arrays, lambda a, b: function(a, b, None), None if commute else False)
        made.function = function
        return made

    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:  # noqa: N802
        """Combine two buffers of one rank into the second."""
        operand, total = one(inbuf), one(inoutbuf, writes=True)
        if operand.room != total.room:
            raise ValueError(f"message: {operand.room[0]} bytes cannot be combined with {total.room[0]}")
        total.write([self.arrays(operand.read()[0], total.read()[0])])

    def Is_commutative(self) -> bool:  # noqa: N802
        """Whether operands may change places."""
        self.stands()
        return self.commutes is not False

    @property
    def is_commutative(self) -> bool:
        """Whether operands may change places."""
        return self.Is_commutative()

    @property
    def is_predefined(self) -> bool:
        """Whether MPI has it by name, or it is null."""
        return self.function is None


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
        return a if better(u, v) or (u == v and i <= j) else b

    return combine


OPS: dict[str, Op] = {
    "SUM": Op.over("MPI.SUM", _quiet(np.add), lambda a, b: a + b),
    "PROD": Op.over("MPI.PROD", _quiet(np.multiply), lambda a, b: a * b),
    "MAX": Op.over("MPI.MAX", _quiet(np.maximum), lambda a, b: b if b > a else a),
    "MIN": Op.over("MPI.MIN", _quiet(np.minimum), lambda a, b: b if b < a else a),
    "LAND": Op.over("MPI.LAND", _quiet(np.logical_and), lambda a, b: bool(a) & bool(b)),
    "LOR": Op.over("MPI.LOR", _quiet(np.logical_or), lambda a, b: bool(a) | bool(b)),
    "LXOR": Op.over("MPI.LXOR", _quiet(np.logical_xor), lambda a, b: bool(a) ^ bool(b)),
    "BAND": Op.over("MPI.BAND", _quiet(np.bitwise_and), lambda a, b: a & b),
    "BOR": Op.over("MPI.BOR", _quiet(np.bitwise_or), lambda a, b: a | b),
    "BXOR": Op.over("MPI.BXOR", _quiet(np.bitwise_xor), lambda a, b: a ^ b),
    "MAXLOC": Op.over("MPI.MAXLOC", _by_place(np.greater), _located(lambda a, b: a > b)),
    "MINLOC": Op.over("MPI.MINLOC", _by_place(np.less), _located(lambda a, b: a < b)),
    "REPLACE": Op.over("MPI.REPLACE", lambda a, b: b, lambda a, b: b, commutes=False),
    "NO_OP": Op.over("MPI.NO_OP", lambda a, b: a, lambda a, b: a, commutes=False),
}
