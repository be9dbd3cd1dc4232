"""`accuracy`: how near the clock comes to what was measured, beside what others predict, and without each table."""

import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from ops.measured.accuracy import (
    OURS,
    Cell,
    JudgedTable,
    MeasuredRun,
    TableMedians,
    all_rows,
    cells,
    judgements,
    measured_runs,
    median_of_medians,
    repeats,
    share_inside,
    share_nearest,
    table_medians,
    written,
)
from ops.measured.comparison import Agreement
from ops.measured.files import place, read_all
from ops.measured.layers import (
    FittedLayers,
    Judged,
    TableGroup,
    coverage,
    entries,
    errors,
    fit_layers,
    inside,
    leave_one_out,
    repeated,
    units,
    unseen,
)
from ops.measured.own.classes import as_dict, bands_beside, class_errors, own_rows
from ops.measured.rivals import RIVALS
from ops.measured.rows import Table
from ops.measured.steps import PredictedRow, judged, predicted, source_of, sources
from ops.measured.steps import written as rows_of_steps
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.topology import Topology
from sim.units import fmt_time
from terminal import DONE, Answer, BatchCommand, command
from terminal.shared.files import TO_WRITE
from terminal.shared.halves import HALVES, halves, in_words

LEFT_OUT, LEFT = "left out", "left_out"
"""What tables are called that their layers were fitted without, in words and as a key."""
Strange = list[tuple[str, str]]
"""What holds no measurements, and why."""


@command(kind=BatchCommand)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--leave-out", is_flag=True, help="calibrate on the files, then again without each table")
@click.option(
    "-o",
    "--output",
    type=TO_WRITE,
    metavar="FILE.json",
    help="write every row with every model's answer; with --leave-out the calibration",
)
@click.option(
    "--steps",
    multiple=True,
    metavar="SOURCE",
    help="published training steps of this source instead of FILEs; all for every source",
)
def accuracy(files: tuple[str, ...], leave_out: bool, output: str | None, steps: tuple[str, ...]) -> Answer:
    """Show the median error by system, number of GPUs, collective and size class, worst first.

    Beside it stand NCCL's tuner, a ring of αs and βs, and the cost model of autoparallel. A FILE may be a folder of
    them. With --steps, published training steps: the smallest of a group gives one GPU's speed, from which the
    others are predicted.
    """
    if steps:
        if files or leave_out:
            raise InputError("accuracy.steps")
        return _steps(steps, output)
    if not files:
        raise InputError("compare.nothing")
    tables, strange = read_all(files)
    return _left_out(tables, strange, output) if leave_out else _cells(tables, strange, output)


def _cells(tables: list[Table], strange: Strange, output: str | None) -> Answer:
    placed: list[tuple[str, Topology, Table]] = []
    placed_tables: list[tuple[Topology, Table, str]] = []
    outside: list[dict[str, Any]] = [{"source": name, "rows": 0, "why": why} for name, why in strange]
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
    medians = Agreement(entry.small, entry.large, entry.rows)
    return {"table": entry.table, "kind": entry.kind, "rows": entry.rows} | halves("median_error", medians)


def _system(table: Table) -> str:
    """What a table's system is called: by the table itself, else by the file without its number and ending."""
    return table.words[0] if table.of_system else re.sub(r"^\d{1,4}-|\.\w{1,8}$", "", table.file)


