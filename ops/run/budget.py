"""What a run will take before it starts: transfers, memory, seconds; from counts of its schedule, or of smaller ones.

The constants were fitted to the memory and processor time of runs of 4,608 to 2,095,104 transfers on one core of a
2 GHz server, compiled kernels: rings, trees, all-to-alls and hierarchies on switches, tori and nodes. What runs
really take was within a factor of three of the estimate; a test holds it to four, and times to ten.
"""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from ops.registry import Algorithm
from sim.base.watch import Estimate, expect, watching
from sim.errors import InputError, Message
from sim.schedule import Schedule
from sim.schedule.verify import EXACT_BYTES

TRANSFER, HOP, MOVE, PLACE, KEPT = 200, 30, 60, 70, 200
"""Bytes: of a transfer, each link it crosses, a move, a place where a block may lie, a rate that is kept."""
MOVE_ALIKE, PLACE_ALIKE = 30, 25
"""Bytes of a move and a place that nobody follows, as rank 0's part tells what all do."""
TRANSFER_S, HOP_S, MOVE_S = 0.3e-6, 0.25e-6, 0.25e-6
"""Seconds for the same."""
MESSAGE, MESSAGE_S = 1500, 1.5e-3
"""Bytes and seconds of a message of background traffic, which the world sends one by one."""
CELL = 1500
"""Bytes of a cell of a grid while it waits and when it is done."""
PAIR = 120
"""Bytes of a pair of devices in a table of all pairs."""
SAMPLED = 30_000
"""A smaller schedule of so many transfers tells enough of how they grow."""
GROWTH = tuple((p, q) for p in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0) for q in (0, 1, 2))
"""Powers of n and of its logarithm with which counts may grow."""


class Counts(NamedTuple):
    """How large a schedule is: messages and local moves, slots they move, and places that hold them."""

    transfers: float
    moves: float
    places: float

    @classmethod
    def of(cls, schedule: Schedule) -> "Counts":
        """Those of a schedule there is."""
        return cls(schedule.transfers, len(schedule.from_slot), schedule.places * schedule.slots)


def estimate(counts: Counts, ranks: int, hops: float, *, history: bool = False, alike: bool = False) -> Estimate:
    """What a run of such a schedule takes on so many ranks whose messages cross so many links each.

    Ranks that are `alike` are proved by one of them.
    """
    exact = counts.places * math.ceil(ranks / 64) * 8
    marks = exact if exact <= EXACT_BYTES else counts.places * 8
    transfer = TRANSFER + HOP * hops + (KEPT if history else 0)
    if alike:
        size = counts.transfers * transfer + counts.moves * MOVE_ALIKE + counts.places * PLACE_ALIKE
    else:
        size = counts.transfers * transfer + counts.moves * MOVE + counts.places * PLACE + marks
    seconds = counts.transfers * (TRANSFER_S + HOP_S * hops) + counts.moves * MOVE_S
    return Estimate(counts.transfers, size, seconds)


def of_schedule(schedule: Schedule, hops: float = 2.0, *, alike: bool = False) -> Estimate:
    """What a run of this schedule takes where messages cross so many links; `alike` as for `estimate`."""
    return estimate(Counts.of(schedule), schedule.n, hops, alike=alike)


def expect_algorithm(
    entry: Algorithm, n: int, values: Mapping[str, Any], root: int = 0, hops: Callable[[int], float] = lambda n: 2.0
) -> None:
    """Refuse an algorithm before it is built, where somebody watches and it is too large. Raises InputError.

    `hops(n)` are the links that a message of n ranks crosses in the mean.

    What fits even if every rank sends everyone all its blocks in all its pieces is not looked at: it is counted once
    it is built.
    """
    now = watching()
    if now is None or 4 * MOVE * _most(n, values) < min(now.memory, now.seconds * 1e9):
        return
    counts = counted(entry, n, values, root)
    if counts is not None:
        expect(entry.name, estimate(counts, n, hops(n)))


