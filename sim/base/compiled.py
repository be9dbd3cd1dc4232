"""One source, two speeds: kernel functions are interpreted for a first small run, compiled for the rest.

Kernel modules mark their functions with `@jit` or `@helper`, which leaves them plain Python. `compiled(module)` has
a compiled twin of each; both give the same numbers, bit for bit. Importing numba costs half a second, so
only this module and `sim.base.machine_code.cache`, which it loads, may import it.
"""

import ast
import hashlib
import linecache
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

OPTIONS: dict[str, Any] = {"cache": True, "_nrt": False, "no_cfunc_wrapper": True, "error_model": "numpy"}
"""Kernels get all their memory from outside. Without numba's reference counting (`_nrt`), whose atomic
counters would be touched at every call, the fabric runs three times as fast."""
_KERNELS: dict[Any, dict[str, Any]] = {}
_COMPILED: set[str] = set()
_SPENT: defaultdict[str, float] = defaultdict(float)
"""Array operations that were asked for, by module."""
CAST = "_unsigned_index"
"""What twins call `numpy.uint64`."""
AT_ONCE, IN_ALL = 30_000, 1_000_000
"""Array operations from which on the compiler is worth loading: those of one call, and of all calls of a process."""
PATIENT = 30
"""Times as many of them while another process compiles: what it makes is loaded in half a second, made in a minute."""
_PATIENCE = [1]


def jit(function: Callable[..., Any]) -> Any:
    """Mark a kernel function that Python calls."""
    _KERNELS[function] = OPTIONS
    return function


def helper(function: Callable[..., Any]) -> Any:
    """Mark a kernel function that only other kernel functions call."""
    _KERNELS[function] = {**OPTIONS, "cache": False, "no_cpython_wrapper": True, "forceinline": True}
    return function


def part(function: Callable[..., Any]) -> Any:
    """Mark a helper that is long and called for much work at once: it is compiled apart, not into those who call it."""
    _KERNELS[function] = {**OPTIONS, "cache": False, "no_cpython_wrapper": True}
    return function


@cache
def compiled(module: ModuleType) -> Any:
    """The compiled twins of a module's kernel functions; machine code is kept on disk between runs."""
    _COMPILED.add(module.__name__)
    kernels = {name: it for name, it in vars(module).items() if isinstance(it, FunctionType) and it in _KERNELS}
    return SimpleNamespace(**{name: _twin(kernel) for name, kernel in kernels.items()})


@cache
def _numba() -> Any:
    """numba, which would import much of SciPy, a fifth of a second, to multiply matrices: no kernel does."""
    import numba
    from numba.np import linalg

    def nothing() -> None:
        raise ImportError

    whole = linalg.ensure_blas
    linalg.ensure_blas = nothing
    try:
        import numba.np.arraymath  # looks for it once
    finally:
        linalg.ensure_blas = whole
    return numba


@cache
def _twin(kernel: FunctionType) -> Any:
    """The function with twins in place of the kernel functions it calls.

    Numba looks for machine code under a function's file and name and makes it anew when that file has changed. So the
    name is given a fingerprint of all files involved, this one too: a change of any may matter.
    """
    numba = _numba()
    twins = {name: _twin(it) for name, it in _calls(kernel).items()}
    scope = {**kernel.__globals__, **twins, CAST: np.uint64}
    twin = FunctionType(_unsigned(kernel), scope, kernel.__name__, kernel.__defaults__, kernel.__closure__)
    twin.__qualname__ = _fingerprinted(kernel)
    options = dict(_KERNELS[kernel])
    is_kept = options.pop("cache")
    njit: Any = numba.njit
    dispatcher = njit(**options)(twin)
    if is_kept and dispatcher is not twin:  # NUMBA_DISABLE_JIT leaves functions as they are
        from sim.base.machine_code.cache import keep

        keep(dispatcher, twin)
    return dispatcher


def _fingerprinted(kernel: FunctionType) -> str:
    sources = b"".join(map(_bytes, sorted(files(kernel) | {__file__})))
    return f"{kernel.__qualname__}_{hashlib.sha256(sources).hexdigest()[:8]}"


def is_on_disk(kernel: FunctionType) -> bool:
    """Whether numba has kept machine code of a kernel, as far as names of files tell; numba is not imported for that.

    It keeps it in the folder that is set, or else beside the source, or in the user's cache.
    """
    file = Path(kernel.__code__.co_filename)
    version = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    name = f"{file.stem}.{_fingerprinted(kernel)}-*.{version}.nbi"
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    wide = os.environ.get("NUMBA_CACHE_DIR")
    places = [(file.parent / "__pycache__", name), (Path(user, "numba"), f"*/{name}")]
    places = [(Path(wide), f"*/{name}")] if wide else places
    return any(True for folder, pattern in places for _ in folder.glob(pattern))


def _unsigned(kernel: FunctionType) -> CodeType:
    """The code of a kernel function with every index unsigned.

    Numba lets an index below zero count from the end. Kernels have none, and asking costs up to a third of their time.
    """
    return _codes(kernel.__code__.co_filename)[kernel.__name__]


@cache
def _codes(file: str) -> dict[str, CodeType]:
    """The code of a file's functions by name, every index cast to the name `CAST`."""
    body = ast.parse("".join(linecache.getlines(file))).body
    functions: list[ast.stmt] = [node for node in body if isinstance(node, ast.FunctionDef)]
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
                node.slice.elts = [_cast(index) for index in node.slice.elts]
            elif isinstance(node, ast.Subscript):
                node.slice = _cast(node.slice)
        vars(function)["decorator_list"] = []
    made = compile(ast.Module(functions, []), file, "exec")
    return {code.co_name: code for code in made.co_consts if isinstance(code, CodeType)}


@cache
def _bytes(file: str) -> bytes:
    return Path(file).read_bytes()


def _cast(index: ast.expr) -> ast.expr:
    if isinstance(index, ast.Slice | ast.Constant):
        return index
    return ast.copy_location(ast.Call(ast.copy_location(ast.Name(CAST, ast.Load()), index), [index], []), index)


def _calls(kernel: FunctionType) -> dict[str, FunctionType]:
    """The kernel functions that a kernel function names."""
    named = {name: kernel.__globals__.get(name) for name in kernel.__code__.co_names}
    return {name: it for name, it in named.items() if isinstance(it, FunctionType) and it in _KERNELS}


@cache
def files(kernel: FunctionType) -> set[str]:
    """The source files of a kernel function and of all it calls."""
    return {kernel.__code__.co_filename}.union(*(files(it) for it in _calls(kernel).values()))


def wait_for_compiler(*, is_at_work: bool) -> None:
    """Interpret longer, or no longer, because another process is compiling what this one would have to compile, too."""
    _PATIENCE[0] = PATIENT if is_at_work else 1


def patience() -> int:
    """Times as much as usual that is worth interpreting now."""
    return _PATIENCE[0]


def is_compiled(module: ModuleType) -> bool:
    """Whether the twins have been made in this process."""
    return module.__name__ in _COMPILED


def twin(module: ModuleType, work: float) -> Any:
    """The twin to use for about `work` array operations: plain while that beats loading the compiler.

    A search or a sweep calls a kernel thousands of times with little work each: all that was done counts, too.
    """
    much = spent(module, work)
    return compiled(module) if is_compiled(module) or work > AT_ONCE * patience() or much else module


def spent(module: ModuleType, work: float) -> bool:
    """Count array operations of a module's plain functions; whether they are so many that compiling had been better."""
    _SPENT[module.__name__] += work
    return _SPENT[module.__name__] > IN_ALL * patience()
