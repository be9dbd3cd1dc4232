"""Bruck's rounds with the far ones first: many binomial trees run side by side, and blocks need no rotation.

The block of rank b travels from its owner at offset 0 to all offsets o; offset o hears from o without its lowest bit.
"""

import numpy as np

from ops.collectives import allgather, reduce_scatter
from ops.patterns import power_below, rounds
from ops.registry import algorithm
from sim.parameters import Count
from sim.registry import titled
from sim.schedule import Steps, copy
from sim.schedule import steps as schedule
from sim.symmetry.renamings import rotation
from sim.topology import Ints


@algorithm(
    allgather,
    ordered=True,
    cost=lambda n: (rounds(n), (n - 1) / n),
    ids={"openmpi": "7", "ucc": "sparbit"},
    v={"openmpi": "6"},
    reference="Loch and Koslovski, Sparbit, 2021",
)
@titled("Sparbit")
def sparbit(n: int) -> Steps:
    """Distances halve; at each, everyone passes on every second offset of every block, a message a block."""
    r = np.arange(n)
    for k in reversed(range(rounds(n))):
        d = 1 << k
        for_each = r.reshape(-1, 1) - 2 * d * np.arange(-(-n // d) - -(-n // (2 * d)))
        messages = for_each.shape[1]
        yield copy(np.repeat(r, messages), np.repeat((r + d) % n, messages), slot=for_each.reshape(-1) % n)


def _aggregated(n: int, aggregate: int) -> list[tuple[int, Ints]]:
    """PAT's order: the hop length of every moment, and from which offsets blocks make it.

    First the trees grow to `aggregate` branches, halving hops; then all branches are walked in step, each
    depth first, so that at most about log n blocks per branch wait at a rank.
    """
    span = 1 << rounds(n)
    branch = max(1, span // power_below(aggregate))
    plan = []
    while span > branch:
        plan.append((span // 2, np.arange(0, n, span)))
        span //= 2
    stack = [(0, branch)]
    while stack:
        place, span = stack.pop()
        if place % branch:
            hop = place & -place
            plan.append((hop, np.arange(place - hop, n, branch)))
        stack += [(place + (1 << k), 1 << k) for k in range(rounds(span))]
    reached = [(hop, start[start + hop < n].astype(np.int32)) for hop, start in plan]
    return [(hop, start) for hop, start in reached if len(start)]


def _pat_rounds(n: int, aggregate: int) -> int:
    return len(_aggregated(n, aggregate))


@algorithm(
    allgather,
    name="pat",
    ordered=True,
    symmetry=lambda n, **_: rotation(n),
    cost=lambda n, *, aggregate: (_pat_rounds(n, aggregate), (n - 1) / n),
    ids={"nccl": "PAT"},
    v={},
    reference="Jeaugey, PAT, 2025; NCCL src/include/collectives.h",
)
@titled("PAT")
def pat_allgather(n: int, *, aggregate: Count = 4) -> Steps:
    """Parallel aggregated trees: far hops first, at most `aggregate` blocks a message.

    ⌈log n⌉ moments when everything may be aggregated, n - 1 when nothing.
    """
    r = np.arange(n)
    for hop, start in _aggregated(n, aggregate):
        yield copy(r, (r + hop) % n, slot=(r.reshape(-1, 1) - start) % n)


@algorithm(
    reduce_scatter,
    name="pat",
    ordered=True,
    cost=lambda n, *, aggregate: (_pat_rounds(n, aggregate), (n - 1) / n, (n - 1) / n),
    ids={"nccl": "PAT"},
    v={},
    reference="Jeaugey, PAT, 2025; NCCL src/include/collectives.h",
)
@titled("PAT")
def pat_reduce_scatter(n: int, *, aggregate: Count = 4) -> Steps:
    """Parallel aggregated trees backwards: sums flow towards the owners, far hops last."""
    r = np.arange(n)
    for hop, start in reversed(_aggregated(n, aggregate)):
        yield schedule.reduce((r + hop) % n, r, slot=(r.reshape(-1, 1) - start) % n)
