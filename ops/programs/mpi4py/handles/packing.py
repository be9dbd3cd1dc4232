"""Data of a datatype in a row of bytes, and back: `Pack`, `Unpack` and `Pack_size`."""
# ruff: noqa: N802  methods are called as mpi4py calls them

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.programs.mpi4py.handles.errors import whole, wrong
from ops.programs.mpi4py.memory import view


class Packing:
    """What a datatype does with plain buffers; it has a base, offsets and extents as `Datatype` says."""

    base: np.dtype[Any]
    offsets: NDArray[np.int64] | None
    extents: int

    def Pack(self, inbuf: Any, outbuf: Any, position: int, comm: Any) -> int:  # noqa: ARG002
        """Put as many as a buffer holds into a row of bytes from a position on; the position after them."""
        elements, places = self._elements(view(inbuf))
        return _into(_bytes(view(outbuf, writes=True)), position, elements[places])

    def Unpack(self, inbuf: Any, position: int, outbuf: Any, comm: Any) -> int:  # noqa: ARG002
        """Fill a buffer from a row of bytes from a position on; the position after them."""
        elements, places = self._elements(view(outbuf, writes=True))
        packed, start = _bytes(view(inbuf)), whole(position)
        stop = start + places.size * self.base.itemsize
        _within(start, stop, len(packed))
        elements[places] = np.frombuffer(packed[start:stop].tobytes(), self.base)
        return stop

    def Pack_size(self, count: int, comm: Any) -> int:  # noqa: ARG002
        """Bytes that so many of it take in a row."""
        return whole(count) * (1 if self.offsets is None else len(self.offsets)) * self.base.itemsize

    def _elements(self, buffer: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """A buffer's base elements, and which of them belong to as many of the type as it holds."""
        raw, size = _bytes(buffer), self.base.itemsize
        elements = raw[: len(raw) // size * size].view(self.base)
        offsets = np.zeros(1, np.int64) if self.offsets is None else self.offsets
        count = len(elements) // self.extents if self.extents > 0 else 0
        places = np.add.outer(np.arange(count) * self.extents, offsets).reshape(-1)
        _within(0, int(places.max(initial=-1)) + 1, len(elements))
        return elements, places


def _bytes(buffer: NDArray[Any]) -> NDArray[np.uint8]:
    return buffer.reshape(-1).view(np.uint8)


def _into(packed: NDArray[np.uint8], position: int, values: NDArray[Any]) -> int:
    data, start = np.frombuffer(values.tobytes(), np.uint8), whole(position)
    _within(start, start + len(data), len(packed))
    packed[start : start + len(data)] = data
    return start + len(data)


def _within(start: int, stop: int, length: int) -> None:
    if not 0 <= start <= stop <= length:
        wrong("ERR_TRUNCATE", f"Message truncated; {stop - start} bytes from {start} on, but the buffer has {length}")
