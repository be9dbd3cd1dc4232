"""Butterflies: log n rounds of pairs; each round halves, or doubles, the data a rank answers for.

Swing and Bine choose peers that stay close on a ring or torus: at distances 1, 1, 3, 5, 11, 21 …, even ranks one way,
odd ranks the other.
"""

from collections.abc import Sequence

import numpy as np

from ops.collectives import allreduce, broadcast
from ops.registry import algorithm, power_of_two
from ops.shapes import power_below, rounds, windows
from sim import schedule
from sim.schedule import Steps, copy
from sim.topology import Ints


def scatter_sums(rank: Ints, peers: Sequence[Ints], own: Ints) -> Steps:
    """Reduce-scatter: each round passes on what the peer answers for from then on; c ends with slots `own[c]`."""
    for peer, mine in zip(peers, windows(peers, own)[1:], strict=True):
        yield schedule.reduce(rank, rank[peer], slot=mine[peer])


def spread(rank: Ints, peers: Sequence[Ints], own: Ints) -> Steps:
    """Allgather: the rounds backwards; each passes on all that c has, at first slots `own[c]`."""
    for peer, mine in reversed(list(zip(peers, windows(peers, own)[1:], strict=True))):
        yield copy(rank, rank[peer], slot=mine)


def halving(p: int) -> list[Ints]:
    """Peers at distance p/2, p/4 … 1 for a power of two."""
    c = np.arange(p, dtype=np.int32)
    return [c ^ (p >> k) for k in range(1, rounds(p) + 1)]


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
    gray = digits ^ (digits >> 1)
    position = np.zeros_like(r)
    for k in range(rounds(n)):
        position |= (gray >> k & 1) << (rounds(n) - 1 - k)
    return position


@algorithm(
    allreduce,
    only=power_of_two,
    pieces=power_below,
    cost=lambda n: (2 * rounds(n), 2 * (n - 1) / n, (n - 1) / n),
    reference="De Sensi et al., Swing, NSDI 2024",
)
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
def bine_broadcast(n: int, *, root: int = 0) -> Steps:
    """A binomial tree in base -2: children sit on both sides of their parent, so distances are a third shorter."""
    rank = np.argsort(_negabinary(np.arange(n, dtype=np.int32)) & (n - 1))
    has = np.zeros(1, dtype=np.int32)
    for k in reversed(range(rounds(n))):
        gets = has ^ ((2 << k) - 1)
        yield copy((rank[has] + root) % n, (rank[gets] + root) % n, slot=0)
        has = np.concatenate([has, gets])
