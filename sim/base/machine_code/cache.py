"""Machine code of kernels on disk: compiled by one process while others wait, and again where a file is damaged.

Numba writes a file when a kernel is compiled, so what is interrupted keeps the kernels that were finished. It reads
files without a check, and every process that finds none compiles.
"""

import hashlib
import pickle
import re
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, ClassVar

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)

from sim.base.files.locks import lock
from sim.base.machine_code.notices import COMPILING, KEPT_NOWHERE, WAITING, say_once

COPY = re.compile(r"(?<=[/\\])sent-[0-9a-f]{16}(?=[/\\])")
"""The folder of modules that a cluster's worker was sent; `ops.lab.sent` names it by their content."""


class _SealedFile(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's files, each with a checksum at its end, where a pickle's reader does not look."""

    def _dump(self, obj: Any) -> bytes:
        data: bytes = super()._dump(obj)
        return data + hashlib.sha256(data).digest()

    def _load_index(self) -> Any:
        with suppress(FileNotFoundError), open(self._index_path, "rb") as file:
            pickle.load(file)  # numba's version
            _check(file.read())
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        _check(Path(self._data_path(name)).read_bytes())
        return super()._load_data(name)

    def remove(self) -> None:
        """Delete the index and all it may name."""
        folder = Path(self._cache_path)
        for file in [Path(self._index_path), *folder.glob(self._data_name_pattern.format(number=0)[:-6] + ".*.nbc")]:
            with suppress(OSError):
                file.unlink()


def _check(sealed: bytes) -> None:
    """Raise ValueError for bytes that are not what `_dump` returned."""
    size = hashlib.sha256().digest_size
    if hashlib.sha256(sealed[:-size]).digest() != sealed[-size:]:
        raise ValueError("damaged")


class _CopyLocator(UserWideCacheLocator):  # type: ignore[misc]
    """The user's cache, by what a copy is and not by where it lies: every worker of a cluster has one of its own."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return super().from_function(py_func, py_file) if COPY.search(py_file) else None

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        path: str = super().get_suitable_cache_subpath(f"/{py_file[COPY.search(py_file).start() :]}")  # type: ignore[union-attr]
        return path

    def get_source_stamp(self) -> str:
        return ""  # a kernel's name has a fingerprint of its sources


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    """Numba's, with one more place to look."""

    _locator_classes: ClassVar = [UserProvidedCacheLocator, _CopyLocator, *CompileResultCacheImpl._locator_classes]


class KernelCache(FunctionCache):  # type: ignore[misc]
    """One kernel's machine code. `holding` is the lock while this process compiles it."""

    _impl_class = _Implementation

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel)
        locator = self._impl.locator
        self._cache_file = _SealedFile(self._cache_path, self._impl.filename_base, locator.get_source_stamp())
        self.holding = ExitStack()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for a signature, when another process that compiles it has ended; None to compile it."""
        code = self._read(sig, target_context)
        if code is None:
            self._take_turn()
            code = self._read(sig, target_context, removes=True)
        if code is None:
            self.begin()
        return code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code, where there is room for it."""
        with suppress(OSError):
            super().save_overload(sig, data)

    def begin(self) -> None:
        """Called before a kernel is compiled."""
        say_once(COMPILING)

    def _read(self, sig: Any, target_context: Any, *, removes: bool = False) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001  what a damaged pickle raises may be anything
            if removes:
                self._cache_file.remove()
            return None

    def _take_turn(self) -> None:
        with suppress(OSError):
            place = Path(self._cache_path, f"{self._impl.filename_base}.lock")
            file = self.holding.enter_context(place.open("ab"))
            if lock(file) == "theirs":
                say_once(WAITING)
                lock(file, waits=True)


def keep(dispatcher: Any, kernel: Any) -> None:
    """Have numba's dispatcher keep what it compiles of a kernel on disk."""
    try:
        cache = KernelCache(kernel)
    except RuntimeError:  # no folder is writable
        say_once(KEPT_NOWHERE)
        return
    compile_kernel = dispatcher.compile

    def compile_once(signature: Any) -> Any:
        with cache.holding:
            return compile_kernel(signature)

    dispatcher._cache = cache
    dispatcher.compile = compile_once
