"""`MPI.Info`, keys and values that libraries take as hints, and `MPI.Errhandler`."""
# ruff: noqa: N802  methods are called as mpi4py calls them

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from ops.programs.mpi4py.handles.constants import CONSTANTS
from ops.programs.mpi4py.handles.errors import wrong
from ops.programs.mpi4py.handles.handle import Handle


class Info(Handle):
    """Strings by strings; the token is the dictionary, which nothing here takes a hint from."""

    kind, error = "Info", "ERR_ARG"

    @classmethod
    def Create(cls, items: "Mapping[str, str] | Iterable[tuple[str, str]] | None" = None) -> Self:
        """A new one with these items."""
        made = cls.__new__(cls)
        made.token = _Items()
        made.update(items or {})
        return made

    @classmethod
    def Create_env(cls, args: Any = None) -> Self:  # noqa: ARG003
        """A new one; nothing is known here of how the program was started."""
        return cls.Create()

    @property
    def _items(self) -> dict[str, str]:
        items: dict[str, str] = self.stands()
        return items

    def Dup(self) -> Self:
        """The same items, apart."""
        return self.Create(self._items)

    copy = Dup

    def Get(self, key: str) -> str | None:
        """The value of a key; None without one."""
        return self._items.get(key)

    def Set(self, key: str, value: str) -> None:
        """Set the value of a key."""
        if not key or len(key) > CONSTANTS["MAX_INFO_KEY"]:
            wrong("ERR_INFO_KEY", f"a key has 1 to {CONSTANTS['MAX_INFO_KEY']} letters")
        self._items[key] = value

    def Delete(self, key: str) -> None:
        """Forget a key."""
        if key not in self._items:
            wrong("ERR_INFO_NOKEY", f"there is no key {key!r}")
        del self._items[key]

    def Get_nkeys(self) -> int:
        """How many keys there are."""
        return len(self._items)

    def Get_nthkey(self, n: int) -> str:
        """The n-th key."""
        keys = list(self._items)
        if not 0 <= n < len(keys):
            wrong("ERR_ARG", f"there is no key {n} among {len(keys)}")
        return keys[n]

    def __len__(self) -> int:
        return len(self.token or ())

    def __iter__(self) -> Iterator[str]:
        return iter(list(self.token or ()))

    def __contains__(self, key: object) -> bool:
        return key in (self.token or ())

    def __getitem__(self, key: str) -> str:
        return self._items[key]

    def __setitem__(self, key: str, value: str) -> None:
        self.Set(key, value)

    def __delitem__(self, key: str) -> None:
        del self._items[key]

    def remade(self) -> Any:
        """Its items."""
        return (type(self).Create, (dict(self._items),))

    def get(self, key: str, default: str | None = None) -> str | None:
        """The value of a key, or the default."""
        return self._items.get(key, default)

    def keys(self) -> list[str]:
        """The keys."""
        return list(self)

    def values(self) -> list[str]:
        """The values."""
        return [self._items[key] for key in self]

    def items(self) -> list[tuple[str, str]]:
        """Keys and values."""
        return [(key, self._items[key]) for key in self]

    def update(self, items: "Mapping[str, str] | Iterable[tuple[str, str]]" = (), **more: str) -> None:
        """Set many."""
        for key, value in {**dict(items), **more}.items():
            self.Set(key, value)

    def pop(self, key: str, *default: Any) -> Any:
        """Take a key out; its value, or the default."""
        return self._items.pop(key, *default)

    def popitem(self) -> tuple[str, str]:
        """Take some key out."""
        return self._items.popitem()

    def clear(self) -> None:
        """Forget all keys."""
        self._items.clear()


class _Items(dict[str, str]):
    """Compared by what it is, not by what is in it: two infos with the same items are two."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


class Errhandler(Handle):
    """What happens when a call fails: here it raises an exception, whatever is set."""

    kind, error = "Errhandler", "ERR_ERRHANDLER"

    @classmethod
    def over(cls, token: object) -> Self:
        """A handler."""
        made = cls.__new__(cls)
        made.token = token
        return made


ERRHANDLERS = {name: Errhandler.over(name) for name in ("ERRORS_RETURN", "ERRORS_ARE_FATAL", "ERRORS_ABORT")}
