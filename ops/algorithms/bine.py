"""Bine trees and butterflies for the other collectives: peers at distances 1, 1, 3, 5, 11 …, on both sides in turn.

A tree's node that has everything in round k serves, in base -2, the place whose last k + 1 digits are all different.
"""

import numpy as np

from ops.algorithms.butterfly import bine_tree, scatter_sums, spread, swinging
from ops.collectives import COLLECTIVES, allgather, alltoall, broadcast, gather, reduce, reduce_scatter, scatter
from ops.patterns import rounds, windows
from ops.registry import algorithm, power_of_two
from sim.registry import titled
from sim.schedule import Steps, copy
from sim.schedule import steps as schedule
from sim.topology import Ints

PAPER = "De Sensi et al., Bine Trees, SC 2025; HLC-Lab/pico libpico"


@algorithm(
    allgather,
    name="bine",
    only=power_of_two,
    cost=lambda n: (rounds(n), (n - 1) / n),
    reference=PAPER,
)
@algorithm(COLLECTIVES["allgatherv"], name="bine", only=power_of_two, reference=PAPER)
@titled("Bine")
def bine_allgather(n: int) -> Steps:
    """Pairs at Bine's distances swap all blocks they have, those that are far apart first."""
    r = np.arange(n, dtype=np.int32)
    yield from spread(r, swinging(n), r)


@algorithm(
    reduce_scatter,
    name="bine",
    only=power_of_two,
    cost=lambda n: (rounds(n), (n - 1) / n, (n - 1) / n),
    reference=PAPER,
)
@algorithm(COLLECTIVES["reduce_scatterv"], name="bine", only=power_of_two, reference=PAPER)
@titled("Bine")
def bine_reduce_scatter(n: int) -> Steps:
    """Pairs at Bine's distances swap and add the half of their data that the other must end with, near ones first."""
    r = np.arange(n, dtype=np.int32)
    yield from scatter_sums(r, swinging(n), r)


@algorithm(
    reduce,
    name="bine",
    only=power_of_two,
    cost=lambda n: (rounds(n), rounds(n), rounds(n)),
    reference=PAPER,
)
@titled("Bine")
def bine_reduce(n: int, *, root: int = 0) -> Steps:
    """The binomial tree in base -2 backwards: sums come from both sides of their parent."""
    for parent, child, _ in reversed(bine_tree(n, root)):
        yield schedule.reduce(child, parent, slot=0)


@algorithm(
    scatter,
    name="bine",
    only=power_of_two,
    ordered=True,
    cost=lambda n: (rounds(n), (n - 1) / n),
    reference=PAPER,
)
@algorithm(COLLECTIVES["scatterv"], name="bine", only=power_of_two, ordered=True, reference=PAPER)
@titled("Bine")
def bine_scatter(n: int, *, root: int = 0) -> Steps:
    """Down the binomial tree in base -2 every rank passes on the blocks of the subtree it serves: one run of ranks."""
    for parent, child, subtree in bine_tree(n, root):
        yield copy(parent, child, slot=subtree)


@algorithm(
    gather,
    name="bine",
    only=power_of_two,
    ordered=True,
    cost=lambda n: (rounds(n), (n - 1) / n),
    reference=PAPER,
)
@algorithm(COLLECTIVES["gatherv"], name="bine", only=power_of_two, ordered=True, reference=PAPER)
@titled("Bine")
def bine_gather(n: int, *, root: int = 0) -> Steps:
    """Up the binomial tree in base -2 every rank hands on the blocks of its subtree, a run of ranks."""
    for parent, child, subtree in reversed(bine_tree(n, root)):
        yield copy(child, parent, slot=subtree)


def _halves(n: int, root: int) -> list[tuple[Ints, Ints, Ints]]:
    """Who has the shares of both, who gets them, and which, as a root hands them out along the butterfly."""
    rank = (np.arange(n, dtype=np.int32) + root) % n
    peers, own = swinging(n), np.arange(n, dtype=np.int32)
    has, moves = np.zeros(1, dtype=np.int32), []
    for peer, after in zip(peers, windows(peers, own)[1:], strict=True):
        gets = peer[has]
        moves.append((rank[has], rank[gets], after[gets]))
        has = np.concatenate([has, gets])
    return moves


@algorithm(
    broadcast,
    name="bine_scatter_allgather",
    only=power_of_two,
    ordered=True,
    pieces=lambda n: n,
    cost=lambda n: (2 * rounds(n), 2 * (n - 1) / n),
    reference=PAPER,
)
@titled("Bine scatter, then all-gather")
def bine_scatter_allgather(n: int, *, root: int = 0) -> Steps:
    """The root's shares are handed out along Bine's butterfly, which then swaps them back until all have all."""
    yield "scatter"
    for src, dst, share in _halves(n, root):
        yield copy(src, dst, slot=share)
    yield "allgather"
    yield from spread((np.arange(n, dtype=np.int32) + root) % n, swinging(n), np.arange(n, dtype=np.int32))


@algorithm(
    reduce,
    name="bine_scatter_gather",
    only=power_of_two,
    ordered=True,
    pieces=lambda n: n,
    cost=lambda n: (2 * rounds(n), 2 * (n - 1) / n, (n - 1) / n),
    reference=PAPER,
)
@titled("Bine scatter, then gather")
def bine_scatter_gather(n: int, *, root: int = 0) -> Steps:
    """Bine's butterfly leaves each rank one share of the sum, then the shares come together at the root."""
    yield "reduce-scatter"
    yield from scatter_sums((np.arange(n, dtype=np.int32) + root) % n, swinging(n), np.arange(n, dtype=np.int32))
    yield "gather"
    for src, dst, share in reversed(_halves(n, root)):
        yield copy(dst, src, slot=share)


@algorithm(
    alltoall,
    name="bine",
    only=power_of_two,
    ordered=True,
    cost=lambda n: (rounds(n), rounds(n) / 2),
    reference=PAPER,
)
@titled("Bine")
def bine_alltoall(n: int) -> Steps:
    """In every round everyone hands its peer all blocks it has for those that the peer answers for, half of all.

    Row c of `source` and `target` tells what place 0 … n - 1 of rank c holds.
    """
    r = np.arange(n)
    source, target = np.repeat(r.reshape(-1, 1), n, axis=1), np.tile(r, (n, 1))
    peers, own = swinging(n), np.arange(n, dtype=np.int32)
    for k, (peer, after) in enumerate(zip(peers, windows(peers, own)[1:], strict=True)):
        answers = np.zeros((n, n), dtype=bool)
        np.put_along_axis(answers, after.astype(np.int64), True, axis=1)
        goes = ~answers[r.reshape(-1, 1), target]
        place = np.nonzero(goes)[1].reshape(n, n // 2)
        last = k == len(peers) - 1
        moved = np.take_along_axis(source, place, axis=1)
        yield copy(r, peer, slot=place, to=n + moved if last else place[peer])
        for table in (source, target):
            sent = np.take_along_axis(table, place, axis=1)
            np.put_along_axis(table, place, sent[peer], axis=1)
        if last:
            stays = np.nonzero(~goes)[1].reshape(n, n // 2)
            yield copy(r, r, slot=stays, to=n + np.take_along_axis(source, stays, axis=1))
