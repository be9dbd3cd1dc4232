"""The promises: who holds what before a collective, and who must hold what after.

Sizes are counted as nccl-tests counts them. `pieces` is how many slots one unit block is cut into: the unit
block is the whole buffer of an allreduce, broadcast, reduce, scan or sendrecv, and one rank's block otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim.schedule import NOTHING, Promise

Layout = Callable[[int, int, int], Promise]
"""(ranks, pieces, root) to the promise."""


@dataclass(frozen=True, slots=True)
class Collective:
    """`units(n)` unit blocks make up the size a person gives; `busbw(n)` is nccl-tests' factor."""

    name: str
    summary: str
    units: Callable[[int], int]
    promise: Layout
    busbw: Callable[[int], float]
    rooted: bool = False
    reduces: bool = False
    vector: bool = False
    sized: bool = True
    """False for a barrier, which moves no data."""

    def whole_blocks(self, n: int) -> int:
        """How many blocks have a size of their own in a v variant: one per rank, or per pair of ranks."""
        return n * n if self.name.startswith("alltoall") else n


COLLECTIVES: dict[str, Collective] = {}


def _collective(
    units: Callable[[int], int],
    busbw: Callable[[int], float],
    *,
    rooted: bool = False,
    reduces: bool = False,
    sized: bool = True,
    v: bool = False,
) -> Callable[[Layout], Collective]:
    """Register the promise function's name as a collective; with `v`, its uneven variant too."""

    def register(promise: Layout) -> Collective:
        name, summary = promise.__name__, (promise.__doc__ or "").split("\n")[0]
        made = Collective(name, summary, units, promise, busbw, rooted, reduces, False, sized)
        COLLECTIVES[name] = made
        if v:
            uneven = summary.rstrip(".") + ", blocks of unequal size."
            COLLECTIVES[name + "v"] = Collective(name + "v", uneven, units, promise, busbw, rooted, reduces, True)
        return made

    return register


def _promise(
    name: str, n: int, slots: int, blocks: int, inputs: range, outputs: range, *, union: bool = False
) -> Promise:
    """A promise that gives nothing and owes nothing yet."""
    given, owed, first, last = np.full((4, n, slots), NOTHING, dtype=np.int32)
    return Promise(name, blocks, given, owed, first, last, inputs, outputs, union)


def _one(n: int) -> int:
    return 1


def _each(n: int) -> int:
    return n


def _share(n: int) -> float:
    return (n - 1) / n


@_collective(_one, lambda n: 2 * (n - 1) / n, reduces=True)
def allreduce(n: int, pieces: int, root: int) -> Promise:
    """Every rank ends with the sum of all ranks' buffers."""
    p = _promise("allreduce", n, pieces, pieces, range(pieces), range(pieces))
    p.given[:] = p.owed[:] = np.arange(pieces)
    p.first[:], p.last[:] = 0, n
    return p


@_collective(_one, lambda n: 1.0, rooted=True, reduces=True)
def reduce(n: int, pieces: int, root: int) -> Promise:
    """The root ends with the sum of all ranks' buffers."""
    p = _promise("reduce", n, pieces, pieces, range(pieces), range(pieces))
    p.given[:] = p.owed[root] = np.arange(pieces)
    p.first[root], p.last[root] = 0, n
    return p


@_collective(_one, lambda n: 1.0, rooted=True)
def broadcast(n: int, pieces: int, root: int) -> Promise:
    """Every rank ends with the root's buffer."""
    p = _promise("broadcast", n, pieces, pieces, range(pieces), range(pieces))
    p.given[root] = p.owed[:] = np.arange(pieces)
    p.first[:], p.last[:] = root, root + 1
    return p


