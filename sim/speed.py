"""One source, two speeds: a kernel module is interpreted for a first small scene, compiled for the rest.

A kernel module marks its functions with `@jit` or `@helper`, which it imports from here. Imported, it is
plain Python. `compiled(module)` runs the same file again with numba's decorator in that place; both give the
same numbers, bit for bit. Importing numba costs half a second, so nothing else may import it.
"""

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def _plain(function: F) -> F:
    return function


jit: Callable[[Any], Any] = _plain
"""For functions that Python calls."""
helper: Callable[[Any], Any] = _plain
"""For functions that only other kernel functions call."""
_KERNEL: dict[str, Any] = {"cache": True, "_nrt": False, "no_cfunc_wrapper": True}
"""Kernels get all their memory from outside. Without numba's reference counting (`_nrt`), whose atomic
counters would be touched at every call, the fabric runs three times as fast."""


@cache
def compiled(module: ModuleType) -> ModuleType:
    """The compiled twin of a kernel module; machine code is kept on disk between runs."""
    global jit, helper  # noqa: PLW0603  the twin's source asks for them while it is executed
    import numba

    name = module.__name__ + "_compiled"
    spec = importlib.util.spec_from_file_location(name, module.__file__)
    assert spec is not None
    assert spec.loader is not None
    twin = importlib.util.module_from_spec(spec)
    sys.modules[name] = twin
    njit: Any = numba.njit
    jit, helper = njit(**_KERNEL), njit(**_KERNEL, no_cpython_wrapper=True)
    try:
        spec.loader.exec_module(twin)
    finally:
        jit = helper = _plain
    return twin


def is_compiled(module: ModuleType) -> bool:
    """Whether the twin has been made in this process."""
    return module.__name__ + "_compiled" in sys.modules


def twin(module: ModuleType, work: float) -> ModuleType:
    """The twin to use for about `work` array operations: plain while that beats loading the compiler."""
    return compiled(module) if is_compiled(module) or work > 30_000 else module
