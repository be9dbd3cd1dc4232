"""Several algorithms on one machine: who wins at which size, and where that changes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations

from ops.plan import PreparedRun
from sim.units import GiB, KiB

SMALLEST, LARGEST = KiB, 4 * GiB
POINTS = 12
"""Sizes at which a change of winner is looked for before it is closed in on."""


@dataclass(frozen=True)
class Crossover:
    """From `size` bytes on, `above` is faster than `below`."""

    below: str
    above: str
    size: int


def crossovers(
    runs: Mapping[str, PreparedRun],
    *,
    low: int = SMALLEST,
    high: int = LARGEST,
    exact: float = 0.01,
) -> list[Crossover]:
    """Every size between `low` and `high` at which one of two named runs overtakes the other, to within `exact`.

    A size that one of the two cannot cut into its blocks is left out. Each is closed in on by halving, so it need be no
    size that anyone has tried. Two that overtake each other twice within a twelfth of the range are missed.
    """

    @cache
    def time(name: str, size: int) -> float:
        return runs[name].at(size).time

    def lead(names: tuple[str, str], size: int) -> float:
        return time(names[0], size) - time(names[1], size)

    crossovers = []
    for names in combinations(runs, 2):
        least = min(max(low, *(runs[name].least for name in names)), high)
        crossovers += _between(partial(lead, names), names, least, high, exact)
    return sorted(crossovers, key=lambda crossing: crossing.size)


def _between(
    lead: Callable[[int], float], names: tuple[str, str], low: int, high: int, exact: float
) -> list[Crossover]:
    """Where `lead` changes its sign; below zero the first name is ahead."""
    sizes = [round(low * (high / low) ** (k / POINTS)) for k in range(POINTS + 1)]
    leads, crossovers = [lead(size) for size in sizes], []
    for k in range(POINTS):
        before, after = leads[k], leads[k + 1]
        if before * after < 0:
            left, right = sizes[k], sizes[k + 1]
            while right > left * (1 + exact) and right - left > 1:
                middle = round(math.sqrt(left * right))
                left, right = (middle, right) if lead(middle) * before > 0 else (left, middle)
            ahead = 0 if before < 0 else 1
            crossovers.append(Crossover(names[ahead], names[1 - ahead], right))
    return crossovers
