"""Python files that people bring are executed with these names: `sim` and `ops` are this project's in every layout.

In a checkout that is so anyway. Where the project is installed as a package, nobody else shall see these names, so the
files' own `import` knows them: what they get are the package's modules, not a second copy.
"""

import builtins
import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

_WITHIN = __name__.rpartition("sim.")[0]
"""What stands before `sim` in the modules' real names: nothing in a checkout."""
_ROOMS = ("sim", "ops")


def user_builtins() -> dict[str, Any]:
    """The built-in names for a user's file, to be its `__builtins__`."""
    return {**vars(builtins), "__import__": _import} if _WITHIN else vars(builtins)


def of_user(spec: ModuleSpec) -> ModuleSpec:
    """A module that a user's file imports from its own folder: executed with the same names."""
    if isinstance(spec.loader, SourceFileLoader):
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
    return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = user_builtins()
        super().exec_module(module)


def _import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """What an `import` statement calls."""
    room = name.partition(".")[0]
    if level or room not in _ROOMS:
        return builtins.__import__(name, globals, locals, fromlist or (), level)
    importlib.import_module(_WITHIN + name)
    if not fromlist:  # `import sim.units` binds `sim`
        return sys.modules[_WITHIN + room]
    return builtins.__import__(_WITHIN + name, globals, locals, fromlist)
