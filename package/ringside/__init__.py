"""A simulated multi-GPU cluster: build a machine, run a collective on it, watch every block move.

Names are loaded when they are first used; `__init__.pyi` lists them.
"""

import ast
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

_RENAMED = {"Request": "Plan", "TROUBLES": "FAULTS"}


@cache
def _places() -> dict[str, str]:
    """The module that each name comes from."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or __name__ for node in imports for alias in node.names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version(__name__)
    if name in _RENAMED:
        raise AttributeError(f"{__name__}.{name} is called {__name__}.{_RENAMED[name]} now")
    if name not in _places():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_module("ui.notebook")  # which draws what cells of a notebook show
    place = import_module(_places()[name])
    if not hasattr(place, name):
        import_module(f"{place.__name__}.{name}")
    value = globals()[name] = getattr(place, name)
    return value


def __dir__() -> list[str]:
    return sorted([*_places(), "__version__"])
