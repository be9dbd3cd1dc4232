"""Circulant graphs: in every round all ranks send equally far, by skips that roughly double, for any number of ranks.

Blocks follow each other without a gap, one every ⌈log n⌉ rounds through each skip. Places count from the root.
"""

from typing import NamedTuple

import numpy as np

from ops.collectives import COLLECTIVES, allgather, allreduce, broadcast, reduce
from ops.patterns import Segments, rounds
from ops.registry import algorithm
from sim.schedule import Step, Steps, copy
from sim.schedule import steps as schedule
from sim.symmetry.renamings import rotation
from sim.topology import Ints

PAPER = "Träff, arXiv 2407.18004; MPICH src/mpi/coll/algorithms/circ_graph"


class Circulant(NamedTuple):
    """Skips by round, and the block that every place receives in it; negative ones belong to an earlier turn."""

    skips: list[int]
    receives: Ints

    @property
    def turn(self) -> int:
        """Rounds after which the skips come again: ⌈log n⌉."""
        return len(self.skips) - 1


def circulant(n: int) -> Circulant:
    """The graph of n places.

    >>> circulant(17).skips, circulant(17).receives[4].tolist()
    ([1, 2, 3, 5, 9, 17], [-3, -4, 0, -2, -1])
    """
    skips = [n]
    for _ in range(rounds(n)):
        skips.insert(0, (skips[0] + 1) // 2)
    q, place = len(skips) - 1, np.arange(n)
    first = _first_blocks(n, skips)
    free = ((2 << q) - 1) & ~(1 << first)
    receives = np.empty((n, q), dtype=np.int32)
    for k in range(q):
        taken = _any_of(1 << first, skips[k + 1] - skips[k])[(place - skips[k + 1] + 1) % n] & free
        taken = np.where(taken, taken, (1 << first)[(place - skips[k + 1]) % n] & free)
        block = np.frexp(taken)[1] - 1
        free &= ~(1 << block)
        receives[:, k] = np.where(block == q, first, block - q)
    return Circulant(skips, receives)


def _first_blocks(n: int, skips: list[int]) -> Ints:
    """The first block of every place: the last of the skips, taken greedily, that lead there from the root."""
    rest, first = np.arange(n), np.full(n, len(skips) - 1)
    for k in reversed(range(len(skips) - 1)):
        taken = rest >= skips[k]
        rest = rest - skips[k] * taken
        first[taken & (rest == 0) & (first == len(skips) - 1)] = k
    first[0] = len(skips) - 1
    return first


def _any_of(bits: Ints, length: int) -> Ints:
    """The bits that any of the `length` places from each on has, counted round."""
    joined, reach = np.zeros_like(bits), 0
    step, power = bits, 1
    while length:
        if length & 1:
            joined, reach = joined | np.roll(step, -reach), reach + power
        step, power, length = step | np.roll(step, -power), 2 * power, length // 2
    return joined


def _moments(graph: Circulant, segments: int) -> list[tuple[int, Ints, Ints]]:
    """Skip, receiving places and the block each receives, moment by moment; the root receives none."""
    q, moments = graph.turn, list[tuple[int, Ints, Ints]]()
    start = -(segments - 1) % q
    for i in range(start, segments - 1 + q + start):
        block = graph.receives[:, i % q] + i // q * q - start
        place = np.nonzero(block >= 0)[0].astype(np.int32)
        place = place[place > 0]
        moments.append((graph.skips[i % q], place, np.minimum(block[place], segments - 1)))
    return moments


def _down(n: int, root: int, segments: int) -> list[Step]:
    steps = []
    for skip, place, block in _moments(circulant(n), segments):
        steps.append(copy((place - skip + root) % n, (place + root) % n, slot=block))
    return steps


def _up(n: int, root: int, segments: int) -> list[Step]:
    return [schedule.reduce(s.dst, s.src, slot=s.slot) for s in reversed(_down(n, root, segments))]


def _one_way(n: int, segments: int) -> tuple[float, float]:
    moments = segments - 1 + rounds(n)
    return moments, moments / segments


@algorithm(
    broadcast,
    name="circulant_graph",
    ordered=True,
    exact=False,
    pieces=lambda n, *, segments: segments,
    cost=lambda n, *, segments: _one_way(n, segments),
    ids={"mpich": "circ_graph"},
    reference=PAPER,
)
def circulant_broadcast(n: int, *, root: int = 0, segments: Segments = 8) -> Steps:
    """Segments leave the root one a round, each by the next skip, and every rank sends on what it heard before.

    segments - 1 + ⌈log n⌉ rounds, the least there can be; the claim is a bound.
    """
    yield from _down(n, root, segments)


@algorithm(
    reduce,
    name="circulant_graph",
    ordered=True,
    exact=False,
    pieces=lambda n, *, segments: segments,
    cost=lambda n, *, segments: (*_one_way(n, segments), _one_way(n, segments)[1]),
    ids={"mpich": "circ_graph"},
    reference=PAPER,
)
def circulant_reduce(n: int, *, root: int = 0, segments: Segments = 8) -> Steps:
    """The broadcast backwards: segments of sums reach the root one a round.

    segments - 1 + ⌈log n⌉ rounds, the least there can be; the claim is a bound.
    """
    yield from _up(n, root, segments)


@algorithm(
    allreduce,
    name="circulant_graph",
    ordered=True,
    exact=False,
    pieces=lambda n, *, segments: segments,
    cost=lambda n, *, segments: (
        2 * _one_way(n, segments)[0],
        2 * _one_way(n, segments)[1],
        _one_way(n, segments)[1],
    ),
    ids={"mpich": "circ_graph"},
    reference=PAPER,
)
def circulant_allreduce(n: int, *, segments: Segments = 8) -> Steps:
    """Segments of sums reach rank 0 one a round, then the totals leave it one a round.

    The claim is a bound.
    """
    yield "reduce"
    yield from _up(n, 0, segments)
    yield "broadcast"
    yield from _down(n, 0, segments)


@algorithm(
    allgather,
    name="circulant_graph",
    ordered=True,
    symmetry=rotation,
    cost=lambda n: (rounds(n), (n - 1) / n),
    ids={"mpich": "circ_graph"},
    reference=PAPER,
)
@algorithm(COLLECTIVES["allgatherv"], name="circulant_graph", ordered=True, reference=PAPER)
def circulant_allgather(n: int) -> Steps:
    """Everyone broadcasts at once along the same graph: in round k each rank sends as far as skip k.

    The skips are those of ⌈n / 2⌉, ⌈n / 4⌉ …, nearest first, where Bruck's are powers of two.
    """
    rank = np.arange(n)
    for skip, place, _ in _moments(circulant(n), 1):
        owner = (rank.reshape(-1, 1) + skip - place) % n
        yield copy(rank, (rank + skip) % n, slot=owner)
