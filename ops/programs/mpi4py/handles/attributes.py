"""What programs attach to communicators and datatypes: attributes under keys of their own."""
# ruff: noqa: N802  methods are called as mpi4py calls them

import traceback
from collections.abc import Callable
from itertools import count
from typing import Any

from ops.programs.mpi4py.handles.errors import MPIError, wrong
from ops.programs.mpi4py.handles.handle import Handle

Hook = Callable[..., Any] | bool | None
_NUMBERS = count(1)


class Keyval(int):
    """A key for attributes, and what happens when its value is copied or deleted."""

    copy_fn: Hook
    delete_fn: Hook


def _called(function: Callable[..., Any], *args: Any) -> Any:
    """What a program's own function says; what it raises becomes MPI's, as it passes through the library."""
    try:
        return function(*args)
    except Exception as error:
        traceback.print_exc()
        raise MPIError("ERR_OTHER", f"{type(error).__name__}: {error}") from error


class Attributed(Handle):
    """Keeps attributes; a duplicate takes over those whose key says so."""

    def Free(self) -> None:
        """Give it back: it is the null handle from now on. Raises MPI.Exception for a predefined one."""
        if self.token is not None and not self.public:
            self.delete_attributes()
        super().Free()

    def attributes(self) -> dict[int, tuple[Keyval, Any]]:
        """Those of the rank that asks."""
        kept: dict[int, tuple[Keyval, Any]] = self.__dict__.setdefault("_attributes", {})
        return kept

    @classmethod
    def Create_keyval(cls, copy_fn: Hook = None, delete_fn: Hook = None, nopython: bool = False) -> int:  # noqa: ARG003
        """A new key; `copy_fn(handle, key, value)` says what a duplicate gets, True the same value."""
        key = Keyval(next(_NUMBERS))
        key.copy_fn, key.delete_fn = copy_fn, delete_fn
        return key

    @classmethod
    def Free_keyval(cls, keyval: int) -> int:  # noqa: ARG003
        """The key is not used for anything new."""
        return 603979776

    def Set_attr(self, keyval: int, attrval: Any) -> None:
        """Keep a value under a key."""
        if not isinstance(keyval, Keyval):
            wrong("ERR_KEYVAL", f"{keyval} is no key that Create_keyval has made")
        if keyval in self.attributes():
            self.Delete_attr(keyval)
        self.attributes()[keyval] = keyval, attrval

    def Get_attr(self, keyval: int) -> Any:
        """The value under a key; None without one."""
        if not isinstance(keyval, Keyval):
            wrong("ERR_KEYVAL", f"{keyval} is no key that Create_keyval has made")
        return self.attributes().get(keyval, (None, None))[1]

    def Delete_attr(self, keyval: int) -> None:
        """Forget the value under a key."""
        if keyval not in self.attributes():
            wrong("ERR_OTHER" if isinstance(keyval, Keyval) else "ERR_KEYVAL", "nothing is kept under this key")
        key, value = self.attributes().pop(keyval)
        if callable(key.delete_fn):
            _called(key.delete_fn, self, key, value)

    def copy_attributes(self, duplicate: "Attributed") -> None:
        """Hand on what the keys' copy functions say."""
        for key, value in list(self.attributes().values()):
            if key.copy_fn is None or key.copy_fn is False:
                continue
            copied = _called(key.copy_fn, self, key, value) if callable(key.copy_fn) else value
            if copied is not NotImplemented:
                duplicate.attributes()[key] = key, copied

    def delete_attributes(self) -> None:
        """Forget all of them, the newest first."""
        for keyval in reversed(list(self.attributes())):
            self.Delete_attr(keyval)