def _systems(scored: list[Cell]) -> dict[str, dict[str, float | None]]:
    """Medians over a system's cells."""
    systems: dict[str, dict[str, float | None]] = {}
    for name in sorted({cell.system for cell in scored}):
        systems[name] = {}
        for large, key in enumerate(HALVES):
            errors = sorted(cell.errors[OURS] or 0.0 for cell in scored if (cell.system, cell.large) == (name, large))
            systems[name][key] = errors[len(errors) // 2] if errors else None
    return systems


def _text(scored: list[Cell], data: dict[str, Any]) -> str:
    heads = [OURS, *RIVALS]
    lines = [f"{'':44} {'':14} GPUs {'':7}" + "".join(f"{head:>14}" for head in heads)]
    for cell in scored:
        half = "1 MiB +" if cell.large else "< 1 MiB"
        shown = "".join(f"{_percent(cell.errors[head]):>14}" for head in heads)
        lines.append(f"{cell.system[:44]:44} {cell.collective:14} {cell.ranks:4} {half}{shown}")
    lines += [f"{name}: median of its cells {in_words(medians)}" for name, medians in data["systems"].items()]
    lines += [f"{kind}: {_of_tables(total)}" for kind, total in data["medians"].items()]
    lines.append(f"of all rows {data['inside_band']:.0%} lie inside the band that is said to hold 80 %")
    lines.append(f"nearest of all in {data['nearest']:.0%} of {len(scored)} cells")
    lines += [f"outside: {entry['source']}: {entry['rows']} rows: {entry['why']}" for entry in data["outside"]]
    return "\n".join(lines)


def _of_tables(total: dict[str, Any]) -> str:
    """The medians of tables' medians, in words."""
    return f"the median of the medians of {total['tables']} tables, {total['rows']} rows, is {in_words(total)}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _left_out(tables: list[Table], strange: Strange, output: str | None) -> Answer:
    every, refused = units(tables)
    if not every:
        raise InputError("accuracy.no_layers")
    tell = partial(click.echo, err=True)  # it takes minutes
    fitted = fit_layers(every, progress=tell)
    pairs, unknown = list(leave_one_out(every, fitted)), list(unseen(every, fitted))
    judged = judgements(fitted, pairs, unknown)
    own = own_rows(every, fitted, progress=tell)
    kept = entries(every, fitted, pairs, unknown)
    kept["bands"] = bands_beside(tables, every, fitted, own, kept)
    classes = class_errors(pairs, own, coverage(pairs, unknown))
    kept["classes"] = {one.name: as_dict(one) for one in classes}
    if output:
        write_whole(output, json.dumps(kept, indent=2) + "\n")
    alone = [
        TableMedians(one.group.name, kind, one.left_out.rows, one.left_out.small, one.left_out.large)
        for one in judged
        for kind in (LEFT_OUT, f"{LEFT_OUT}, {'several hosts' if one.group.network else 'one host'}")
    ]
    data = {
        "tables": [_judged(one) for one in judged],
        "classes": [as_dict(one) for one in classes],
        "one_host": _of_one_host(every, fitted, pairs, unknown),
        "repeats": halves("apart", repeats(tables)) | {"calls": repeats(tables).rows},
        "layers": kept,
        "medians": median_of_medians(alone),
        "inside_band": inside(pairs, unknown),
        "outside": [{"source": name, "why": why} for name, why in [*strange, *refused]],
    }
    return Answer(DONE, data, _left_text(data))


def _judged(one: JudgedTable) -> dict[str, Any]:
    group = one.group
    return {
        "table": group.name,
        "generation": group.generation,
        "network": group.network or None,
        "rows": one.fitted.rows,
        **halves("fitted", one.fitted),
        **halves(LEFT, one.left_out),
        **halves("unseen", one.unseen),
        "band_below_1MiB": one.band[0],
        "band_from_1MiB": one.band[1],
        "by_ranks": [{"ranks": n, "rows": agreed.rows} | halves(LEFT, agreed) for n, agreed in one.by_ranks.items()],
    }


def _of_one_host(every: Sequence[TableGroup], fitted: FittedLayers, pairs: Judged, unknown: Judged) -> dict[str, Any]:
    """The medians over all rows of every generation, on one host."""
    whole = [(group, errors(group, fitted)) for group in every]
    fit, left, alien = (all_rows(some) for some in (whole, pairs, unknown))
    return {
        name: {"rows": fit[name].rows}
        | halves("fitted", fit[name])
        | halves(LEFT, left[name])
        | halves("unseen", alien[name])
        for name in fit
    }


def _left_text(data: dict[str, Any]) -> str:
    heads = ("fitted", "left out", "unseen", "within")
    lines = [f"{'':52} {'':20} " + " ".join(f"{head:>16}" for head in heads)]
    for row in data["tables"]:
        where = f"{row['generation']}{', ' + row['network'] if row['network'] else ''}"
        lines.append(f"{row['table'][:52]:52} {where[:20]:20} {_pairs(row, 'fitted', LEFT, 'unseen', 'band')}")
        if len(row["by_ranks"]) > 1:
            lines += [f"  {part['ranks']} GPUs{'':66} {'':16} {_pairs(part, LEFT)}" for part in row["by_ranks"]]
    lines += [
        f"{name + ', all rows on one host':52} {'':20} {_pairs(row, 'fitted', LEFT, 'unseen')}"
        for name, row in data["one_host"].items()
    ]
    lines += [_class_line(one) for one in data["classes"]]
    lines += [f"{kind}: {_of_tables(total)}" for kind, total in data["medians"].items()]
    if again := data["repeats"]["calls"]:
        lines.append(f"{again} calls were measured more than once: {_pairs(data['repeats'], 'apart').strip()} apart")
    lines.append(f"of the rows left out {data['inside_band']:.0%} lie inside the band said to hold 80 %")
    return "\n".join([*lines, *(f"outside: {entry['source']}: {entry['why']}" for entry in data["outside"])])


def _class_line(one: dict[str, Any]) -> str:
    """A class: how near it comes left out, with and without two own numbers, and what its bands hold."""
    errors = _pairs(one, "stock", "own")
    held = f"{_percent(one['inside']):>8}{_percent(one['own_inside']):>8}"
    counts = f"{one['tables']:3} set-ups {one['rows']:5} rows"
    return f"{one['name']:26} {counts}  left out, with two own numbers {errors}  inside {held}"


def _pairs(row: dict[str, Any], *names: str) -> str:
    """Medians below and from 1 MiB, a column of both for each."""
    return " ".join(
        f"{_percent(row[f'{name}_below_1MiB']):>8}{_percent(row[f'{name}_from_1MiB']):>8}" for name in names
    )


def _steps(names: Sequence[str], output: str | None) -> Answer:
    """All rows of these sources, `all` for every one. Raises InputError for one that there is not."""
    chosen = list(dict.fromkeys(name for word in names for name in (sources() if word == "all" else [word])))
    publications = {name: source_of(name) for name in chosen}
    rows = [row for name in chosen for row in predicted(name)]
    if output:
        write_whole(output, rows_of_steps(rows))
    scored = judged(rows)
    outside = [{"source": name, **left} for name, one in publications.items() for left in one.outside]
    data = {
        "rows": [{**row._asdict(), "error": None if row.reference else row.error} for row in rows],
        "sources": {name: {"source": one.source, **scored.get(name, {})} for name, one in publications.items()},
        "outside": outside,
    }
    lines = []
    for name, one in publications.items():
        lines += [f"{one.title} ({one.source})", f"  {one.note}"]
        lines += [_step_line(row) for row in rows if row.source == name]
        if name in scored:
            score = scored[name]
            errors = f"median error {score['median_error']:.1%}, largest {score['largest_error']:.1%}"
            lines.append(f"  {score['rows']} rows predicted: {errors}")
        lines += [f"  outside: {left['rows']} rows: {left['what']}: {left['why']}" for left in one.outside]
    return Answer(DONE, data, "\n".join(lines))


def _step_line(row: PredictedRow) -> str:
    """One row: what is given is not predicted."""
    error = "given" if row.reference else f"{row.error:+.1%}"
    stated = f"{row.published:>9,g} {row.unit:13} simulated {row.predicted:>9,.5g}"
    return f"  {row.group:36} {row.ranks:5} GPUs {stated}  step {fmt_time(row.simulated):>9}  {error:>6}"
