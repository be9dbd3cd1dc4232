"""Carry out a grid on all cores or on a Dask cluster, and keep every row the moment it is known."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from ops.lab.cells import Cell, name_of
from ops.lab.grid import Grid
from ops.lab.journal import DamagedRow, Journal, read_table, texts_of
from ops.lab.pool import carried_out, cluster, cores
from sim.errors import InputError

Progress = Callable[[int, int], None]


class Swept(NamedTuple):
    """The table, how many cells the grid has, how many of them had rows before, and how many have no result.

    `damaged` are the rows that were not what had been written, and computed again: their lines in the journal, and why.
    """

    table: pa.Table
    cells: int
    before: int
    failed: int
    damaged: tuple[DamagedRow, ...] = ()


def sweep(
    grid: Grid,
    table: Path,
    *,
    jobs: int = 0,
    dask: str = "",
    again: bool = False,
    progress: Progress = lambda done, of: None,
) -> Swept:
    """Every cell of a grid as a row of a Parquet table; what the table or its journal has is not run again.

    `jobs` processes on this computer, one per core if 0, or the workers of the Dask scheduler at `dask`.
    `again` repeats cells that failed. Raises InputError for a grid, a table or a cluster that cannot be used; rows
    made until then are kept.
    """
    cells: list[Cell] = [*grid.steps(), *grid.cells()]
    named = {name_of(cell): cell for cell in cells}
    journal = Journal(table)
    try:
        texts = _all_texts(table, grid)
        kept = {name for name, well in journal.done.items() if well or not again}
        left = [cell for name, cell in named.items() if name not in kept]
        before = done = len(cells) - len(left)
        progress(done, len(cells))
        if left:
            with cluster(dask) if dask else cores(min(jobs, len(left))) as pool:
                for rows in carried_out(left, pool):
                    journal.add(rows)
                    done += len(rows)
                    progress(done, len(cells))
        whole = journal.close(list(named), texts)
    finally:
        journal.leave()
    failed = sum(not journal.done[name] for name in named)
    return Swept(whole, len(cells), before, failed, tuple(journal.damaged))


def _all_texts(table: Path, grid: Grid) -> dict[str, dict[str, str]]:
    """The files of the grid and of the table there is, machines' and schedules', by the column that names them."""
    before = read_table(table) if table.exists() else None
    every = {}
    for column, some in (("machine", grid.texts), ("algorithm", grid.schedules)):
        texts = {} if before is None else texts_of(before, column)
        for name, text in some.items():
            if not name.isascii() and name != name.encode(errors="replace").decode():
                raise InputError("name.not_utf8", name=name)
            if texts.get(name, text) != text:
                raise InputError("table.other_file", table=table, name=name)
        every[column] = texts | dict(some)
    return every
