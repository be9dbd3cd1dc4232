"""`winners`: the fastest algorithm for every size and number of ranks."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click

from ops.answers import outcome_of
from ops.answers.answer import why_different
from ops.answers.winners import Why, answer_map
from ops.lab.cells import Row
from ops.lab.grid import Grid
from ops.lab.journal import SCHEMA, read_table
from ops.lab.winners import Change, WinnerMap, changes, named, went_well, winner_map
from ops.plan import Plan
from sim.errors import InputError, Message
from sim.units import exact_size, fmt_size
from terminal import DONE, Answer, BatchCommand, command
from terminal.shared.facts import finite, opened
from terminal.shared.lab import FIGURE, JOBS, axes, draw, of_sizes, origin, rows_of, table
from terminal.shared.options import takes

SIZES = "1KiB..1GiB*4"


@command(kind=BatchCommand)
@axes
@click.option("--table", "kept", metavar="TABLE.parquet", help="use rows that `sweep` wrote instead")
@click.option("--grid-only", is_flag=True, help="leave out the exact sizes at which the winner changes")
@takes(*JOBS, *FIGURE)
def winners(grid: Grid, kept: str | None, grid_only: bool, jobs: int, figure: str | None) -> Answer:
    """Map the fastest algorithm by size and number of ranks, with exact crossover sizes."""
    whole = None if kept else _whole(grid)
    rows = _kept(kept or "", grid) if whole is None else rows_of(whole, jobs)
    result = winner_map(rows)
    exact = {} if whole is None or grid_only else _exact(whole, rows, result)
    name = kept or ", ".join(grid.machines)
    draw(figure, lambda charts: charts.winners(result, f"{name}: the fastest, and how much longer the next takes"))
    release = {key: value for key, value in origin(rows).items() if key in ("nccl", "expected_error")}
    data = {**_facts(result, exact, name), **release}
    above = opened(data, answer_map(result, None if whole is None else _why(whole, rows)))
    return Answer(DONE, data, "\n".join([above, _text(result, exact, name)]))


def _why(grid: Grid, rows: Sequence[Row]) -> Why:
    """How it is found out why one algorithm is faster than another in a cell of a grid."""
    cells = {(named(row), row["ranks"], row["size_bytes"]): cell for cell, row in zip(grid.cells(), rows, strict=True)}

    def why(first: str, second: str, n: int, size: int) -> Message | None:
        both = cells[first, n, size], cells[second, n, size]
        outcomes = [outcome_of(cell) for cell in both if isinstance(cell, Plan)]
        return why_different(*reversed(outcomes)).message if len(outcomes) == 2 else None

    return why


def _whole(grid: Grid) -> Grid:
    """The grid; without `--ranks`, powers of two up to the machine's own where one machine is all there is."""
    grid = of_sizes(grid, SIZES)
    if grid.ranks or len(grid.machines) != 1 or grid.vary:
        return grid
    n = grid.on(grid.machines[0]).topology().n
    ranks = sorted({n, *(2**e for e in range(1, n.bit_length()))})
    return replace(grid, ranks=[str(k) for k in ranks if k <= n])


def _kept(file: str, grid: Grid) -> list[Row]:
    if any(getattr(grid, axis.name) for axis in fields(Grid)):
        raise InputError("winners.file_has", file=file)
    rows: list[Row] = read_table(Path(file)).select(SCHEMA.names).to_pylist()
    if not rows:
        raise InputError("winners.empty", file=file)
    return rows


def _exact(grid: Grid, rows: Sequence[Row], result: WinnerMap) -> dict[int, list[Change]]:
    """For every number of ranks the exact sizes at which the winner changes."""
    able = {(row["ranks"], named(row)): cell for cell, row in zip(grid.cells(), rows, strict=True) if went_well(row)}
    exact: dict[int, list[Change]] = {}
    for n in result.ranks:
        if len(result.sizes) < 2:
            exact[n] = []
            continue
        cells = {name: cell for (ranks, name), cell in able.items() if ranks == n}
        topology = next(iter(cells.values())).topology() if cells else None
        exact[n] = changes({name: cell.prepare(topology) for name, cell in cells.items()}, result.sizes)
    return exact


def _facts(result: WinnerMap, exact: dict[int, list[Change]], name: str) -> dict[str, Any]:
    return {
        "machine": name,
        "sizes_bytes": list(result.sizes),
        "ranks": list(result.ranks),
        "algorithms": list(result.names),
        "winners": [[result.winner(n, size) or None for size in result.sizes] for n in result.ranks],
        "times_s": [
            {name: [*map(finite, result.time[r, :, a])] for a, name in enumerate(result.names)}
            for r in range(len(result.ranks))
        ],
        "changes": [
            {"ranks": n, "size_bytes": change.size, "before": change.before, "after": change.after}
            for n, several in exact.items()
            for change in several
        ],
        "failed": [{"ranks": n, "algorithm": name, "reason": why} for (n, name), why in result.reasons.items()],
    }


def _text(result: WinnerMap, exact: dict[int, list[Change]], name: str) -> str:
    number = {winner: f"{k + 1}" for k, winner in enumerate(result.winners)}
    head = ["ranks", *(exact_size(size) for size in result.sizes)]
    body = [[str(n), *(number.get(result.winner(n, size), "-") for size in result.sizes)] for n in result.ranks]
    lines = [f"{name}: the fastest of {len(result.names)} algorithms", *(f"  {line}" for line in table([head, *body]))]
    lines += [f"  {k:>2}  {winner}" for winner, k in number.items()]
    for n, several in exact.items():
        first = result.winner(n, result.sizes[0])
        words = [first, *(f"from {fmt_size(change.size)} on {change.after}" for change in several)]
        lines.append(f"{n} ranks: {', '.join(words)}" if first else f"{n} ranks: no algorithm can do it")
    return "\n".join(lines)
