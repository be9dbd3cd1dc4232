"""Memory that programs hand over: numpy arrays, the buffer protocol, DLPack and the CUDA array interface.

Nothing is taken on trust: what is not memory of this process is refused before it is touched.
"""

import ctypes
import math
import os
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ops.programs.mpi4py.handles.errors import whole, wrong

Array = NDArray[Any]
HOST = (1, 3, 11, 13)
"""DLPack's devices whose memory a processor can read: kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged."""
KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
"""numpy's letters for DLDataTypeCode."""
READ_ONLY = 1


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned of dlpack.h."""

    _fields_: ClassVar = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


class Placeholder:
    """`MPI.IN_PLACE` and `MPI.BOTTOM`: names that stand where a buffer does."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __int__(self) -> int:
        return 0

    def __reduce__(self) -> str:
        return self.name


IN_PLACE, BOTTOM = Placeholder("IN_PLACE"), Placeholder("BOTTOM")


class Memory(np.ndarray[Any, Any]):
    """`MPI.buffer`: bytes, into which anything with a buffer may be written."""

    def __new__(cls, buf: Any) -> "Memory":
        """The bytes of a buffer, not copied."""
        return cls.frombuffer(buf)

    @classmethod
    def allocate(cls, nbytes: int, clear: bool = False) -> "Memory":  # noqa: ARG003
        """So many bytes, all zero."""
        return np.zeros(whole(nbytes), np.uint8).view(cls)

    @classmethod
    def frombuffer(cls, buf: Any, readonly: bool = False) -> "Memory":
        """The bytes of a buffer, not copied."""
        made = view(buf).view(np.uint8).view(cls)
        made.flags.writeable = made.flags.writeable and not readonly
        return made

    @property
    def address(self) -> int:
        """Where it lies."""
        return int(self.ctypes.data)

    @property
    def obj(self) -> Any:
        """Whose memory it is."""
        return self.base

    @property
    def readonly(self) -> bool:
        """Whether it may not be written."""
        return not self.flags.writeable

    @property
    def format(self) -> str:
        """Bytes."""
        return "B"

    def cast(self, format: str) -> memoryview:
        """The same as elements of another format."""
        whole: Any = self.data
        elements: memoryview = whole.cast(format)
        return elements

    def toreadonly(self) -> "Memory":
        """The same, which may not be written."""
        return Memory.frombuffer(self, readonly=True)

    def release(self) -> None:
        """Nothing to give back: Python does."""

    def __setitem__(self, place: Any, value: Any) -> None:
        if not isinstance(value, (int, np.integer)):
            value = view(value).view(np.uint8)
        super().__setitem__(place, value)


def view(data: Any, *, writes: bool = False) -> Array:
    """The elements of a buffer in a row, without copying. Raises TypeError, ValueError or BufferError."""
    array = data if isinstance(data, np.ndarray) else _viewed(data)
    if writes and not array.flags.writeable:
        raise ValueError("message: buffer source array is read-only")
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise BufferError("message: buffer is not contiguous")
    return array.reshape(-1, order="A") if array.ndim != 1 else array


def _viewed(data: Any) -> Array:
    try:
        memory = memoryview(data)
    except (TypeError, BufferError):
        memory = None
    if memory is not None:
        return np.asarray(memory)
    if hasattr(data, "__dlpack__"):
        return _from_dlpack(data)
    if hasattr(data, "__cuda_array_interface__"):
        return _from_interface(data)
    raise TypeError(f"message: expecting buffer, not {type(data).__name__}")


def _from_dlpack(data: Any) -> Array:
    """Memory that stays its producer's: the capsule is looked into, not consumed, as mpi4py does it."""
    if not hasattr(data, "__dlpack_device__"):
        raise NotImplementedError("dlpack: missing support")
    device = int(data.__dlpack_device__()[0])
    stream = {} if device == HOST[0] else {"stream": -1}
    try:
        capsule, name = data.__dlpack__(max_version=(1, 0), copy=False, **stream), b"dltensor_versioned"
    except TypeError:
        capsule, name = data.__dlpack__(**stream), b"dltensor"
    address = _pointer(capsule, name)
    flags = 0
    if name == b"dltensor_versioned":
        managed = _Versioned.from_address(address)
        if managed.major < 1:
            raise BufferError("dlpack: unexpected version")
        tensor, flags = managed.tensor, managed.flags
    else:
        tensor = _Tensor.from_address(address)
    shape = _shape(tensor)
    width = (tensor.bits * tensor.lanes + 7) // 8
    pair = tensor.lanes == 2 and KINDS.get(tensor.code) == "f"  # so producers name complex numbers of 256 bits
    kind = "c" if pair else KINDS.get(tensor.code) if tensor.lanes == 1 else None
    dtype = np.dtype(f"{kind}{width}" if kind else "u1")
    size = math.prod(shape) * width
    if tensor.device_type not in HOST:
        raise BufferError(f"dlpack: memory of device {tensor.device_type} is not in reach: copy it to the host")
    return _at((tensor.data or 0) + tensor.byte_offset, size, dtype, bool(flags & READ_ONLY), (data, capsule))


