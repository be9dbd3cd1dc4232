"""Kernels with every index checked: compiled code checks none, numpy lets one below zero count from the end."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from operator import index
from types import FunctionType, ModuleType, SimpleNamespace
from unittest.mock import patch

import numpy as np

from sim.base import compiled as compiler


def own_modules():
    """Return the modules of the simulator that are imported; others may warn when their names are looked at."""
    return [m for name, m in list(sys.modules.items()) if m and name.split(".")[0] in ("sim", "ops")]


class BoundedArray(np.ndarray):
    """An array in which an index below zero is as wrong as one beyond the end."""

    def __getitem__(self, key):
        _check(key, self.shape)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        _check(key, self.shape)
        super().__setitem__(key, value)


def _check(key, shape):
    keys = key if isinstance(key, tuple) else (key,)
    if len(keys) > len(shape):
        raise IndexError(f"{len(keys)} indices into {len(shape)} dimensions")
    for each, size in zip(keys, shape, strict=False):
        if isinstance(each, slice):
            ends = [index(end) for end in (each.start, each.stop) if end is not None]
            if not all(0 <= end <= size for end in ends):
                raise IndexError(f"slice {each} of {size}")
        elif not isinstance(each, np.ndarray) and not 0 <= index(each) < size:
            raise IndexError(f"index {each} of {size}")


def bounded(value):
    """The same value, the arrays in it bounded; they share their memory."""
    if isinstance(value, np.ndarray):
        return value.view(BoundedArray)
    if isinstance(value, tuple):
        parts = map(bounded, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def kernels(module: ModuleType) -> dict[str, FunctionType]:
    """The functions of a module that Python calls and a compiler compiles."""
    functions = {name: it for name, it in vars(module).items() if isinstance(it, FunctionType)}
    return {name: it for name, it in functions.items() if compiler._KERNELS.get(it) is compiler.OPTIONS}


@contextmanager
def checked_kernels() -> Iterator[set[str]]:
    """Until the block ends all kernels run interpreted, with bounds checked; yields which of them have been called."""
    called: set[str] = set()

    def twin(module: ModuleType, work: float = 0) -> SimpleNamespace:
        return SimpleNamespace(**{name: checked(kernel) for name, kernel in kernels(module).items()})

    def checked(kernel):
        @wraps(kernel)
        def call(*arguments):
            called.add(f"{kernel.__module__}.{kernel.__name__}")
            return kernel(*map(bounded, arguments))

        return call

    others = {compiler.twin: twin, compiler.compiled: twin, compiler.is_compiled: lambda module: True}
    with ExitStack() as stack:
        for module in own_modules():
            for name, function in list(vars(module).items()) if module is not compiler else ():
                if isinstance(function, FunctionType | type(compiler.compiled)) and function in others:
                    stack.enter_context(patch.object(module, name, others[function]))
        yield called
