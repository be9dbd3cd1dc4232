"""Two numbers of a set-up from its own table: what a hop costs, by the smallest sizes, and the share of links reached.

Each takes the value at which its rows are nearest, drawn a little to what the machine's layers have, and every number
is judged on rows that its fit was not shown.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ops.libraries.nccl.choice import pace_of
from ops.libraries.nccl.layers import LARGE
from ops.libraries.nccl.own.band import hosts_of
from ops.libraries.nccl.own.numbers import KINDS, OwnNumbers, stock
from ops.libraries.nccl.own.pace import Pace
from ops.measured.calibration import Sample, overtaken, simulate_all, thinned
from ops.measured.comparison import Agreement, Compared, verdict
from ops.measured.rows import Measured, Table
from sim.errors import InputError
from sim.topology import Topology

FAR, NEAR = ("hop", "share", "start", "simple_hop"), ("link_hop", "link_share", "start")
"""Numbers in the order in which they are fitted, on several hosts and on one."""
USUAL = 2
ROWS_EACH = 5
"""Rows that each number beyond the first two needs."""
FOLDS = 3
"""Parts of the rows, of which one after the other is left out."""
COARSE = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
FINE, FINEST = (0.84, 0.92, 0.96, 1.04, 1.09, 1.19), (0.98, 0.99, 1.01, 1.02)
"""Times its present value, a number is tried."""
DRAW = 0.03
"""What it costs to be e times the layers' value, as logarithmic error of all rows."""
BETTER, GAIN = 0.95, 0.005
"""Of the error of rows left out, what a third or fourth number must bring it to, and how much nearer at least."""
SIZES = 18
"""Sizes of a table that are fitted to, at most."""
LEAST_START = 1e-6
"""Seconds that a start of none counts as where it is multiplied."""


class FittedNumber(NamedTuple):
    """One number: its value, the same without each part of the rows, the layers' value, and its rows."""

    name: str
    value: float
    low: float
    high: float
    stock: float
    rows: tuple[Measured, ...]

    @property
    def unit(self) -> str:
        """Seconds, or 1 for a share."""
        return KINDS[self.name].unit


@dataclass(frozen=True)
class OwnFit:
    """A set-up's numbers, and its rows as fits have them that were not shown these rows, beside the layers alone."""

    numbers: OwnNumbers
    fitted: tuple[FittedNumber, ...]
    rows: tuple[Compared, ...]
    stock_rows: tuple[Compared, ...]
    dropped: tuple[str, ...] = ()
    """Numbers that were asked for and made rows left out no nearer."""

    @property
    def left_out(self) -> Agreement:
        """How far off the rows are that were left out."""
        return verdict(self.rows)

    @property
    def stock(self) -> Agreement:
        """The same by the layers alone."""
        return verdict(self.stock_rows)


@dataclass(frozen=True)
class _Fits:
    """Numbers fitted to all rows of some tables, and without each part of them."""

    samples: tuple[Sample, ...]
    whole: OwnNumbers
    parts: tuple[OwnNumbers, ...]

    def left_out(self) -> list[Compared]:
        """Every row as the numbers have it that were fitted without it."""
        return [row for k, part in enumerate(self.parts) for row in _at([_only(s, k) for s in self.samples], part)]


def fit_own(
    tables: Sequence[tuple[Topology, Table]],
    count: int = USUAL,
    progress: Callable[[str], None] = lambda text: None,
    base: Pace | None = None,
) -> OwnFit:
    """So many numbers of a set-up from its tables, inside hosts and between them, on top of a pace, or of its layers.

    Raises InputError where the tables have too few rows.
    """
    samples = [Sample(topology, thinned(table, SIZES), base=base or pace_of(topology)) for topology, table in tables]
    rows = sum(len(sample.table.rows) for sample in samples)
    if not rows or (count > USUAL and rows < ROWS_EACH * count):
        raise InputError("calibrate.rows", rows=rows, count=count, least=max(1, ROWS_EACH * (count > USUAL) * count))
    several = [hosts_of(sample.topology, sample.table.ranks) for sample in samples]
    numbers = OwnNumbers(hosts=max(several))
    fitted, dropped, left_out = list[FittedNumber](), list[str](), list[Compared]()
    for names, is_far in ((NEAR, False), (FAR, True)):
        some = tuple(sample for sample, hosts in zip(samples, several, strict=True) if (hosts > 1) is is_far)
        if not some:
            continue
        progress(f"{len(some)} tables of {'several hosts' if is_far else 'one host'}")
        free = [name for name in names if getattr(numbers, name) is None]
        fits, kept, less = _chosen(some, free, count, numbers)
        usual = stock(_base(some[0]))
        fitted += [_number(name, fits, usual) for name in kept]
        numbers, dropped, left_out = fits.whole, dropped + less, left_out + fits.left_out()
    return OwnFit(numbers, tuple(fitted), tuple(left_out), tuple(_at(samples, None)), tuple(dropped))


