"""`accuracy`: how near the clock comes to what was measured, beside what others predict, and without each table."""

import json
import re
from typing import Any

import click

from ops.measured.accuracy import (
    OURS,
    Cell,
    MeasuredRun,
    TableMedians,
    cells,
    measured_runs,
    median_of_medians,
    share_inside,
    share_nearest,
    table_medians,
    written,
)
from ops.measured.comparison import verdict
from ops.measured.files import place, read_file
from ops.measured.layers import entries, errors, fit_layers, inside, leave_one_out, repeated, units, unseen
from ops.measured.rivals import RIVALS
from ops.measured.rows import Table
from sim.errors import InputError
from sim.topology import Topology
from sim.whole_file import write_whole
from terminal import DONE, Answer, command
from terminal.shared.files import TO_WRITE

LEFT_OUT = "left out"
"""What tables are called that their layers were fitted without."""


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
    placed_tables: list[tuple[Topology, Table, str]] = []
    outside = []
    for table in tables:
        try:
            topology, ready, _ = place(table)
        except InputError as error:
            outside.append({"source": table.source, "rows": len(table.rows), "why": str(error)})
            continue
        if first := repeated(topology, ready, placed_tables):
            why = f"repeats {first}: the same run counts once"
            outside.append({"source": table.source, "rows": len(table.rows), "why": why})
            continue
        placed.append((_system(table), topology, ready))
        placed_tables.append((topology, ready, table.file))
    runs: list[MeasuredRun] = sorted(measured_runs(placed), key=lambda run: -run.worst())
    if output:
        write_whole(output, written(runs))
    scored = sorted(cells(runs), key=lambda cell: -(cell.errors[OURS] or 0.0))
    tables_scored = table_medians(runs)
    data: dict[str, Any] = {
        "cells": [cell.as_dict() for cell in scored],
        "systems": _systems(scored),
        "tables": [_table(entry) for entry in tables_scored],
        "medians": median_of_medians(tables_scored),
        "inside_band": share_inside(scored),
        "nearest": share_nearest(scored),
        "outside": outside,
    }
    return Answer(DONE, data, _text(scored, data))


def _table(entry: TableMedians) -> dict[str, Any]:
    errors = {"median_error_below_1MiB": entry.small, "median_error_from_1MiB": entry.large}
    return {"table": entry.table, "kind": entry.kind, "rows": entry.rows} | errors


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
    lines += [f"{kind}: {_of_tables(total)}" for kind, total in data["medians"].items()]
    lines.append(f"of all rows {data['inside_band']:.0%} lie inside the band that is said to hold 80 %")
    lines.append(f"nearest of all in {data['nearest']:.0%} of {len(scored)} cells")
    lines += [f"outside: {entry['source']}: {entry['rows']} rows: {entry['why']}" for entry in data["outside"]]
    return "\n".join(lines)


def _of_tables(total: dict[str, Any]) -> str:
    """The medians of tables' medians, in words."""
    halves = [f"{_percent(total[key])} {where}" for key, where in _HALVES if total[key] is not None]
    return f"the median of the medians of {total['tables']} tables, {total['rows']} rows, is {', '.join(halves)}"


_HALVES = (("below_1MiB", "below 1 MiB"), ("from_1MiB", "from 1 MiB on"))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _left_out(tables: list[Table], output: str | None) -> Answer:
    every, refused = units(tables)
    if not every:
        raise InputError("none of these tables is of a machine with layers: name tables of one")
    fitted = fit_layers(every, progress=lambda text: click.echo(text, err=True))  # it takes minutes
    rows, pairs, alone = [], [], list[TableMedians]()
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
        where = "several hosts" if unit.network else "one host"
        alone += [
            TableMedians(unit.name, kind, left.rows, left.small, left.large)
            for kind in (LEFT_OUT, f"{LEFT_OUT}, {where}")
        ]
    strange = list(unseen(every, fitted))
    kept = entries(every, fitted, pairs, strange)
    if output:
        write_whole(output, json.dumps(kept, indent=2) + "\n")
    data = {
        "tables": rows,
        "layers": kept,
        "medians": median_of_medians(alone),
        "inside_band": inside(pairs, strange),
        "outside": [{"source": name, "why": why} for name, why in refused],
    }
    return Answer(DONE, data, _left_text(data))


def _left_text(data: dict[str, Any]) -> str:
    lines = [f"{'':52} {'':20} {'fitted':>16} {'left out':>18}"]
    for row in data["tables"]:
        where = f"{row['generation']}{', ' + row['network'] if row['network'] else ''}"
        keys = ("fitted_below_1MiB", "fitted_from_1MiB", "left_out_below_1MiB", "left_out_from_1MiB")
        lines.append(f"{row['table'][:52]:52} {where:20}" + "".join(f"{_percent(row[key]):>9}" for key in keys))
    lines += [f"{kind}: {_of_tables(total)}" for kind, total in data["medians"].items()]
    lines.append(f"of the rows left out {data['inside_band']:.0%} lie inside the band said to hold 80 %")
    return "\n".join([*lines, *(f"outside: {entry['source']}: {entry['why']}" for entry in data["outside"])])
