"""`accuracy`: how near the clock comes to what was measured, beside what others predict, and without each table."""

import json
import re
from typing import Any

import click

from ops.measured.accuracy import OURS, Cell, MeasuredRun, cells, measured_runs, written
from ops.measured.comparison import verdict
from ops.measured.files import place, read_file
from ops.measured.layers import entries, errors, fit_layers, inside, leave_one_out, units
from ops.measured.rivals import RIVALS
from ops.measured.rows import Table
from sim.errors import InputError
from sim.topology import Topology
from sim.whole_file import write_whole
from terminal import DONE, Answer, command
from terminal.shared.files import TO_WRITE


@command
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--leave-out", is_flag=True, help="fit all layers to the files, then each again without every table")
@click.option(
    "-o",
    "--output",
    type=TO_WRITE,
    metavar="FILE.json",
    help="write every row with every model's answer; with --leave-out the layers",
)
def accuracy(files: tuple[str, ...], leave_out: bool, output: str | None) -> Answer:
    """The median error of every system, number of GPUs, collective and half of the sizes, worst first.

    Beside it stand NCCL's tuner, a ring of αs and βs, and the cost model of autoparallel.
    """
    if not files:
        raise InputError("nothing to compare with is given: name files with measurements")
    tables = [table for file in files for table in read_file(file)]
    return _left_out(tables, output) if leave_out else _cells(tables, output)


def _cells(tables: list[Table], output: str | None) -> Answer:
    placed: list[tuple[str, Topology, Table]] = []
    outside = []
    for table in tables:
        try:
            topology, ready, _ = place(table)
        except InputError as error:
            outside.append({"source": table.source, "rows": len(table.rows), "why": str(error)})
            continue
        placed.append((_system(table), topology, ready))
    runs: list[MeasuredRun] = sorted(measured_runs(placed), key=lambda run: -run.worst())
    if output:
        write_whole(output, written(runs))
    scored = sorted(cells(runs), key=lambda cell: -(cell.errors[OURS] or 0.0))
    banded = [cell for cell in scored if cell.banded]
    data: dict[str, Any] = {
        "cells": [cell.as_dict() for cell in scored],
        "systems": _systems(scored),
        "inside_band": sum(cell.inside for cell in banded) / max(1, sum(cell.rows for cell in banded)),
        "nearest": sum(not cell.behind for cell in scored) / max(1, len(scored)),
        "outside": outside,
    }
    return Answer(DONE, data, _text(scored, data))


def _system(table: Table) -> str:
    """What a table's system is called: by the table itself, else by the file without its number and ending."""
    return table.words[0] if table.of_system else re.sub(r"^\d{1,4}-|\.\w{1,8}$", "", table.file)


def _systems(scored: list[Cell]) -> dict[str, dict[str, float | None]]:
    """Medians over a system's cells."""
    systems: dict[str, dict[str, float | None]] = {}
    for name in sorted({cell.system for cell in scored}):
        halves = {}
        for large, key in ((False, "below_1MiB"), (True, "from_1MiB")):
            errors = sorted(cell.errors[OURS] or 0.0 for cell in scored if (cell.system, cell.large) == (name, large))
            halves[key] = errors[len(errors) // 2] if errors else None
        systems[name] = halves
    return systems


def _text(scored: list[Cell], data: dict[str, Any]) -> str:
    heads = [OURS, *RIVALS]
    lines = [f"{'':44} {'':14} GPUs {'':7}" + "".join(f"{head:>14}" for head in heads)]
    for cell in scored:
        half = "1 MiB +" if cell.large else "< 1 MiB"
        shown = "".join(f"{_percent(cell.errors[head]):>14}" for head in heads)
        lines.append(f"{cell.system[:44]:44} {cell.collective:14} {cell.ranks:4} {half}{shown}")
    for name, halves in data["systems"].items():
        errors = [f"{_percent(halves[key])} {where}" for key, where in _HALVES if halves[key] is not None]
        lines.append(f"{name}: median of its cells {', '.join(errors)}")
    lines.append(f"of all rows {data['inside_band']:.0%} lie inside the band that is said to hold 80 %")
    lines.append(f"nearest of all in {data['nearest']:.0%} of {len(scored)} cells")
    lines += [f"outside: {entry['source']}: {entry['rows']} rows: {entry['why']}" for entry in data["outside"]]
    return "\n".join(lines)


_HALVES = (("below_1MiB", "below 1 MiB"), ("from_1MiB", "from 1 MiB on"))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _left_out(tables: list[Table], output: str | None) -> Answer:
    every, refused = units(tables)
    if not every:
        raise InputError("none of these tables is of a machine with layers: name tables of one")
    fitted = fit_layers(every, progress=lambda text: click.echo(text, err=True))  # it takes minutes
    rows, pairs = [], []
    for unit, without in leave_one_out(every, fitted):
        fit, left = verdict(errors(unit, fitted)), verdict(without)
        rows.append(
            {
                "table": unit.name,
                "generation": unit.generation,
                "network": unit.network or None,
                "rows": fit.rows,
                "fitted_below_1MiB": fit.small,
                "fitted_from_1MiB": fit.large,
                "left_out_below_1MiB": left.small,
                "left_out_from_1MiB": left.large,
            }
        )
        pairs.append((unit, without))
    kept = entries(every, fitted, pairs)
    if output:
        write_whole(output, json.dumps(kept, indent=2) + "\n")
    data = {
        "tables": rows,
        "layers": kept,
        "inside_band": inside(pairs),
        "outside": [{"source": name, "why": why} for name, why in refused],
    }
    return Answer(DONE, data, _left_text(data))


def _left_text(data: dict[str, Any]) -> str:
    lines = [f"{'':52} {'':20} {'fitted':>16} {'left out':>18}"]
    for row in data["tables"]:
        where = f"{row['generation']}{', ' + row['network'] if row['network'] else ''}"
        keys = ("fitted_below_1MiB", "fitted_from_1MiB", "left_out_below_1MiB", "left_out_from_1MiB")
        lines.append(f"{row['table'][:52]:52} {where:20}" + "".join(f"{_percent(row[key]):>9}" for key in keys))
    lines.append(f"of the rows left out {data['inside_band']:.0%} lie inside the band said to hold 80 %")
    return "\n".join([*lines, *(f"outside: {entry['source']}: {entry['why']}" for entry in data["outside"])])
