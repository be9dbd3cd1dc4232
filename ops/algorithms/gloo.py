"""Gloo's own: binary blocks, rings with and without chunks, and everyone telling everyone."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise, zip_longest

import numpy as np

from ops.algorithms.butterfly import halving, mirrored, scatter_sums, spread
from ops.algorithms.direct import everyone
from ops.collectives import allreduce, barrier, reduce_scatter
from ops.collectives import reduce as reduce_to_root
from ops.patterns import power_below, rounds, runs
from ops.registry import algorithm
from sim.registry import titled
from sim.schedule import NOTHING, Step, Steps, copy, reduce
from sim.symmetry.renamings import exchange_mirrored, rotation, standing
from sim.topology import Ints

_Part = tuple[Ints, list[Ints], Ints]
"""Ranks of a block, their peers round by round, nearest first, and the slots that each of them ends up with."""


def _blocks(n: int) -> list[tuple[int, int]]:
    """Where each power of two that n is the sum of begins, and how large it is, the largest first."""
    sizes = [1 << k for k in reversed(range(n.bit_length())) if n >> k & 1]
    return [(sum(sizes[:i]), size) for i, size in enumerate(sizes)]


def _shares(n: int, size: int) -> Ints:
    """The slots that each rank of a block of so many ends up with: halves of halves, the lower rank's lower."""
    each = power_below(n) // size
    return runs(mirrored(size) * each, each)


def _parts(blocks: list[tuple[int, int]], slots: Callable[[int], Ints]) -> list[_Part]:
    """The blocks, `slots` being what the ranks of one of so many end up with."""
    return [(first + np.arange(size, dtype=np.int32), halving(size)[::-1], slots(size)) for first, size in blocks]


def _side_by_side(rounds_of: Callable[..., Steps], blocks: list[_Part]) -> Steps:
    """The rounds of all blocks at once."""
    for steps in zip_longest(*(rounds_of(*block) for block in blocks)):
        yield tuple(step for step in steps if isinstance(step, Step))


def _extra(blocks: list[tuple[int, int]]) -> float:
    """The share of the data that smaller blocks hand to the next larger one, one after the other."""
    return sum(1 / size for _, size in blocks[1:])


def _between(n: int, large: tuple[int, int], small: tuple[int, int]) -> tuple[Ints, Ints, Ints]:
    """Who of a small block shares slots with whom of the next larger one, and which slots."""
    owner = np.empty(power_below(n), dtype=np.int32)
    slots = _shares(n, small[1])
    owner[slots] = np.arange(small[1], dtype=np.int32).reshape(-1, 1)
    theirs = _shares(n, large[1])
    return small[0] + owner[theirs[:, 0]], large[0] + np.arange(large[1], dtype=np.int32), theirs


def _binary_blocks_cost(n: int) -> tuple[float, float, float]:
    blocks, p = _blocks(n), power_below(n)
    extra = _extra(blocks)
    return 2 * (rounds(p) + len(blocks) - 1), 2 * (p - 1) / p + 2 * extra, (p - 1) / p + extra


@algorithm(
    allreduce,
    ordered=True,
    exact=False,
    pieces=power_below,
    symmetry=exchange_mirrored,
    cost=_binary_blocks_cost,
    ids={"gloo": "allreduce_halving_doubling"},
    reference="Thakur et al., IJHPCA 2005; Gloo gloo/allreduce_halving_doubling.h",
)
def binary_blocks(n: int) -> Steps:
    """Halving and doubling inside blocks of 8, 4, 2 … ranks; smaller blocks hand their shares to the next larger one.

    Neighbours swap the largest halves. The claim is met for a power of two and is a bound otherwise.
    """
    blocks = _blocks(n)
    parts = _parts(blocks, partial(_shares, n))
    joints = [_between(n, large, small) for large, small in pairwise(blocks)]
    yield "reduce-scatter"
    yield from _side_by_side(scatter_sums, parts)
    if joints:
        yield "to larger blocks"
    for small, large, slots in reversed(joints):
        yield reduce(small, large, slot=slots)
    if joints:
        yield "to smaller blocks"
    for small, large, slots in joints:
        yield copy(large, small, slot=slots)
    yield "allgather"
    yield from _side_by_side(spread, parts)


def _finer(n: int) -> int:
    """Pieces of a block where the largest power of two of ranks cuts the whole otherwise than blocks do."""
    return 1 if n == power_below(n) else power_below(n)


def _in_pieces(n: int, shares: Ints) -> Ints:
    """The slots of shares of the whole, of which there are as many as the largest power of two of ranks."""
    each = n * _finer(n) // power_below(n)
    slots = shares[..., None] * each + np.arange(each)
    return slots.reshape(len(shares), -1).astype(np.int32)


