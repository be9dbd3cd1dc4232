"""How near a prediction comes, row by row and cell by cell, beside what others predict for the same rows."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from ops.libraries.nccl.layers import HALVES, LARGE, family_of
from ops.libraries.nccl.own.band import bands_at
from ops.measured.comparison import Agreement, Compared, by_ranks, compare_table, verdict
from ops.measured.files import place
from ops.measured.layers import FittedLayers, Judged, TableGroup, errors, of_another
from ops.measured.rivals import RIVALS, rivals
from ops.measured.rows import Table
from sim.errors import InputError
from sim.topology import Topology

OURS = "simulated"
BY_SYSTEM = "times by system"
"""The kind of tables that are one of several systems' in a file."""
KEPT = Path(__file__).with_name("published.json")
"""Every published row that the layers were fitted to or judged by, as `accuracy FILE… -o` writes it."""
Seconds = tuple[float | None, ...]


@dataclass(frozen=True)
class MeasuredRun:
    """One collective of one table on so many GPUs: its sizes, their times, and what models say of them, in seconds.

    `algorithm` is the one that was forced, if one was; `kind` that of its table, or `BY_SYSTEM`. `expected` is the
    share within which four of five rows are expected, below and from 1 MiB; None untold.
    """

    system: str
    machine: str
    ranks: int
    collective: str
    algorithm: str = ""
    kind: str = ""
    sizes: tuple[int, ...] = ()
    measured: tuple[float, ...] = ()
    models: dict[str, Seconds] = field(default_factory=dict)
    expected: tuple[float | None, float | None] = (None, None)
    rests_on: int = 0

    @property
    def name(self) -> str:
        """What it is called in a list."""
        forced = f" {self.algorithm}" if self.algorithm else ""
        return f"{self.system}, {self.ranks} × {self.collective}{forced}"

    def errors(self, model: str, large: bool | None = None) -> list[float]:
        """Its errors, simulated over measured less one, of the half of the sizes, where it has an answer."""
        rows = zip(self.sizes, self.measured, self.models[model], strict=True)
        return [
            seconds / measured - 1
            for size, measured, seconds in rows
            if seconds is not None and large in (None, size >= LARGE)
        ]

    def worst(self) -> float:
        """By the half that is farther off, the median |error| of our own."""
        halves = [self.errors(OURS, large) for large in (False, True)]
        return max((median(map(abs, half)) for half in halves if half), default=0.0)


@dataclass(frozen=True)
class Cell:
    """One system, number of GPUs, collective and half of the sizes, with the median |error| of every model.

    `errors` has a model's median as a share of what was measured; None where it has no answer for any row.
    """

    system: str
    ranks: int
    collective: str
    large: bool
    rows: int
    errors: dict[str, float | None]
    inside: int = 0
    """How many rows lie inside the band that is said to hold four of five."""
    banded: bool = False

    @property
    def behind(self) -> bool:
        """Whether another model is nearer."""
        ours = self.errors[OURS]
        others = [error for name, error in self.errors.items() if name != OURS and error is not None]
        return ours is not None and bool(others) and ours > min(others)

    def as_dict(self) -> dict[str, Any]:
        """As the terminal's JSON has it."""
        plain = {"system": self.system, "ranks": self.ranks, "collective": self.collective, "half": HALVES[self.large]}
        share = self.inside / self.rows if self.banded else None
        return plain | {"rows": self.rows, "median_errors": self.errors, "inside_band": share}


def measured_runs(placed: Iterable[tuple[str, Topology, Table]]) -> Iterator[MeasuredRun]:
    """Every table's runs; sources with their machines and tables."""
    for system, topology, table in placed:
        kind = BY_SYSTEM if table.of_system else table.kind
        yield from runs_of(system, topology, compare_table(topology, table)[0], kind)