def _chosen(
    samples: tuple[Sample, ...], names: Sequence[str], count: int, numbers: OwnNumbers
) -> tuple[_Fits, list[str], list[str]]:
    """The first two numbers, and of further ones those that bring rows left out nearer; and what was not kept."""
    kept = [name for name in names[:USUAL] if any(_rows_of(name, sample.table) for sample in samples)]
    fits, dropped = _fit(samples, kept, numbers), list[str]()
    for name in names[USUAL:count]:
        wider = _fit(samples, [*kept, name], numbers)
        off = _off(fits.left_out())
        if _off(wider.left_out()) < min(BETTER * off, off - GAIN):
            kept, fits = [*kept, name], wider
        else:
            dropped.append(name)
    return fits, kept, dropped


def _fit(samples: tuple[Sample, ...], names: Sequence[str], numbers: OwnNumbers) -> _Fits:
    usual = stock(_base(samples[0]))

    def search(some: Sequence[Sample], start: OwnNumbers) -> OwnNumbers:
        for tries in (COARSE, FINE, FINE, FINEST):
            start = _nearer(some, names, start, usual, tries)
        return start

    whole = search(samples, replace(numbers, **{name: getattr(usual, name) for name in names}))
    parts = tuple(search([_without(sample, k) for sample in samples], whole) for k in range(FOLDS))
    return _Fits(samples, whole, parts)


def _number(name: str, fits: _Fits, usual: OwnNumbers) -> FittedNumber:
    values = [getattr(one, name) for one in (fits.whole, *fits.parts)]
    rows = tuple(row for sample in fits.samples for row in _rows_of(name, sample.table))
    return FittedNumber(name, values[0], min(values), max(values), getattr(usual, name), rows)


def _nearer(
    samples: Sequence[Sample], names: Sequence[str], start: OwnNumbers, usual: OwnNumbers, tries: Sequence[float]
) -> OwnNumbers:
    """Each number in turn at the value at which its rows are nearest."""
    best = start
    for name in names:
        few = [replace(s, table=replace(s.table, rows=_rows_of(name, s.table))) for s in samples]
        here = max(getattr(best, name), LEAST_START if name == "start" else 0.0)
        values = sorted({getattr(best, name), *(_bounded(name, here * times) for times in tries)})
        costs = {value: _cost(few, replace(best, **{name: value}), name, getattr(usual, name)) for value in values}
        best = replace(best, **{name: min(costs, key=costs.__getitem__)})
    return best


def _cost(samples: Sequence[Sample], numbers: OwnNumbers, name: str, usual: float) -> float:
    """How far off rows are with these numbers, and how far one of them is from what the layers have for it."""
    value: float = getattr(numbers, name)
    return _off(_at(samples, numbers)) + DRAW * abs(math.log((value + LEAST_START) / (usual + LEAST_START)))


def _bounded(name: str, value: float) -> float:
    return float(f"{min(KINDS[name].most, max(KINDS[name].least, value)):.4g}")


def _at(samples: Sequence[Sample], numbers: OwnNumbers | None) -> list[Compared]:
    """Every row as these numbers have it; as the layers alone have it for None."""

    def pace(sample: Sample) -> Pace:
        return numbers.on(_base(sample)) if numbers else _base(sample)

    every = [replace(sample, base=None) for sample in samples]
    return [
        row
        for one, sample in zip(every, samples, strict=True)
        for rows in simulate_all([one], pace(sample))
        for row in rows
    ]


def _base(sample: Sample) -> Pace:
    return sample.base or pace_of(sample.topology)


def _off(rows: Sequence[Compared]) -> float:
    """The mean |ln(simulated / measured)|; rows that larger sizes of their table overtake do not count."""
    tables: dict[str, list[Compared]] = {}
    for row in rows:
        tables.setdefault(row.source, []).append(row)
    errors = [
        abs(math.log(row.simulated / row.measured))
        for some in tables.values()
        for row, is_wrong in zip(some, overtaken(some), strict=True)
        if not is_wrong
    ]
    return sum(errors) / max(1, len(errors))


def _rows_of(name: str, table: Table) -> tuple[Measured, ...]:
    """The rows that a number is fitted to: small ones for what a hop or a start costs, large ones for a share."""
    is_share = KINDS[name].unit == "1"
    return tuple(row for row in table.rows if (row.size >= LARGE) is is_share or name == "simple_hop")


def _without(sample: Sample, fold: int) -> Sample:
    rows = tuple(row for k, row in enumerate(sample.table.rows) if k % FOLDS != fold)
    return replace(sample, table=replace(sample.table, rows=rows))


def _only(sample: Sample, fold: int) -> Sample:
    return replace(sample, table=replace(sample.table, rows=sample.table.rows[fold::FOLDS]))
