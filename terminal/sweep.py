"""`sweep`: a grid of runs into a table."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sim.errors import InputError
from terminal import DONE, Answer, argument, command
from terminal.lab import AXES, JOBS, grid, jobs, many
from terminal.progress import Bar

if TYPE_CHECKING:
    from ops.lab.grid import Grid


@command(
    *AXES,
    argument("--grid", metavar="FILE.yaml", help="instead: the axes as YAML, a key for each"),
    many("--trouble", "SPEC", "KIND:key=value,…, several with ` + ` between, or none; each is a point"),
    argument("--seeds", default="", help="1,2,3: for troubles that draw something"),
    argument("-o", "--output", required=True, metavar="TABLE.parquet", help="where rows go; it may have some already"),
    JOBS,
    argument("--dask", default="", metavar="ADDRESS", help="the scheduler of a Dask cluster, like tcp://host:8786"),
    argument("--again", action="store_true", help="also repeat cells that failed"),
)
def sweep(given: argparse.Namespace) -> Answer:
    """Run a whole grid of what-ifs into a Parquet table; started again, it goes on where it stopped."""
    from ops.lab.sweep import sweep

    path = Path(given.output)
    if path.suffix != ".parquet":
        raise InputError(f"{given.output[:80]} does not end in .parquet: a sweep is a Parquet table")
    made = sweep(
        _grid(given),
        path,
        jobs=jobs(given),
        dask=given.dask,
        again=given.again,
        progress=Bar("cells"),
    )
    found = {
        "file": given.output,
        "rows": made.table.num_rows,
        "cells": made.cells,
        "found_before": made.before,
        "failed": made.failed,
    }
    told = [f"{made.cells:,} cells are in {given.output}, {made.before:,} of them found before"]
    if made.table.num_rows > made.cells:
        told.append(f"it also keeps {made.table.num_rows - made.cells:,} rows of other grids")
    told += _reasons(made.table, made.failed)
    return Answer(DONE, found, "\n".join(told))


def _grid(given: argparse.Namespace) -> "Grid":
    from ops.lab.grid import read_grid, topology_text

    axes = ("algorithms", "machine", "topology", "vary", "set", "sizes", "ranks", "trouble", "seeds")
    if given.grid is None:
        return grid(given)
    twice = [axis for axis in axes if getattr(given, axis)]
    if twice:
        raise InputError(f"{given.grid} holds the whole grid: write {', '.join(twice)} there")
    try:
        text = Path(given.grid).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{given.grid} cannot be read ({error.strerror}): give the path of a grid") from None
    return read_grid(text, given.grid, topology_text)


def _reasons(table: object, failed: int) -> list[str]:
    """Why cells have no result, the commonest reasons first."""
    import pyarrow.compute as pc

    if not failed:
        return []
    reasons = pc.value_counts(table["reason"].drop_null()).to_pylist()  # type: ignore[index]
    reasons.sort(key=lambda one: -one["counts"])
    told = [f"  {one['counts']:,} x {one['values']}" for one in reasons[:5]]
    return [f"{failed:,} have no result:", *told]