class TableMedians(NamedTuple):
    """A table's rows, and the medians of their errors below and from 1 MiB; None where it has none."""

    table: str
    kind: str
    rows: int
    small: float | None
    large: float | None


def table_medians(runs: Iterable[MeasuredRun]) -> list[TableMedians]:
    """By table, worst first."""
    tables: dict[tuple[str, str], list[MeasuredRun]] = {}
    for run in runs:
        tables.setdefault((run.system, run.kind), []).append(run)
    entries = []
    for (name, kind), several in tables.items():
        halves = [[abs(error) for run in several for error in run.errors(OURS, large)] for large in (False, True)]
        small, large = (median(half) if half else None for half in halves)
        entries.append(TableMedians(name, kind, sum(map(len, halves)), small, large))
    return sorted(entries, key=lambda entry: -max(entry.small or 0.0, entry.large or 0.0))


def median_of_medians(tables: Iterable[TableMedians]) -> dict[str, dict[str, float | int | None]]:
    """By kind of table: how many there are, and the medians of their medians below and from 1 MiB."""
    kinds: dict[str, list[TableMedians]] = {}
    for table in tables:
        kinds.setdefault(table.kind, []).append(table)
    totals = {}
    for kind, several in kinds.items():
        pairs = zip(*((table.small, table.large) for table in several), strict=True)
        each = [[error for error in half if error is not None] for half in pairs]
        medians = {name: median(errors) if errors else None for name, errors in zip(HALVES, each, strict=True)}
        totals[kind] = {"tables": len(several), "rows": sum(table.rows for table in several)} | medians
    return totals


def share_nearest(scored: Sequence[Cell]) -> float:
    """The share of cells in which no other model is nearer."""
    return sum(not cell.behind for cell in scored) / max(1, len(scored))


def share_inside(scored: Iterable[Cell]) -> float:
    """The share of rows inside their band, of all that have one."""
    banded = [cell for cell in scored if cell.banded]
    return sum(cell.inside for cell in banded) / max(1, sum(cell.rows for cell in banded))


def runs_of(system: str, topology: Topology, compared: Sequence[Compared], kind: str = "") -> Iterator[MeasuredRun]:
    """Rows by number of GPUs, collective and algorithm, beside what other models say of them."""
    groups: dict[tuple[int, str, str], list[Compared]] = {}
    for row in compared:
        groups.setdefault((row.ranks, row.collective, row.algorithm), []).append(row)
    family = family_of(topology)
    for (ranks, collective, algorithm), rows in groups.items():
        yield MeasuredRun(
            system=system,
            machine=topology.name,
            ranks=ranks,
            collective=collective,
            algorithm=algorithm,
            kind=kind,
            sizes=tuple(row.size for row in rows),
            measured=tuple(row.measured for row in rows),
            models={OURS: tuple(row.simulated for row in rows), **_others(topology, rows)},
            expected=bands_at(topology, ranks),
            rests_on=len(family.tables) if family else 0,
        )


def _others(topology: Topology, rows: Sequence[Compared]) -> dict[str, Seconds]:
    answers = [
        dict.fromkeys(RIVALS) if row.algorithm else rivals(topology, row.collective, row.ranks, row.size)
        for row in rows
    ]
    return {name: tuple(answer[name] for answer in answers) for name in RIVALS}


def cells(runs: Iterable[MeasuredRun]) -> Iterator[Cell]:
    """A cell for both halves of every run."""
    for run in runs:
        for large in (False, True):
            ours = run.errors(OURS, large)
            if not ours:
                continue
            every = {name: run.errors(name, large) for name in run.models}
            medians = {name: median(map(abs, errors)) if errors else None for name, errors in every.items()}
            band = run.expected[large]
            inside = 0 if band is None else sum(within(error, band) for error in ours)
            system = f"{run.system} {run.algorithm}".rstrip()
            yield Cell(
                system, run.ranks, run.collective, large, len(ours), medians, inside=inside, banded=band is not None
            )