def _scattered_cost(n: int) -> tuple[float, float, float]:
    blocks, p = _blocks(n), power_below(n)
    extra = _extra(blocks)
    return rounds(p) + len(blocks), (p - 1) / p + extra + 1 / p, (p - 1) / p + extra


@algorithm(
    reduce_scatter,
    name="binary_blocks",
    ordered=True,
    exact=False,
    pieces=_finer,
    cost=_scattered_cost,
    ids={"gloo": "reduce_scatter_halving_doubling"},
    reference="Gloo gloo/reduce_scatter.h",
)
def binary_blocks_scatter(n: int) -> Steps:
    """Halving inside blocks of 8, 4, 2 … ranks; smaller blocks hand their shares to the next larger one.

    Neighbours swap the largest halves, so that shares end in mirrored order; those who have them send them on to those
    they are for. The claim is a bound.
    """
    blocks, p, pieces = _blocks(n), power_below(n), _finer(n)
    parts = _parts(blocks, lambda size: _in_pieces(n, _shares(n, size)))
    yield "halving"
    yield from _side_by_side(scatter_sums, parts)
    if len(blocks) > 1:
        yield "to larger blocks"
    for small, large, shares in reversed([_between(n, large, small) for large, small in pairwise(blocks)]):
        yield reduce(small, large, slot=_in_pieces(n, shares))
    yield "home"
    slots = parts[0][2]
    owner = slots // pieces
    away = [(c, to) for c in range(p) for to in np.unique(owner[c]) if to != c]
    if away:
        src, dst = np.array(away, np.int32).T
        yield copy(src, dst, slot=np.where(owner[src] == dst[:, None], slots[src], NOTHING))


@algorithm(
    allreduce,
    pieces=lambda n: 2 * n,
    symmetry=lambda n: rotation(n, 2),
    exact=False,
    cost=lambda n: (2 * (n - 1), 2 * (n - 1) / n, (n - 1) / n / 2),
    ids={"gloo": "allreduce_ring_chunked"},
    reference="Gloo gloo/allreduce_ring_chunked.h",
)
def ring_chunked(n: int) -> Steps:
    """A ring with two chunks of each block in flight, one behind the other.

    The claim is a bound: while one chunk is on its way or being added, the other flows.
    """
    r = np.arange(n)
    for phase, move in (("reduce-scatter", reduce), ("allgather", copy)):
        yield phase
        for k in range(n - 1):
            block = (r - k + (move is copy)) % n
            yield move(r, (r + 1) % n, slot=2 * block)
            yield move(r, (r + 1) % n, slot=2 * block + 1)


@algorithm(
    allreduce,
    symmetry=lambda n: standing(n, slots=3),
    cost=lambda n: (n - 1, n - 1, 1),
    ids={"gloo": "allreduce_ring"},
    reference="Gloo gloo/allreduce_ring.h, docs/algorithms.md",
)
def whole_ring(n: int) -> Steps:
    """Whole buffers go round a ring as they are, and everyone adds up all that pass: n - 1 hops of everything.

    What has just come is passed on while it is added; two places take turns to hold it.
    """
    r = np.arange(n)
    for k in range(n - 1):
        inbox = 1 + k % 2
        yield copy(r, (r + 1) % n, slot=0 if k == 0 else 3 - inbox, to=inbox)
        yield reduce(r, r, slot=inbox, to=0)


@algorithm(
    barrier,
    name="all_to_all",
    symmetry=standing,
    cost=lambda n: (1, 0),
    ids={"gloo": "all_to_all"},
    reference="Gloo gloo/barrier_all_to_all.h",
)
@titled("all-to-all")
def everyone_barrier(n: int) -> Steps:
    """Every rank notifies every other rank of its arrival, all at once."""
    src, dst = everyone(n)
    yield reduce(src, dst, slot=0)


@algorithm(
    reduce_to_root,
    name="ring_gather",
    pieces=lambda n: 2 * n,
    exact=False,
    cost=lambda n: (n, 2 * (n - 1) / n, (n - 1) / n / 2),
    ids={"gloo": "reduce"},
    reference="Gloo gloo/reduce.cc",
)
@titled("ring and gather")
def ring_gather(n: int, *, root: int = 0) -> Steps:
    """Partial sums go round a ring downwards, two halves of each block in flight; then the root collects the blocks.

    The claim is a bound: while one half is on its way or being added, the other flows.
    """
    r = np.arange(n)
    yield "reduce-scatter"
    for k in range(n - 1):
        block = (r + 1 + k) % n
        yield reduce(r, (r - 1) % n, slot=2 * block)
        yield reduce(r, (r - 1) % n, slot=2 * block + 1)
    yield "gather"
    others = np.delete(r, root)
    yield copy(others, root, slot=runs(2 * others, 2))
