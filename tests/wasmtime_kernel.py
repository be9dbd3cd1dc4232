"""The kernel's WebAssembly run by wasmtime, in place of the kernel that numba compiled."""

import ctypes
import json
import math

import numpy as np
import wasmtime

from package import ahead

PAGE, LINE = 1 << 16, 64


def leaves(value):
    """The arrays of a named tuple in order."""
    if isinstance(value, tuple):
        for it in value:
            yield from leaves(it)
    else:
        yield value


class WasmtimeKernel:
    """Functions of `sim.fabric.kernel` and `links`, on arrays that lie in the module's memory or are copied there."""

    def __init__(self):
        description = json.loads((ahead.FOLDER / "kernel.json").read_text())
        self.store = wasmtime.Store()
        module = wasmtime.Module.from_file(self.store.engine, str(ahead.FOLDER / "kernel.wasm"))
        exports = wasmtime.Instance(self.store, module, []).exports(self.store)
        self.functions = {name: exports[name] for name in description["functions"]}
        self.memory = exports["memory"]
        self.top = description["free"]
        self.base = ctypes.addressof(self.memory.data_ptr(self.store).contents)
        self.calls = 0

    def empty(self, shape, dtype=np.float64):
        """An array in the module's memory, which is never given back."""
        shape = shape if isinstance(shape, tuple) else (int(shape),)
        size = math.prod(shape) * np.dtype(dtype).itemsize
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
                words.append(it if isinstance(it, int) else np.float64(it).view(np.int64))
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
        result = self.functions[name](self.store, table.ctypes.data - self.base)
        for array, copy in copies:
            array[...] = copy
        self.top = top
        return result

    def advance(self, fabric, bar, horizon):
        return self.call("advance", fabric, bar, float(horizon))

    def touch(self, fabric, bar, link, time):
        self.call("touch", fabric, bar, int(link), float(time))

    def divert(self, fabric, bar, i, other, time):
        self.call("divert", fabric, bar, int(i), int(other), float(time))

    def leads(self, overhead, latency, offsets, links, lead):
        self.call("leads", overhead, latency, offsets, links, lead)
