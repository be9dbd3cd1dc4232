"""What the named algorithms of an MPI library cost on a system, by three numbers: a step, a rate, an addition.

A time is its steps, the bytes that its slowest rank moves, and those that it adds, copies or touches first, each at its
price; `ops.measured.mpi.work` tells how many.
"""

import math
import re
from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from ops.libraries.nccl.layers import LARGE
from ops.measured.comparison import Agreement, algorithm_of
from ops.measured.mpi.work import cost_of, library_of
from ops.measured.rows import Measured, Table
from ops.registry import Cost
from sim.base.arrays import Floats
from sim.errors import InputError
from sim.units import us

BEGIN = (3 * us, 1 / 12e9, 1 / 7e9)
"""Seconds a step, a byte moved and a byte added, where a fit begins."""
DRAWN = 0.2
"""How strongly it is drawn there, in errors of a row: what rows do not tell stays near."""
SOFT, ROUNDS = 0.2, 4
"""Logarithmic error from which a row counts less than its square; how often the halves of the sizes take turns."""
GAP = 0.1
"""By how much the second algorithm is slower than the first where it is told which one wins."""


class MpiPace(NamedTuple):
    """Seconds a step takes, B/s that blocks flow at, B/s at which a core adds or packs."""

    step: float
    rate: float
    adding: float


class Judged(NamedTuple):
    """How near a pace comes: medians of errors, and in how many races of algorithms it names the fastest."""

    errors: Agreement
    right: int
    races: int


class Priced(NamedTuple):
    """A row and what its algorithm does: steps, bytes moved and bytes added, the last two as shares of its size."""

    row: Measured
    cost: Cost

    def seconds(self, pace: MpiPace) -> float:
        """What it takes."""
        moved, added = self.row.size / pace.rate, self.row.size / pace.adding
        return self.cost.alphas * pace.step + self.cost.betas * moved + self.cost.gammas * added


def is_mpi(table: Table) -> bool:
    """Whether its rows are named algorithms of an MPI library."""
    return table.kind == "named" and any(algorithm_of(row.collective, row.algorithm) for row in table.rows)


def system_of(table: Table) -> str:
    """The file's name up to the number of nodes, which is what other numbers of nodes of it share.

    >>> system_of(Table("data/034-lumi-8n-x1.csv", "named", ()))
    'lumi'
    """
    plain = re.sub(r"^\d{1,4}-|\.\w{1,8}$", "", table.file)
    return re.split(r"-?(?:\d{1,9}n-x\d|torus-\d)", plain, maxsplit=1)[0]


def priced(table: Table, *, keeps: bool = False) -> list[Priced]:
    """The rows whose algorithm is known by name and claims a cost; `keeps` as for `library_of`."""
    library = library_of(table, keeps=keeps)
    rows = ((row, cost_of(row, library)) for row in table.rows if row.ranks > 1)
    return [Priced(row, cost) for row, cost in rows if cost is not None]


def fit_table(table: Table) -> tuple[MpiPace, bool | None]:
    """The pace nearest to a table, and whether its library keeps its buffers: whichever its rows are nearer to.

    None where they do not tell, as where none of them takes such buffers. Raises InputError for a table whose
    algorithms' costs are not known.
    """
    freed, kept = priced(table), priced(table, keeps=True)
    if not freed:
        raise InputError("pace.no_cost", table=table.source)
    pace = fit_mpi(freed)
    if freed == kept:
        return pace, None
    other = fit_mpi(kept)
    return (other, True) if _off(kept, other) < _off(freed, pace) else (pace, False)


def _off(rows: Sequence[Priced], pace: MpiPace) -> float:
    """How far a pace is from rows by the logarithm, small and large sizes alike."""
    halves = [[one for one in rows if (one.row.size >= LARGE) == large] for large in (False, True)]
    return sum(fmean(abs(math.log(one.seconds(pace) / one.row.seconds)) for one in half) for half in halves if half)


def fit_mpi(rows: Sequence[Priced]) -> MpiPace:
    """The three numbers nearest to rows by the logarithm: steps by small sizes, rates by those from 1 MiB on."""
    from scipy.optimize import least_squares  # a quarter of a second that only fits need

    def fitted(some: Sequence[Priced], free: list[int], logs: Floats) -> Floats:
        parts = np.array([[one.cost.alphas, *(share * one.row.size for share in one.cost[1:])] for one in some])
        times = np.array([one.row.seconds for one in some])
        free = [k for k in free if (parts[:, k] > 0).any()]

        def misses(values: Floats) -> Floats:
            every = logs.copy()
            every[free] = values
            strays: Floats = np.log(parts @ np.exp(every) / times)
            return np.concatenate([strays, DRAWN * (values - begin[free])])

        moved = logs.copy()
        if free:
            moved[free] = least_squares(misses, logs[free], loss="soft_l1", f_scale=SOFT).x
        return moved

    begin: Floats = np.log(np.array(BEGIN))
    logs = begin.copy()
    halves = [([one for one in rows if (one.row.size >= LARGE) == large], large) for large in (False, True)]
    for _ in range(ROUNDS):
        for some, large in halves:
            logs = fitted(some, [1, 2] if large else [0], logs) if some else logs
    step, moved, added = (float(value) for value in np.exp(logs))
    return MpiPace(step, 1 / moved, 1 / added)


def judged(rows: Iterable[Priced], pace: MpiPace) -> Judged:
    """How near a pace comes to rows."""
    rows = list(rows)
    off = [(one.row.size >= LARGE, abs(one.seconds(pace) / one.row.seconds - 1)) for one in rows]
    halves = [[error for large, error in off if large == half] for half in (False, True)]
    small, large = (median(half) if half else None for half in halves)
    by_size: dict[tuple[str, int, int], dict[str, Priced]] = {}
    for one in sorted(rows, key=lambda one: -one.row.seconds):  # of labels that mean one algorithm the fastest counts
        entry = algorithm_of(one.row.collective, one.row.algorithm)
        race = by_size.setdefault((one.row.collective, one.row.ranks, one.row.size), {})
        race[entry.name if entry else one.row.algorithm] = one
    right = races = 0
    for runners in by_size.values():
        first, *others = sorted(runners.values(), key=lambda one: one.row.seconds)
        if others and others[0].row.seconds > (1 + GAP) * first.row.seconds:
            races += 1
            right += min(runners.values(), key=lambda one: one.seconds(pace)) is first
    return Judged(Agreement(small, large, len(rows)), right, races)
