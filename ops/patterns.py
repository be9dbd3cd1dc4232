"""Shapes that algorithms share: rounds, runs of slots, ranks counted from a root, trees, and their parameters."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.errors import Message
from sim.parameters import Bounds
from sim.schedule import NOTHING
from sim.topology import Ints

Segments = Annotated[int, Bounds(1, 4096)]
"""Slices of the data that follow each other through a pipeline."""
Radix = Annotated[int, Bounds(2, 1024)]
"""How many ranks one round of a k-ary algorithm brings together."""
Channels = Annotated[int, Bounds(1, 64)]
"""Copies of a pattern, each on a share of the data."""
NO_LIMIT = 1 << 16
Window = Annotated[int, Bounds(1, NO_LIMIT)]
"""How many messages a rank has under way at once."""
Group = Annotated[int, Bounds(0, 1 << 16)]
"""Ranks per node; 0 stands for the largest number up to 8 that divides n."""

Sockets = Annotated[int, Bounds(0, 64)]
"""Sockets per node; 0 stands for two where a node has an even number of ranks above two, else one."""


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
    table: Ints = np.add.outer(np.asarray(first, dtype=np.int32).reshape(-1), np.arange(length, dtype=np.int32))
    return table


def from_root(v: ArrayLike, root: int, n: int) -> Ints:
    """The ranks that stand at places v counted from the root; NOTHING for places 0..n-1 does not hold."""
    place = np.asarray(v, dtype=np.int32)
    rank: Ints = (place + root) % n
    rank[(place < 0) | (place >= n)] = NOTHING
    return rank


def node_size(n: int, group: int) -> int:
    """Ranks per node, with the default filled in.

    >>> node_size(12, 0), node_size(12, 3)
    (6, 3)
    """
    return group or max(g for g in range(1, 9) if n % g == 0)


def whole_nodes(n: int, *, group: int, **_: Any) -> Message | None:
    """A refusal for algorithms that need equal nodes."""
    return None if n % node_size(n, group) == 0 else Message("ranks.nodes", size=group, n=n)


def socket_size(n: int, group: int, sockets: int) -> int:
    """Ranks per socket, with the defaults filled in.

    >>> socket_size(16, 0, 0), socket_size(12, 6, 3), socket_size(9, 3, 0)
    (4, 2, 3)
    """
    g = node_size(n, group)
    return g // (sockets or (2 if g % 2 == 0 and g > 2 else 1))


def whole_sockets(n: int, *, group: int, sockets: int, **_: Any) -> Message | None:
    """A refusal for algorithms that need equal nodes of equal sockets."""
    g = node_size(n, group)
    if n % g == 0 and sockets and g % sockets:
        return Message("ranks.sockets", sockets=sockets, g=g, n=n)
    return whole_nodes(n, group=group)


def windows(peers: Sequence[Ints], own: Ints) -> list[Ints]:
    """Who answers for which slots in a butterfly whose round k pairs c with `peers[k][c]`.

    Row c of entry k holds the slots that c answers for before round k; after the last round, `own[c]`.
    Before a round a pair answers for the same slots, after it each for its half.
    """
    tables = [own.reshape(len(own), -1)]
    for peer in reversed(peers):
        tables.append(np.concatenate([tables[-1], tables[-1][peer]], axis=1))
    return [np.sort(table, axis=1) for table in reversed(tables)]


class Tree(NamedTuple):
    """A tree of ranks: parents (NOTHING above the root), depths, and whose how-manieth child each is."""

    parent: Ints
    depth: Ints
    turn: Ints

    @property
    def height(self) -> int:
        """Hops from the root to the deepest rank."""
        return int(self.depth.max())

    @property
    def kids(self) -> NDArray[np.int64]:
        """Children of every rank."""
        return np.bincount(self.parent[self.parent != NOTHING], minlength=len(self.parent))


def tree(parent: ArrayLike) -> Tree:
    """The tree given by everyone's parent.

    >>> tree([-1, 0, 0, 1]).depth.tolist(), tree([-1, 0, 0, 1]).turn.tolist()
    ([0, 1, 1, 2], [0, 0, 1, 0])
    """
    up = np.asarray(parent, dtype=np.int32)
    depth = np.zeros(len(up), dtype=np.int32)
    above = up
    while (above != NOTHING).any():
        depth += above != NOTHING
        above = np.where(above == NOTHING, np.int32(NOTHING), up[above])
    order = np.argsort(up, kind="stable")
    turn = np.empty_like(up)
    turn[order] = np.arange(len(up)) - np.searchsorted(up[order], up[order])
    return Tree(up, depth, turn)


def rooted(parent: ArrayLike, root: int) -> Tree:
    """The tree given by everyone's parent as places counted from the root."""
    up = np.asarray(parent, dtype=np.int32)
    n = len(up)
    return tree(np.where(up == NOTHING, NOTHING, (up + root) % n)[(np.arange(n) - root) % n])
