"""Handles: what mpi4py has for communicators, groups, types, operations, requests and the like."""
# ruff: noqa: N802  methods are called as mpi4py calls them

import copyreg
from typing import Any, Self

from ops.programs.mpi4py.handles.errors import CLASSES, text_of, wrong


class Numberless:
    """What C libraries would know by a number, which there is none of here."""

    kind = "handle"

    @property
    def handle(self) -> int:
        """The number. Raises NotImplementedError."""
        raise NotImplementedError(f"MPI.{self.kind}.handle is not simulated: docs/programs.md lists what is")


class Handle(Numberless):
    """Null or not, equal where it stands for the same thing, and pickled by its name if it is predefined.

    `kind` and `error` are the class of handles that it belongs to and the error class of a null one.
    """

    error = "ERR_ARG"
    token: Any = None
    """What it stands for; None for the null handle."""
    public = ""
    """Its name in the module MPI, if it has one there."""

    def __new__(cls, other: "Handle | None" = None) -> Self:
        """The null handle, or another one for the same thing."""
        self = super().__new__(cls)
        if other is not None:
            if not (isinstance(other, Handle) and other.kind == cls.kind):
                raise TypeError(f"Argument has incorrect type (expected {cls.kind}, got {type(other).__name__})")
            self.__dict__.update(other.__dict__, public="")
        return self

    def __bool__(self) -> bool:
        return self.token is not None

    def __eq__(self, other: object) -> bool:
        if not (isinstance(other, Handle) and other.kind == self.kind):
            return NotImplemented
        return bool(self.token == other.token)

    def __hash__(self) -> int:
        return hash(self.token)

    def __reduce__(self) -> Any:
        if self.public:
            return self.public
        if (self.kind, self.token) in _PUBLISHED:
            return (copyreg.__newobj__, (type(self), _PUBLISHED[self.kind, self.token]))  # type: ignore[attr-defined]
        return self.remade()

    def remade(self) -> Any:
        """What pickling keeps of it. Raises ValueError for a handle that means nothing elsewhere."""
        raise ValueError(f"cannot serialize '{type(self).__module__}.{type(self).__name__}' instance")

    def Free(self) -> None:
        """Give it back: it is the null handle from now on. Raises MPI.Exception for a null or predefined one."""
        if self.token is None or self.public:
            wrong(self.error, f"{self.public or 'a null handle'} cannot be freed")
        self.token = None

    def free(self) -> None:
        """Give it back if there is anything to give back."""
        if self.token is not None and not self.public:
            self.Free()

    def stands(self) -> Any:
        """What it stands for. Raises MPI.Exception for a null handle."""
        return (
            wrong(self.error, text_of(CLASSES[self.error]).replace("Invalid", "Null"))
            if self.token is None
            else self.token
        )


_PUBLISHED: dict[Any, Handle] = {}
"""The handles that have a name in MPI, by what they stand for."""


def publish(names: dict[str, Any]) -> dict[str, Any]:
    """Tell handles their names in the module MPI, and classes that they are mpi4py's."""
    _PUBLISHED.clear()
    for name, thing in names.items():
        if isinstance(thing, Handle):
            thing.public = name
            _PUBLISHED[thing.kind, thing.token] = thing
        elif isinstance(thing, type):
            thing.__module__, thing.__name__, thing.__qualname__ = "mpi4py.MPI", name, name
    return names
