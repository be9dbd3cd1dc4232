"""Where blocks of unequal length stand in a buffer: MPI's counts and displacements."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from sim.errors import InputError
from sim.units import LARGEST_SIZE


def check_displs(counts: Sequence[float], displs: Sequence[float], what: str = "displacements") -> None:
    """Raise InputError unless every block has a place of its own, as MPI wants it of a receive buffer.

    `counts` and `displs` are in the same unit, bytes or elements.
    """
    if len(displs) != len(counts):
        raise InputError("displacements.count", what=what, count=len(displs), blocks=len(counts))
    for i, displ in enumerate(displs):
        if not 0 <= displ <= LARGEST_SIZE:
            raise InputError("displacements.place", what=what, block=i, displ=displ)
    filled = sorted((displs[i], displs[i] + count, i) for i, count in enumerate(counts) if count)
    for (_, end, i), (begin, _, k) in pairwise(filled):
        if begin < end:
            raise InputError("displacements.overlap", what=what, block=min(i, k), other=max(i, k))


def extent(counts: Sequence[float], displs: Sequence[float]) -> float:
    """How long a buffer must be to hold every block.

    >>> extent([3, 0, 2], [4, 0, 1])
    7
    """
    return max((displ + count for count, displ in zip(counts, displs, strict=True) if count), default=0)


def place(buffer: NDArray[Any], blocks: Sequence[NDArray[Any]], displs: Sequence[int]) -> None:
    """Put blocks into a receive buffer; what lies between them stays. Raises InputError where they do not fit.

    >>> import numpy as np
    >>> buffer = np.zeros(6, int)
    >>> place(buffer, [np.array([1, 2]), np.array([3])], [4, 1])
    >>> buffer.tolist()
    [0, 3, 0, 0, 1, 2]
    """
    counts = [len(block) for block in blocks]
    check_displs(counts, displs)
    if extent(counts, displs) > len(buffer):
        raise InputError("displacements.beyond", extent=extent(counts, displs), room=len(buffer))
    for block, displ in zip(blocks, displs, strict=True):
        buffer[displ : displ + len(block)] = block
