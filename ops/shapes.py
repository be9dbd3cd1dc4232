"""Shapes that algorithms share: rounds of a tree, runs of slots, ranks counted from a root."""

import numpy as np
from numpy.typing import ArrayLike

from sim.schedule import NOTHING
from sim.topology import Ints


def rounds(n: int, radix: int = 2) -> int:
    """How often 1 must be multiplied by `radix` to reach n: ⌈log n⌉.

    >>> rounds(8), rounds(9), rounds(9, 3)
    (3, 4, 2)
    """
    count, reach = 0, 1
    while reach < n:
        count, reach = count + 1, reach * radix
    return count


def power_below(n: int, radix: int = 2) -> int:
    """The largest power of `radix` that is not above n.

    >>> power_below(8), power_below(9, 3), power_below(7)
    (8, 9, 4)
    """
    return int(radix ** (rounds(n + 1, radix) - 1))


def runs(first: ArrayLike, length: int) -> Ints:
    """One row of slots per message: `first[i], first[i] + 1, …`, `length` of them."""
    start: Ints = np.asarray(first, dtype=np.int32).reshape(-1, 1)
    return start + np.arange(length, dtype=np.int32)


def from_root(v: ArrayLike, root: int, n: int) -> Ints:
    """The ranks that stand at places v counted from the root; NOTHING for places 0..n-1 does not hold."""
    place = np.asarray(v, dtype=np.int32)
    rank: Ints = (place + root) % n
    rank[(place < 0) | (place >= n)] = NOTHING
    return rank
