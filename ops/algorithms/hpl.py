"""Broadcasts that High-Performance Linpack chooses from, as Hyper MPI's kucg has them.

A modified one serves the rank after the root first and alone: in Linpack that rank needs the panel next. Places count
from the root.
"""

import numpy as np

from ops.algorithms.tree import binomial_scatter
from ops.collectives import broadcast
from ops.patterns import from_root, rounds
from ops.registry import algorithm
from sim.schedule import Step, Steps, copy
from sim.topology import Ints

SOURCE = "openeuler-mirror/kucg src/planc/ucx/bcast"
HPL = "Petitet et al., HPL, a portable implementation of Linpack; "


def _rings(n: int, root: int, heads: list[int]) -> Steps:
    """The root feeds place 1, which passes nothing on, and the heads of rings that run up to the next head."""
    first = sorted({1, *heads} & set(range(1, n)))
    yield copy(root, from_root(first, root, n), slot=0)
    ends = [*heads[1:], n]
    for hop in range(max(ends[i] - head - 1 for i, head in enumerate(heads)) if heads else 0):
        at = np.array([head + hop for head, end in zip(heads, ends, strict=True) if head + hop + 1 < end])
        yield copy(from_root(at, root, n), from_root(at + 1, root, n), slot=0)


def _two_heads(n: int) -> list[int]:
    """Where the second ring begins: in the middle, where there are six ranks or more."""
    return [2] if n < 6 else [2, n // 2]


@algorithm(
    broadcast,
    ordered=True,
    cost=lambda n: (max(1, n - 2), n - 1),
    ids={"kucg": "12, stars 1"},
    reference=f"{HPL}{SOURCE}/bcast_inc_ring_m.c",
)
def increasing_ring_modified(n: int, *, root: int = 0) -> Steps:
    """The root sends to the next rank, which keeps it, and to the one after, from which it goes round."""
    yield from _rings(n, root, [2] if n > 2 else [])


def _two_rings_cost(n: int) -> tuple[int, int]:
    if n < 6:
        return max(1, n - 2), n - 1
    longest = max(n // 2 - 3, n - 1 - n // 2)
    return 1 + longest, min(3, 1 + (n > 2) + 1) + longest


@algorithm(
    broadcast,
    ordered=True,
    cost=_two_rings_cost,
    ids={"kucg": "13, stars 2"},
    reference=f"{HPL}{SOURCE}/bcast_inc_2_ring_m.c",
)
def increasing_two_ring_modified(n: int, *, root: int = 0) -> Steps:
    """The root sends to the next rank, which keeps it, and to the heads of two rings, one from the middle on.

    Below six ranks there is one ring.
    """
    yield from _rings(n, root, _two_heads(n) if n > 2 else [])


def _rolled(p: int) -> list[tuple[Ints, Ints, Ints]]:
    """Who sends to whom, and which share, at each of p - 1 moments of swaps with the neighbours in turn.

    Where p is odd, place 0 swaps with both neighbours at every other moment and rests in between.
    """
    moments = []
    for t in range(1, p):
        v = np.arange(p, dtype=np.int32)
        if p % 2:
            v = v[1:] if t % 2 == 0 else np.append(v, np.int32(0))
        up = (v % 2) ^ (t % 2) == 1
        if p % 2 and t % 2:
            up[-1] = False
        back = (t + 1) // 2 - 1
        moments.append((v, np.where(up, v + 1, v - 1) % p, np.where(up, v - back, v + back) % p))
    return moments


def _rolling_cost(p: int) -> tuple[int, float]:
    """Messages in a row and shares of 1 / p; with an odd p place 0 has two at every other moment."""
    return max(0, p - 1), (p - 1) * (1 + p % 2 / 2)


def _long_cost(n: int) -> tuple[float, float]:
    alphas, shares = _rolling_cost(n)
    return rounds(n) + alphas, (n - 1 + shares) / n


@algorithm(
    broadcast,
    ordered=True,
    exact=False,
    pieces=lambda n: n,
    cost=_long_cost,
    ids={"kucg": "11, stars 3"},
    reference=f"{HPL}{SOURCE}/bcast_long.c",
)
def long(n: int, *, root: int = 0) -> Steps:
    """Every rank gets one share down a binomial tree, then neighbours swap shares, now on one side, now on the other.

    The claim is met where n is even and is a bound otherwise.
    """
    yield "scatter"
    yield from binomial_scatter(n, root=root)
    yield "allgather"
    for src, dst, share in _rolled(n):
        yield copy(from_root(src, root, n), from_root(dst, root, n), slot=from_root(share, root, n))


def _long_modified_cost(n: int) -> tuple[float, float]:
    p = n - 1
    alphas, shares = _rolling_cost(p)
    return max(1, rounds(p) + alphas), 1 + (p - 1 + shares) / p


@algorithm(
    broadcast,
    ordered=True,
    exact=False,
    pieces=lambda n: n - 1,
    cost=_long_modified_cost,
    ids={"kucg": "14, stars 4"},
    reference=f"{HPL}{SOURCE}/bcast_long_modified.c",
)
def long_modified(n: int, *, root: int = 0) -> Steps:
    """The next rank gets everything at once; the others scatter and swap shares as in `long`, without it.

    The claim is a bound.
    """
    p = n - 1
    place = np.concatenate([[root], (root + np.arange(2, n)) % n]).astype(np.int32)
    near = copy(root, (root + 1) % n, slot=np.arange(p).reshape(1, -1))
    steps: list[Step] = [step for step in binomial_scatter(p) if isinstance(step, Step)]
    yield "scatter"
    placed = [step._replace(src=place[step.src], dst=place[step.dst]) for step in steps]
    yield near, *placed[:1]
    yield from placed[1:]
    yield "allgather"
    for src, dst, share in _rolled(p) if p > 1 else []:
        yield copy(place[src], place[dst], slot=share)
