"""Butterflies: log n rounds of pairs; each round halves, or doubles, the data a rank answers for.

Swing and Bine choose peers that stay close on a ring or torus: at distances 1, 1, 3, 5, 11, 21 …, even ranks one way,
odd ranks the other.
"""

import math
from collections.abc import Sequence

import numpy as np

from ops.algorithms.doubling import cores
from ops.collectives import allreduce, broadcast, reduce_scatter
from ops.patterns import power_below, rounds, runs, windows
from ops.registry import algorithm, power_of_two
from sim.registry import titled
from sim.schedule import NOTHING, Steps, copy
from sim.schedule import steps as schedule
from sim.topology import Ints


def scatter_sums(rank: Ints, peers: Sequence[Ints], own: Ints) -> Steps:
    """Reduce-scatter: each round passes on what the peer answers for from then on; c ends with slots `own[c]`."""
    for peer, blocks in zip(peers, windows(peers, own)[1:], strict=True):
        yield schedule.reduce(rank, rank[peer], slot=blocks[peer])


def scatter_cost(n: int, groups: Sequence[int]) -> tuple[float, float, float]:
    """The claim of a reduce-scatter among groups of such sizes in turn, the first ones farthest apart.

    Ranks beyond the product of the sizes hand their data to others first and get their block last.
    """
    p = d = math.prod(groups)
    folds, passed = n > p, 0
    for size in groups:
        d //= size
        passed += (size - 1) * (d + min(d, n - p))
    return len(groups) + 2 * folds, (passed + folds * (n + 1)) / n, passed / n + folds


def spread(rank: Ints, peers: Sequence[Ints], own: Ints) -> Steps:
    """Allgather: the rounds backwards; each passes on all that c has, at first slots `own[c]`."""
    for peer, blocks in reversed(list(zip(peers, windows(peers, own)[1:], strict=True))):
        yield copy(rank, rank[peer], slot=blocks)


def halving(p: int) -> list[Ints]:
    """Peers at distance p/2, p/4 … 1 for a power of two."""
    c = np.arange(p, dtype=np.int32)
    return [c ^ (p >> k) for k in range(1, rounds(p) + 1)]