def _most(n: int, values: Mapping[str, Any]) -> float:
    """More moves than any algorithm makes of so many ranks and these parameters."""
    whole = [value for value in values.values() if isinstance(value, int) and value > 1]
    return float(n) ** 2 * math.log2(max(n, 2)) * math.prod(whole)


def counted(entry: Algorithm, n: int, values: Mapping[str, Any], root: int = 0) -> Counts | None:
    """How large an algorithm's schedule for n ranks is, told by smaller ones; None where it makes none.

    Three sizes tell with which power of n, times a power of its logarithm, each count grows.

    >>> from ops import ALGORITHMS
    >>> ring = ALGORITHMS["allreduce.ring"]
    >>> counts = counted(ring, 8192, ring.settle(8192))
    >>> [round(count / 1e6) for count in counts]  # 2 x 8191 x 8192 is 134 million
    [133, 133, 67]
    """
    samples: list[tuple[int, Counts]] = []
    for k in _smaller(n, int(values.get("group", 0) or 0)):
        try:
            counts = Counts.of(entry.schedule(k, root=min(root, k - 1), **values))
        except InputError:
            continue
        samples.append((k, counts))
        if counts.moves > SAMPLED or counts.places > 4 * SAMPLED:
            break
    if not samples:
        return None
    return Counts(*(_grown([(k, counts[i]) for k, counts in samples[-3:]], n) for i in range(len(Counts._fields))))


def _smaller(n: int, group: int) -> list[int]:
    """Numbers of ranks to build for, the smallest first: n without its last binary digits, or whole groups.

    >>> _smaller(60, 0)
    [7, 15, 30]
    >>> _smaller(60, 4)
    [8, 16, 32]
    """
    shorter = [n >> e for e in range(1, n.bit_length())]
    groups = [group << e for e in range(1, n.bit_length())]
    return sorted(k for k in (groups if group > 1 else shorter) if 4 <= k < n)


def _grown(samples: list[tuple[int, float]], n: int) -> float:
    """A count for n, from those for a few smaller numbers."""
    last, count = samples[-1]
    if len(samples) < 2 or count <= 0:
        return count * (n / last) ** 2 if len(samples) < 2 else count

    def misfit(growth: tuple[float, int]) -> float:
        errors = [
            math.log(max(b, 1) / max(a, 1)) - math.log(_grows(growth, y) / _grows(growth, x))
            for (x, a), (y, b) in pairwise(samples)
        ]
        return sum(abs(error) for error in errors)

    best = min(GROWTH, key=misfit)
    return count * _grows(best, n) / _grows(best, last)


def _grows(growth: tuple[float, int], n: int) -> float:
    power, logarithm = growth
    return float(n**power * math.log2(n) ** logarithm)


def expect_messages(name: str, count: float) -> None:
    """Refuse traffic of so many messages beside a run, where that is too much. Raises InputError."""
    if count > 0:
        expect(Message("budget.background", name=name), Estimate(count, count * MESSAGE, count * MESSAGE_S))


def expect_cells(count: int) -> None:
    """Refuse a grid of so many cells where they do not fit into a quarter of the memory. Raises InputError."""
    now = watching()
    if now is not None and 4 * count * CELL > now.memory:
        mend = now.mend("memory", f"{math.ceil(5 * count * CELL / 1e9)}GB")
        raise InputError("budget.grid", count=count, gigabytes=count * CELL / 1000000000.0, remedy=mend)


def expect_pairs(name: str | Message, devices: int) -> None:
    """Refuse a table of all pairs of so many devices where it does not fit. Raises InputError."""
    now = watching()
    pairs = float(devices) ** 2
    if now is not None and pairs * PAIR > now.memory:
        mend = now.mend("memory", f"{math.ceil(1.25 * pairs * PAIR / 1e9)}GB")
        raise InputError("budget.pairs", name=name, pairs=pairs, gigabytes=pairs * PAIR / 1000000000.0, remedy=mend)
