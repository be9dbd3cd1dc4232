"""The kernel's WebAssembly run by wasmtime, in place of the kernel that numba compiled."""

import ctypes
import math

import numpy as np
import wasmtime

from package import ahead, webassembly

PAGE, LINE = 1 << 16, 64
RESERVED = 1 << 36
"""Bytes of addresses that are kept free for the memory to grow into, so that it stays where it is."""


def leaves(value):
    """The arrays of a named tuple in order."""
    if isinstance(value, tuple):
        for it in value:
            yield from leaves(it)
    else:
        yield value


class WasmtimeModule:
    """A module whose functions take a table of words; arrays lie in its memory or are copied there for a call."""

    def __init__(self, path, bits=32, kept=None):
        config = wasmtime.Config()
        config.wasm_memory64 = bits == 64
        config.memory_reservation = RESERVED
        engine = wasmtime.Engine(config)
        self.store = wasmtime.Store(engine)
        if kept and kept.exists():
            module = wasmtime.Module.deserialize_file(engine, str(kept))
        else:
            module = wasmtime.Module.from_file(engine, str(path))
            if kept:
                kept.write_bytes(module.serialize())
        self.exports = wasmtime.Instance(self.store, module, []).exports(self.store)
        self.memory = self.exports["memory"]
        self.top = webassembly.STACK
        self.base = ctypes.addressof(self.memory.data_ptr(self.store).contents)
        self.calls = 0

    def empty(self, shape, dtype=np.float64):
        """An array in the module's memory, which is never given back."""
        shape = shape if isinstance(shape, tuple) else (int(shape),)
        size = int(math.prod(shape)) * np.dtype(dtype).itemsize
        at = self.top
        self.top = -(-(at + size) // LINE) * LINE
        lacking = self.top - self.memory.data_len(self.store)
        if lacking > 0:
            self.memory.grow(self.store, -(-lacking // PAGE))
            assert ctypes.addressof(self.memory.data_ptr(self.store).contents) == self.base, "views are void"
        raw = (ctypes.c_uint8 * size).from_address(self.base + at)
        return np.frombuffer(raw, dtype).reshape(shape)

    def address(self, array):
        """Where in the module's memory an array lies, or None."""
        at = array.ctypes.data - self.base
        return at if array.size and self.top > at > 0 and array.flags.c_contiguous else None

    def call(self, name, *arguments):
        """Call a function; arrays that lie elsewhere are copied there, and back."""
        self.calls += 1
        top, words, copies = self.top, [], []
        for it in leaves(arguments):
            if not isinstance(it, np.ndarray):
                words += [] if it is None else [np.float64(it).view(np.int64) if isinstance(it, float) else int(it)]
                continue
            at = self.address(it)
            if at is None:
                copy = self.empty(it.shape, it.dtype)
                copy[...] = it
                copies += [(it, copy)] if it.flags.writeable else []
                at = copy.ctypes.data - self.base if copy.size else 0
            words += [at, *it.shape]
        table = self.empty(len(words), np.int64)
        table[:] = words
        result = self.exports[name](self.store, table.ctypes.data - self.base)
        for array, copy in copies:
            array[...] = copy
        self.top = top
        return result


class WasmtimeKernel(WasmtimeModule):
    """`sim.fabric.kernel` as `assets/kernel` has it."""

    def __init__(self):
        super().__init__(ahead.FOLDER / "kernel.wasm")

    def advance(self, fabric, bar, horizon):
        return self.call("advance", fabric, bar, float(horizon))

    def touch(self, fabric, bar, link, time):
        self.call("touch", fabric, bar, int(link), float(time))

    def divert(self, fabric, bar, i, other, time):
        self.call("divert", fabric, bar, int(i), int(other), float(time))