def mirrored(p: int) -> Ints:
    """The numbers below a power of two with their bits reversed.

    >>> mirrored(8).tolist()
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    c = np.arange(p, dtype=np.int32)
    mirror = np.zeros_like(c)
    for k in range(rounds(p)):
        mirror |= (c >> k & 1) << (rounds(p) - 1 - k)
    return mirror


def swinging(n: int) -> list[Ints]:
    """Peers at Swing's distances, for a power of two."""
    r = np.arange(n, dtype=np.int32)
    distance = [(1 - (-2) ** (k + 1)) // 3 for k in range(rounds(n))]
    return [(r + np.where(r % 2 == 0, d, -d)) % n for d in distance]


def _negabinary(value: Ints) -> Ints:
    """Digits in base -2, as bits."""
    return (value + 0x2AAAAAAA) ^ 0x2AAAAAAA


def _bine_position(n: int) -> Ints:
    """ν of the Bine paper: where rank r's share lies so that every message of the butterfly is one run."""
    r = np.arange(n, dtype=np.int32)
    digits = _negabinary(np.where(r % 2 == 1, r, -r)) & (n - 1)
    position: Ints = mirrored(n)[digits ^ (digits >> 1)]
    return position


def bine_tree(n: int, root: int) -> list[tuple[Ints, Ints, Ints]]:
    """Parents, children and the ranks of the children's subtrees in every round, top first."""
    rank = (np.argsort(_negabinary(np.arange(n, dtype=np.int32)) & (n - 1)) + root).astype(np.int32) % n
    has, moves = np.zeros(1, dtype=np.int32), []
    for k in reversed(range(rounds(n))):
        gets = has ^ ((2 << k) - 1)
        moves.append((rank[has], rank[gets], rank[runs(gets >> k << k, 1 << k)]))
        has = np.concatenate([has, gets])
    return moves


@algorithm(
    allreduce,
    only=power_of_two,
    pieces=power_below,
    cost=lambda n: (2 * rounds(n), 2 * (n - 1) / n, (n - 1) / n),
    reference="De Sensi et al., Swing, NSDI 2024",
)
@titled("Swing")
def swing(n: int) -> Steps:
    """Rabenseifner's halving and doubling with peers that swing from side to side, so that they stay close."""
    r = np.arange(n, dtype=np.int32)
    yield "reduce-scatter"
    yield from scatter_sums(r, swinging(n), r)
    yield "allgather"
    yield from spread(r, swinging(n), r)


@algorithm(
    allreduce,
    only=power_of_two,
    cost=lambda n: (rounds(n), rounds(n), rounds(n)),
    reference="De Sensi et al., Swing, NSDI 2024",
)
@titled("Swing for latency")
def swing_latency(n: int) -> Steps:
    """Recursive doubling with peers that swing from side to side, so that they stay close."""
    r = np.arange(n)
    for peer in swinging(n):
        yield schedule.reduce(r, peer, slot=0)


@algorithm(
    allreduce,
    only=power_of_two,
    pieces=power_below,
    cost=lambda n: (2 * rounds(n), 2 * (n - 1) / n, (n - 1) / n),
    reference="De Sensi et al., Bine Trees, SC 2025",
)
@titled("Bine")
def bine(n: int) -> Steps:
    """Swing's peers, with the shares renumbered so that every message is one run of neighbouring slots."""
    r, own = np.arange(n, dtype=np.int32), _bine_position(n)
    yield "reduce-scatter"
    yield from scatter_sums(r, swinging(n), own)
    yield "allgather"
    yield from spread(r, swinging(n), own)


@algorithm(
    broadcast,
    name="bine",
    only=power_of_two,
    ordered=True,
    cost=lambda n: (rounds(n), rounds(n)),
    reference="De Sensi et al., Bine Trees, SC 2025",
)
@titled("Bine")
def bine_broadcast(n: int, *, root: int = 0) -> Steps:
    """A binomial tree in base -2: children sit on both sides of their parent, so distances are a third shorter."""
    for parent, child, _ in bine_tree(n, root):
        yield copy(parent, child, slot=0)


def _butterfly_cost(n: int) -> tuple[float, float, float]:
    p = power_below(n)
    folds = n > p
    passed = sum(d + min(d, n - p) for d in (p >> k for k in range(1, rounds(p) + 1)))
    moves = p > 2 or folds
    return rounds(p) + folds + moves, folds + (passed + moves * (1 + folds)) / n, folds + passed / n


@algorithm(
    reduce_scatter,
    ordered=True,
    exact=False,
    cost=_butterfly_cost,
    ids={"openmpi": "4, block 4"},
    v={"openmpi": "4"},
    reference="Träff, EuroPVM/MPI 2005",
)
def butterfly(n: int) -> Steps:
    """Halving that starts with the next neighbour, which keeps rank order; a last message brings blocks home.

    Each rank ends with the share whose number is its own with the bits reversed. Where n is no power of two,
    some ranks hand their whole buffer to a neighbour first. The claim is a bound then.
    """
    rank = cores(n)
    p, folded = len(rank), 2 * np.arange(n - len(rank))
    mirror = mirrored(p)
    blocks = np.stack([np.where(np.arange(p) < n - p, rank - 1, NOTHING), rank], axis=1)
    if len(folded):
        yield "fold"
        yield schedule.reduce(folded, folded + 1, slot=runs(0, n))
    yield "halving"
    yield from scatter_sums(rank, halving(p)[::-1], blocks[mirror])
    yield "home"
    src, owner = np.repeat(rank, 2), blocks[mirror].reshape(-1)
    away = (owner != NOTHING) & (owner != src)
    if away.any():
        yield copy(src[away], owner[away], slot=owner[away])