def _pointer(capsule: Any, name: bytes) -> int:
    valid, get = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
    valid.argtypes = get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    valid.restype, get.restype = ctypes.c_int, ctypes.c_void_p
    if not valid(capsule, name):
        raise BufferError("dlpack: invalid capsule object")
    return int(get(capsule, name))


def _shape(tensor: _Tensor) -> list[int]:
    """The lengths of a tensor that lies in one piece. Raises BufferError for any other."""
    if tensor.ndim < 0 or (tensor.ndim and not tensor.shape):
        raise BufferError("dlpack: number of dimensions is negative" if tensor.ndim < 0 else "dlpack: shape is NULL")
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    strides = [tensor.strides[i] for i in range(tensor.ndim)] if tensor.strides else _strides(shape)
    for what, numbers in (("shape", shape), ("strides", strides)):
        if min(numbers, default=0) < 0:
            raise BufferError(f"dlpack: {what} item is negative")
    columns = _strides(shape[::-1])[::-1]
    if not any(_same(shape, strides, order) for order in (_strides(shape), columns)):
        raise BufferError("dlpack: buffer is not contiguous")
    return shape


def _strides(shape: list[int]) -> list[int]:
    return [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]


def _same(shape: list[int], strides: list[int], order: list[int]) -> bool:
    return all(length <= 1 or a == b for length, a, b in zip(shape, strides, order, strict=True))


def _from_interface(data: Any) -> Array:
    """Memory by address, as GPU libraries name it: taken where the processor can read it."""
    described = data.__cuda_array_interface__
    shape, dtype = tuple(described["shape"]), np.dtype(described["typestr"])
    address, read_only = described["data"]
    strides = described.get("strides")
    plain = np.lib.stride_tricks.as_strided(np.empty(0, dtype), shape, strides) if strides else None
    if plain is not None and not (plain.flags.c_contiguous or plain.flags.f_contiguous):
        raise BufferError("CAI: buffer is not contiguous")
    size = int(np.prod(shape)) * dtype.itemsize
    return _at(int(address or 0), size, dtype, bool(read_only), data)


def _at(address: int, size: int, dtype: np.dtype[Any], read_only: bool, owner: Any) -> Array:
    if not size:
        return np.empty(0, dtype)
    if not _readable(address, size):
        raise BufferError(f"message: {size} bytes at {address:#x} are no memory of this process: copy them to the host")
    memory: Any = (ctypes.c_char * size).from_address(address)
    memory.owner = owner
    array: Array = np.frombuffer(memory, dtype)
    array.flags.writeable = not read_only
    return array


def _readable(address: int, size: int) -> bool:
    """Whether a processor can read these bytes. The system is asked, which answers instead of ending the process."""
    reader, writer = os.pipe()
    try:
        for place in {address, *range(address - address % 4096 + 4096, address + size, 4096), address + size - 1}:
            os.write(writer, (ctypes.c_char * 1).from_address(place))
            os.read(reader, 1)
    except (OSError, ValueError, OverflowError):
        return False
    finally:
        os.close(reader)
        os.close(writer)
    return True


def alloc_mem(size: Any, info: Any = None) -> Memory:
    """`MPI.Alloc_mem`: so many bytes. Raises MPI.Exception for less than none."""
    count = whole(size)
    if count < 0:
        wrong("ERR_ARG", f"memory of {count} bytes cannot be had: ask for 0 or more")
    return Memory.allocate(count)


def address_of(location: Any) -> int:
    """`MPI.Get_address`: where a buffer lies."""
    if location is None or isinstance(location, Placeholder):
        return 0
    return int(view(location).ctypes.data)