@_collective(_each, _share, v=True)
def allgather(n: int, pieces: int, root: int) -> Promise:
    """Every rank ends with every rank's block."""
    p = _promise("allgather", n, n * pieces, n * pieces, range(n * pieces), range(n * pieces))
    blocks = np.arange(n * pieces)
    p.given[blocks // pieces, blocks] = blocks
    p.owed[:], p.first[:], p.last[:] = blocks, blocks // pieces, blocks // pieces + 1
    return p


@_collective(_each, _share, reduces=True, v=True)
def reduce_scatter(n: int, pieces: int, root: int) -> Promise:
    """Rank r ends with block r of the sum of all ranks' buffers."""
    p = _promise("reduce_scatter", n, n * pieces, n * pieces, range(n * pieces), range(n * pieces))
    blocks = np.arange(n * pieces)
    p.given[:] = blocks
    mine = (blocks // pieces, blocks)
    p.owed[mine], p.first[mine], p.last[mine] = blocks, 0, n
    return p


@_collective(_each, _share, rooted=True, v=True)
def gather(n: int, pieces: int, root: int) -> Promise:
    """The root ends with every rank's block."""
    p = _promise("gather", n, n * pieces, n * pieces, range(n * pieces), range(n * pieces))
    blocks = np.arange(n * pieces)
    p.given[blocks // pieces, blocks] = blocks
    p.owed[root], p.first[root], p.last[root] = blocks, blocks // pieces, blocks // pieces + 1
    return p


@_collective(_each, _share, rooted=True, v=True)
def scatter(n: int, pieces: int, root: int) -> Promise:
    """Rank r ends with block r of the root's buffer."""
    p = _promise("scatter", n, n * pieces, n * pieces, range(n * pieces), range(n * pieces))
    blocks = np.arange(n * pieces)
    p.given[root] = blocks
    mine = (blocks // pieces, blocks)
    p.owed[mine], p.first[mine], p.last[mine] = blocks, root, root + 1
    return p


@_collective(_each, _share, v=True)
def alltoall(n: int, pieces: int, root: int) -> Promise:
    """Rank r sends its block d to rank d and ends with one block from every rank.

    Input slot `d * pieces + j` is meant for rank d; output slot `(n + s) * pieces + j` comes from rank s.
    """
    half = n * pieces
    p = _promise("alltoall", n, 2 * half, n * half, range(half), range(half, 2 * half))
    rank, slot = np.arange(n).reshape(-1, 1), np.arange(half).reshape(1, -1)
    other, piece = slot // pieces, slot % pieces
    p.given[:, :half] = rank * half + slot
    p.owed[:, half:] = other * half + rank * pieces + piece
    p.first[:, half:], p.last[:, half:] = other, other + 1
    return p


@_collective(_one, lambda n: 1.0)
def sendrecv(n: int, pieces: int, root: int) -> Promise:
    """Rank r sends its buffer to rank r + 1 and receives that of rank r - 1.

    Input slots are the first `pieces`, output slots the next.
    """
    p = _promise("sendrecv", n, 2 * pieces, pieces, range(pieces), range(pieces, 2 * pieces))
    before = (np.arange(n).reshape(-1, 1) - 1) % n
    p.given[:, :pieces] = p.owed[:, pieces:] = np.arange(pieces)
    p.first[:, pieces:], p.last[:, pieces:] = before, before + 1
    return p


@_collective(_one, lambda n: 1.0, reduces=True)
def scan(n: int, pieces: int, root: int) -> Promise:
    """Rank r ends with the sum of the buffers of ranks 0 to r.

    Input slots are the first `pieces`, output slots the next.
    """
    return _prefix("scan", n, pieces, inclusive=1)


@_collective(_one, lambda n: 1.0, reduces=True)
def exscan(n: int, pieces: int, root: int) -> Promise:
    """Rank r ends with the sum of the buffers of ranks 0 to r - 1; rank 0 is owed nothing.

    Input slots are the first `pieces`, output slots the next.
    """
    return _prefix("exscan", n, pieces, inclusive=0)


def _prefix(name: str, n: int, pieces: int, *, inclusive: int) -> Promise:
    p = _promise(name, n, 2 * pieces, pieces, range(pieces), range(pieces, 2 * pieces))
    p.given[:, :pieces] = np.arange(pieces)
    owing = slice(1 - inclusive, n)
    p.owed[owing, pieces:] = np.arange(pieces)
    p.first[owing, pieces:] = 0
    p.last[owing, pieces:] = np.arange(n)[owing].reshape(-1, 1) + inclusive
    return p


@_collective(_one, lambda n: 1.0, reduces=True, sized=False)
def barrier(n: int, pieces: int, root: int) -> Promise:
    """No rank leaves before every rank has arrived.

    Slot 0 is the token: who has been heard of. Hearing twice of a rank does no harm.
    """
    p = _promise("barrier", n, 1, 1, range(1), range(1), union=True)
    p.given[:] = p.owed[:] = 0
    p.first[:], p.last[:] = 0, n
    return p
