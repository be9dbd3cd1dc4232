"""Cubes with more than two ranks along an edge."""

from typing import Any

import numpy as np

from ops.collectives import allreduce
from ops.patterns import Radix, power_below, rounds, runs
from ops.registry import algorithm
from sim.errors import Message
from sim.registry import titled
from sim.schedule import Steps, copy, reduce


def power_of_base(n: int, *, base: int, **_: Any) -> Message | None:
    """A refusal for algorithms whose ranks are numbers with full digits."""
    return None if power_below(n, base) == n else Message("ranks.power_of", base=base, n=n)


@algorithm(
    allreduce,
    ordered=True,
    only=power_of_base,
    pieces=lambda n, **_: n,
    cost=lambda n, *, base: (2 * rounds(n, base), 2 * (n - 1) / n, (n - 1) / n),
    ids={"gloo": "2"},
    reference="Guo et al., BCube, SIGCOMM 2009; Gloo docs/algorithms.md",
)
@titled("BCube")
def bcube(n: int, *, base: Radix = 2) -> Steps:
    """Groups of `base` ranks share the sum out among themselves, digit by digit, then collect it again.

    With base 2 these are the rounds of halving and doubling.
    """
    r = np.arange(n)
    yield "reduce-scatter"
    for k in reversed(range(rounds(n, base))):
        d = base**k
        digit = r // d % base
        sent = []
        for j in range(1, base):
            peer = r + ((digit + j) % base - digit) * d
            sent.append(copy(r, peer, slot=runs(peer // d * d, d), to=runs(n + (j - 1) * d, d)))
        yield tuple(sent)
        yield reduce(r, r, slot=runs(n, (base - 1) * d), to=np.tile(runs(r // d * d, d), base - 1))
    yield "allgather"
    for k in range(rounds(n, base)):
        d = base**k
        digit = r // d % base
        yield tuple(copy(r, r + ((digit + j) % base - digit) * d, slot=runs(r // d * d, d)) for j in range(1, base))
