"""Whose messages steps hold: those of all ranks, or of a few that stand for all of them (see `sim.symmetry`).

An algorithm that states a symmetry asks for `every_rank` instead of counting ranks itself, so that a million ranks need
never be written down.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.base.arrays import blank
from sim.schedule.steps import Step

Ranks = NDArray[np.int64]
_FEW: ContextVar[Ranks | None] = ContextVar("ringside_senders", default=None)
SPAN = 1 << 14
"""Steps that are made at once."""
PIECE, NEAR = 1 << 22, 1 << 13
"""Messages of all ranks for which there is room at once, and those of them that are made at once, in the caches."""


class AlikeSteps(NamedTuple):
    """Steps one after another with the same senders and receivers: in step k rank `src[i]` sends its `slot[k, i]`."""

    move: Callable[..., Step]
    src: Ranks
    dst: Ranks
    slot: NDArray[np.int64]


def every_rank(n: int) -> Ranks:
    """The ranks that send in a step where all do alike: all n in their order, or the few that stand for them."""
    few = _FEW.get()
    return np.arange(n) if few is None else few


def around(numbers: Ranks, n: int) -> Ranks:
    """`numbers % n` of those from -n to n - 1, without a division for each.

    >>> around(np.array([-3, -1, 0, 2]), 3)
    array([0, 2, 0, 2])
    """
    return numbers + (n & (numbers >> 63))  # all ones where it is below zero


@contextmanager
def senders(ranks: ArrayLike) -> Iterator[None]:
    """Until the block ends, steps and promises are made for these ranks alone."""
    before = _FEW.set(np.asarray(ranks, np.int64))
    try:
        yield
    finally:
        _FEW.reset(before)


def in_turn(
    count: int, move: Callable[..., Step], src: Ranks, dst: Ranks, slot: Callable[[Any], NDArray[Any]]
) -> Iterator[Any]:
    """`count` steps, of which number k is `move(src, dst, slot=slot(k))` with one slot per message.

    `slot` may also be called with a column of numbers k, for rows of slots.
    """
    whole = _FEW.get() is None
    span = max(1, PIECE // max(1, len(src))) if whole else SPAN
    for start in range(0, count, span):
        stop = min(start + span, count)
        if not whole:
            numbers = np.arange(start, stop).reshape(-1, 1)
            yield AlikeSteps(move, src, dst, np.broadcast_to(slot(numbers), (len(numbers), len(src))))
            continue
        slots = blank((stop - start, len(src), 1), np.int32)
        near = max(1, NEAR // max(1, len(src)))
        for k in range(start, stop, near):
            numbers = np.arange(k, min(k + near, stop)).reshape(-1, 1)
            slots[k - start : k - start + near, :, 0] = slot(numbers)
        first = move(src, dst, slot=slots[0])
        for row in slots:
            yield Step(first.op, first.src, first.dst, row, row, first.channel)
