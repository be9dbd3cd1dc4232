"""`sweep`: a grid of runs into a table."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.compute as pc

from ops.answers.winners import answer_rows
from ops.lab.grid import Grid, machine_text, read_grid, split
from ops.lab.journal import SCHEMA, DamagedRow
from ops.lab.sweep import sweep as swept
from sim.base.files.textfile import Expected, read_text
from sim.errors import InputError
from terminal import DONE, Answer, BatchCommand, command
from terminal.shared.facts import opened
from terminal.shared.lab import JOBS, ORIGIN, axes, origin
from terminal.shared.options import takes
from terminal.shared.progress import Bar


@command(kind=BatchCommand)
@axes
@click.option("--grid", "file", metavar="FILE.yaml", help="instead: the axes as YAML, a key for each")
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="SPEC",
    help="a training step, NAME[:key=value,…], see `list workloads`; --set gives values of its parameters; repeatable",
)
@click.option(
    "--fault",
    "fault",
    multiple=True,
    metavar="SPEC",
    help="KIND:key=value,…, several with `;` between, or none; each is a point",
)
@click.option("--seeds", default="", metavar="N,…", help="1,2,3: seeds of random faults")
@click.option("-o", "--output", required=True, metavar="TABLE.parquet", help="table to write; rows in it are kept")
@takes(*JOBS)
@click.option("--dask", default="", metavar="ADDRESS", help="the scheduler of a Dask cluster, like tcp://host:8786")
@click.option("--retry-failed", is_flag=True, help="also repeat cells that failed")
def sweep(
    grid: Grid,
    file: str | None,
    workloads: tuple[str, ...],
    fault: tuple[str, ...],
    seeds: str,
    output: str,
    jobs: int,
    dask: str,
    retry_failed: bool,
) -> Answer:
    """Run a grid of plans into a Parquet table; started again, it continues."""
    if Path(output).suffix != ".parquet":
        raise InputError("sweep.output", file=output)
    grid = replace(grid, workloads=workloads, faults=fault, seeds=split(seeds))
    grid = grid if file is None else _from_file(file, grid)
    done = swept(grid, Path(output), jobs=jobs, dask=dask, again=retry_failed, progress=Bar("cells"))
    data = {
        **origin(done.table.select(list(ORIGIN)).slice(0, done.cells).to_pylist()),
        "file": output,
        "rows": done.table.num_rows,
        "cells": done.cells,
        "found_before": done.before,
        "failed": done.failed,
        "damaged": [{"line": row.line, "why": str(row.why)} for row in done.damaged],
    }
    rows = done.table.select(list(SCHEMA.names)).slice(0, done.cells).to_pylist()
    lines = [opened(data, answer_rows(rows))] if rows else []
    lines.append(f"{done.cells:,} cells are in {output}, {done.before:,} of them found before")
    if done.table.num_rows > done.cells:
        lines.append(f"it also keeps {done.table.num_rows - done.cells:,} rows of other grids")
    lines += _damaged(done.damaged, output)
    return Answer(DONE, data, "\n".join([*lines, *_reasons(done.table, done.failed)]))


def _from_file(file: str, beside: Grid) -> Grid:
    twice = [axis.name for axis in fields(Grid) if getattr(beside, axis.name)]
    if twice:
        raise InputError("sweep.in_file", file=file, options=twice)
    return read_grid(read_text(file, Expected("a grid")), file, machine_text)


def _damaged(rows: Sequence[DamagedRow], output: str) -> list[str]:
    """Which rows of the journal were not what had been written; their cells were run again."""
    if not rows:
        return []
    named = "; ".join(f"line {row.line}: {row.why}" for row in rows[:5])
    more = f"; and {len(rows) - 5} more" if len(rows) > 5 else ""
    lost = "row was" if len(rows) == 1 else "rows were"
    return [f"{len(rows)} {lost} lost in {output}.journal and computed again ({named}{more})"]


def _reasons(table: pa.Table, failed: int) -> list[str]:
    """Why cells have no result, the commonest reasons first."""
    if not failed:
        return []
    reasons = pc.value_counts(table["reason"].drop_null()).to_pylist()
    reasons.sort(key=lambda entry: -entry["counts"])
    lines = [f"  {entry['counts']:,} x {entry['values']}" for entry in reasons[:5]]
    return [f"{failed:,} have no result:", *lines]