@dataclass(frozen=True)
class JudgedTable:
    """A table's medians of absolute errors where it was fitted too, left out, and with nothing known of its layer.

    `by_ranks` has those left out by how many took part; `band` the shares within which four of five rows of such a
    layer are expected by what other layers do unseen, below and from 1 MiB, None untold.
    """

    group: TableGroup
    fitted: Agreement
    left_out: Agreement
    by_ranks: dict[int, Agreement]
    unseen: Agreement
    band: tuple[float | None, float | None]


def judgements(fitted: FittedLayers, left_out: Judged, strange: Judged) -> list[JudgedTable]:
    """One for every table, in their order; `strange` are the same tables' rows without their whole layers."""
    unknown = {group.name: rows for group, rows in strange}
    tables = []
    for group, rows in left_out:
        others = [pair for pair in strange if pair[0].layer != group.layer]
        strays = of_another(group.layer[0], others)
        below, above = (None if (stray := strays.get(half)) is None else math.expm1(stray) for half in HALVES)
        tables.append(
            JudgedTable(
                group,
                verdict(errors(group, fitted)),
                verdict(rows),
                by_ranks(rows),
                verdict(unknown[group.name]),
                (below, above),
            )
        )
    return tables


def all_rows(judged: Iterable[tuple[TableGroup, Sequence[Compared]]]) -> dict[str, Agreement]:
    """The medians over all rows on one host, by generation of GPUs and of all times by system."""
    rows: dict[str, list[Compared]] = {}
    for group, some in judged:
        by_system = any(sample.table.of_system for sample in group.samples)
        for name in (group.generation, *[BY_SYSTEM] * by_system) if not group.network else ():
            rows.setdefault(name, []).extend(some)
    return {name: verdict(several) for name, several in rows.items()}


def repeats(tables: Iterable[Table]) -> Agreement:
    """How far apart times of one call on one system and release are that were measured more than once.

    The medians of the largest over the smallest less one, below and from 1 MiB, and how many calls those are. The very
    same time is a copy of a row.
    """
    times: dict[tuple[str, str, str, str, str, int, int], set[float]] = {}
    for table in tables:
        try:
            topology, placed, _ = place(table)
        except InputError:
            continue
        system, release = placed.words[0] if placed.of_system else "", placed.forced.get("nccl", "")
        for row in placed.rows:
            call = (topology.name, system, release, row.collective, row.algorithm, row.ranks, row.size)
            times.setdefault(call, set()).add(row.seconds)
    apart = [(call[-1], max(some) / min(some) - 1) for call, some in times.items() if len(some) > 1 and min(some) > 0]
    small, large = ([share for size, share in apart if (size >= LARGE) is half] for half in (False, True))
    return Agreement(median(small) if small else None, median(large) if large else None, len(apart))


def within(error: float, band: float) -> bool:
    """Whether an error, simulated over measured less one, is inside a band: as much too slow as too fast.

    >>> within(0.25, 0.25), within(-0.2, 0.25), within(-0.25, 0.25)
    (True, True, False)
    """
    return 1 / (1 + band) - 1e-9 <= 1 + error <= 1 + band + 1e-9


def written(runs: Iterable[MeasuredRun]) -> str:
    """Runs as the page of measurements keeps them: JSON, seconds to four digits, a run a line."""
    lines = [json.dumps(_short(asdict(run)), ensure_ascii=False) for run in runs]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return [_short(entry) for entry in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


@cache
def published(path: Path = KEPT) -> tuple[MeasuredRun, ...]:
    """The runs that a file keeps, worst first. Raises InputError for a file that keeps none."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        runs = [
            MeasuredRun(
                **{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
                | {"models": {name: tuple(seconds) for name, seconds in entry["models"].items()}}
            )
            for entry in entries
        ]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise InputError("calibration.no_runs", path=path.name) from None
    return tuple(sorted(runs, key=lambda run: -run.worst()))
