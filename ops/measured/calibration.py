"""Fitting a family's pace to measured tables: one set of factors for all its sizes and numbers of GPUs.

The objective is the mean absolute logarithm of simulated over measured, small and large sizes and all tables counting
alike, plus a little for every factor that leaves NCCL's own constant.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ops.libraries.nccl.choice import NcclOptions
from ops.libraries.nccl.protocol_cost import Pace
from ops.measured.comparison import HONOURED, LARGE, Compared, compare_table, forced
from ops.measured.rows import Table
from sim.topology import Topology
from sim.units import us

FACTORS = ("ll_rate", "ll128_rate", "ll", "ll128", "simple", "nvls_hop")
SHARES = ("nvlink", "net", "nvls")
TIMES = ("net_hop", "launch")
TETHER = 0.02
"""What a factor of e costs in the objective: NCCL's constant is kept where the tables say little against it."""
STRIDES = (0.4, 0.2, 0.1, 0.05)
"""Relative steps, coarse to fine."""
TIME_STEP = 16 * us
LEAST_SHARE = 0.4
"""A link of which less is reached is another link."""
MOST_BENT = 3.0
"""A constant of NCCL that is farther off than that is not what is wrong."""
MOST_COUNTED = 2.5
MOST_RANKS = 128
"""Tables of more ranks are for judging, not for fitting: they take long to simulate."""


@dataclass(frozen=True)
class Sample:
    """A table with its machine; every size from a list that is spread evenly."""

    topology: Topology
    table: Table
    options: NcclOptions | None = None


@dataclass(frozen=True)
class Fitted:
    """A pace, the objective before and after, and the rows as it simulates them."""

    pace: Pace
    before: float
    after: float
    rows: tuple[Compared, ...]


def thinned(table: Table, most: int = 14) -> Table:
    """At most so many sizes of a table and algorithm, evenly spread."""
    rows = [row for row in table.rows if table.kind != "named" or row.algorithm in HONOURED]
    names = dict.fromkeys(row.algorithm for row in rows)
    kept = []
    for name in names:
        group = [row for row in rows if row.algorithm == name]
        step = max(1, math.ceil(len(group) / most))
        kept += group[::-1][::step][::-1]
    return replace(table, rows=tuple(kept), unread=())


def objective(rows: Sequence[Compared]) -> float:
    """Mean |ln error| of one table, small and large sizes alike; one row counts `MOST_COUNTED` at most."""
    halves = [[r for r in rows if r.size < LARGE], [r for r in rows if r.size >= LARGE]]
    means = [
        sum(min(MOST_COUNTED, abs(math.log(r.simulated / r.measured))) for r in half) / len(half)
        for half in halves
        if half
    ]
    return sum(means) / len(means) if means else 0.0


def simulate_all(samples: Sequence[Sample], pace: Pace) -> Iterator[list[Compared]]:
    """Every sample's rows at a pace."""
    for sample in samples:
        yield compare_table(sample.topology, sample.table, pace=pace, options=sample.options or forced(sample.table))[0]


def cost(samples: Sequence[Sample], pace: Pace) -> float:
    """What the fit makes least."""
    tables = [objective(rows) for rows in simulate_all(samples, pace) if rows]
    tether = sum(math.log(getattr(pace, key)) ** 2 for key in FACTORS) * TETHER
    tether += (((pace.launch + pace.net_hop) / TIME_STEP) ** 2 + pace.copy**2) * TETHER / 10
    return sum(tables) / len(tables) + tether


def fit(samples: Sequence[Sample], progress: Callable[[str], None] = lambda text: None) -> Fitted:
    """The pace nearest to the samples, found one factor at a time with ever smaller steps."""
    pace = Pace()
    before = best = cost(samples, pace)
    for stride in STRIDES:
        for _ in range(2):
            at_first = best
            for key in ("net_hop", *SHARES, *FACTORS, "copy", "launch"):
                pace, best = _along(samples, pace, best, key, stride)
            progress(f"step {stride:g}: {before:.3f} -> {best:.3f}")
            if at_first - best < 0.002:
                break
    rows = [row for rows in simulate_all(samples, pace) for row in rows]
    return Fitted(pace, before, best, tuple(rows))


def _along(samples: Sequence[Sample], pace: Pace, best: float, key: str, stride: float) -> tuple[Pace, float]:
    """Move one factor as long as that helps."""
    for sign in (1, -1):
        while True:
            tried = _moved(pace, key, sign * stride)
            if tried is None:
                break
            error = cost(samples, tried)
            if error >= best - 1e-4:
                break
            pace, best = tried, error
    return pace, best


def _moved(pace: Pace, key: str, step: float) -> Pace | None:
    """The pace with one factor moved; None beyond what is physical."""
    value = getattr(pace, key)
    if key == "copy":
        return replace(pace, copy=value + step / 2) if 0 <= value + step / 2 <= 4 else None
    if key in TIMES:
        new = max(0.0, value + TIME_STEP * step) if value or step > 0 else -1.0
        return replace(pace, **{key: new}) if 0 <= new <= 500 * us else None
    new = value * math.exp(step)
    if key in SHARES:
        new = value * math.exp(step / 4)
        return replace(pace, **{key: new}) if LEAST_SHARE <= new <= 1.1 else None
    return replace(pace, **{key: new}) if 1 / MOST_BENT <= new <= MOST_BENT else None
