"""A list that fills itself: whatever the modules of one package register when they are first needed."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from sim.errors import InputError

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries by name. `package` holds a module per entry or family of entries; `what` is what one is called."""

    def __init__(self, package: str, what: str) -> None:
        self._package, self._what = package, what
        self._found: dict[str, Entry] = {}
        self._loaded = False

    def _all(self) -> dict[str, Entry]:
        if not self._loaded:
            self._loaded = True
            folder = importlib.import_module(self._package).__path__
            for module in sorted(m.name for m in pkgutil.iter_modules(folder)):
                importlib.import_module(f"{self._package}.{module}")
            self._complete()
        return self._found

    def _complete(self) -> None:
        """Called once when all modules have registered what they have."""

    def add(self, name: str, entry: Entry) -> None:
        """Register an entry. Raises ValueError for a name that is taken."""
        if name in self._found:
            raise ValueError(f"two entries of the list of {self._what}s are called {name}")
        self._found[name] = entry

    def change(self, name: str, entry: Entry) -> None:
        """Put another entry in the place of one that is there."""
        self._found[name] = entry

    def __getitem__(self, name: str) -> Entry:
        found = self._all()
        if name not in found:
            raise InputError(f"no {self._what} is called {name[:40]!r}: choose from {', '.join(sorted(found))}")
        return found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))

    def __len__(self) -> int:
        return len(self._all())
