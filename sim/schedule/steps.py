"""Steps of a schedule: what an algorithm yields, made by `copy` and `reduce`."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sim.base.arrays import Ints

COPY, REDUCE = 0, 1
NOTHING = -1
"""No slot, no block: pads ragged slot arrays and marks places that hold nothing."""
WORD = 1 << 31
"""Numbers of ranks and slots are smaller."""


class Step(NamedTuple):
    """Messages that start from the same state: `src[i]` sends `slot[i, :]` into `to[i, :]` of `dst[i]`."""

    op: int
    src: Ints
    dst: Ints
    slot: Ints
    to: Ints
    channel: Ints


Steps = Iterator[Step | tuple[Step, ...] | str]
"""What an algorithm yields."""


def copy(src: ArrayLike, dst: ArrayLike, slot: ArrayLike, to: ArrayLike | None = None, channel: ArrayLike = 0) -> Step:
    """Send messages that overwrite their destination.

    Arrays have one entry per message, shape (messages,); a number applies to all.

    Parameters
    ----------
    src : int or array of int
        The sending ranks.
    dst : int or array of int
        The receiving ranks; `src == dst` is a local copy.
    slot : int or array of int, shape (messages,) or (messages, slots)
        Slots to send; rows of unequal length are padded with -1.
    to : int or array of int
        The slots at the destination; the same ones unless given.
    channel : int or array of int
        Messages of one connection on one channel follow each other.

    Returns
    -------
    Step
        The messages, for an algorithm to yield.

    Examples
    --------
    >>> copy(0, np.arange(1, 4), slot=0).dst
    array([1, 2, 3], dtype=int32)
    """
    return _step(COPY, src, dst, slot, to, channel)


def reduce(
    src: ArrayLike, dst: ArrayLike, slot: ArrayLike, to: ArrayLike | None = None, channel: ArrayLike = 0
) -> Step:
    """Send messages that are added to their destination.

    Parameters
    ----------
    src : int or array of int
        The sending ranks.
    dst : int or array of int
        The receiving ranks.
    slot : int or array of int, shape (messages,) or (messages, slots)
        Slots to send; rows of unequal length are padded with -1.
    to : int or array of int
        The slots at the destination; the same ones unless given.
    channel : int or array of int
        Messages of one connection on one channel follow each other.

    Returns
    -------
    Step
        The messages, for an algorithm to yield.
    """
    return _step(REDUCE, src, dst, slot, to, channel)


def _step(op: int, src: Any, dst: Any, slot: Any, to: Any, channel: Any) -> Step:
    words = src, dst, slot, slot if to is None else to, channel
    if all(type(x) is int and abs(x) < WORD for x in words):  # one message, as a loop over ranks writes it
        one = np.array(words, np.int32)
        return Step(op, one[:1], one[1:2], one[2:3, np.newaxis], one[3:4, np.newaxis], one[4:])
    src, dst, slot = (_whole(x) for x in (src, dst, slot))
    to = slot if to is None else _whole(to)
    lengths = [len(x) for x in (src, dst, slot, to) if x.ndim]
    messages = 0 if 0 in lengths else max(lengths, default=1)
    width = max(slot.shape[1] if slot.ndim == 2 else 1, to.shape[1] if to.ndim == 2 else 1)

    def column(x: Ints) -> Ints:
        return x if x.shape == (messages,) else np.broadcast_to(x.reshape(-1) if x.ndim else x, messages)

    def table(x: Ints) -> Ints:
        rows = x if x.ndim == 2 else x.reshape(-1, 1)
        return rows if rows.shape == (messages, width) else np.broadcast_to(rows, (messages, width))

    rows = table(slot)
    return Step(op, column(src), column(dst), rows, rows if to is slot else table(to), column(_whole(channel)))


def _whole(numbers: Any) -> Ints:
    """Ranks, slots or channels. Raises ValueError for what is no whole number."""
    array = np.asarray(numbers)
    if array.dtype.kind not in "iub" and not (array.dtype.kind == "f" and (array == np.floor(array)).all()):
        raise ValueError(f"ranks, slots and channels are whole numbers, not {str(array.reshape(-1)[:1])[1:-1][:40]}")
    return array.astype(np.int32, copy=False)
