"""`calibrate`: a set-up's own numbers from its measured tables."""

import json
from collections.abc import Iterator
from typing import Any

import click

from ops.libraries.nccl.layers import machine_word
from ops.measured.calibration import MOST_RANKS
from ops.measured.files import place, read_file
from ops.measured.mpi import Judged, fit_table, is_mpi, judged, priced, system_of
from ops.measured.own.file import as_dict
from ops.measured.own.fit import USUAL, fit_own
from ops.measured.rows import Table
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.topology import Topology
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from terminal import DONE, Answer, BatchCommand, command
from terminal.shared.files import TO_WRITE
from terminal.shared.halves import HALVES, halves, in_words


@command(kind=BatchCommand)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "--machine", default="", metavar="SPEC", help="machine of the measurements; read from the files if left out"
)
@click.option(
    "--numbers",
    "count",
    type=click.IntRange(1, 4),
    default=USUAL,
    metavar="N",
    help="how many numbers to fit, 2 if left out; a third and a fourth only where rows left out come nearer",
)
@click.option(
    "-o",
    "--output",
    type=TO_WRITE,
    metavar="FILE.json",
    help="also write the calibration, for --calibration of other commands",
)
def calibrate(files: tuple[str, ...], machine: str, count: int, output: str | None) -> Answer:
    """Fit two numbers of a cluster to its own tables: what a hop costs, and the share of NICs or links it reaches.

    The file that -o writes is for --calibration of run, expected and others, on more hosts, too. Of named algorithms
    of MPI libraries: three numbers for each table, and whether its library keeps its buffers, judged on every table of
    the same system.
    """
    if not files:
        raise InputError("calibrate.nothing")
    tables = [table for file in files for table in read_file(file)]
    if not machine and all(map(is_mpi, tables)):
        return _mpi(tables, output)
    placed = _placed(tables, machine)
    machines = {machine_word(topology) for topology, _ in placed}
    if len(machines) != 1:
        several = " and ".join(sorted(machines)) or f"none with up to {MOST_RANKS} ranks"
        raise InputError("calibrate.several", families=several)
    fit = fit_own(placed, count, progress=lambda text: click.echo(text, err=True))  # it takes a while
    data = as_dict(fit, placed)
    if output:
        write_whole(output, json.dumps(data, indent=2) + "\n")
    return Answer(DONE, data, _text(data))


def _placed(tables: list[Table], machine: str) -> list[tuple[Topology, Table]]:
    placed = [place(table, machine)[:2] for table in tables]
    return [(topology, table) for topology, table in placed if table.ranks <= MOST_RANKS]


def _mpi(tables: list[Table], output: str | None) -> Answer:
    fits = []
    for table in tables:
        pace, keeps = fit_table(table)
        beside = [(other, priced(other, keeps=bool(keeps))) for other in tables if system_of(other) == system_of(table)]
        on = [_judged(other, judged(rows, pace)) for other, rows in beside if rows]
        entry = {"table": table.file, "system": system_of(table), "rows": len(priced(table)), "keeps_buffers": keeps}
        fits.append(entry | pace._asdict() | {"on": on})
    if output:
        write_whole(output, json.dumps(fits, indent=2) + "\n")
    return Answer(DONE, {"fits": fits}, "\n".join(line for fit in fits for line in _mpi_lines(fit)))


def _judged(table: Table, verdict: Judged) -> dict[str, Any]:
    return {
        "table": table.file,
        "rows": verdict.errors.rows,
        **halves("median_error", verdict.errors),
        "winners_right": verdict.right,
        "races": verdict.races,
    }


def _mpi_lines(fit: dict[str, Any]) -> Iterator[str]:
    prices = f"a step {fmt_time(fit['step'])}, {fmt_bandwidth(fit['rate'])}, adding {fmt_bandwidth(fit['adding'])}"
    buffers = {True: ", buffers are kept", False: ", buffers are allocated again", None: ""}[fit["keeps_buffers"]]
    yield f"{fit['table']}: {prices}{buffers}"
    for one in fit["on"]:
        where = "itself" if one["table"] == fit["table"] else one["table"]
        errors = in_words(one, "median_error_")
        yield f"  on {where}: {errors}, the fastest named at {one['winners_right']} of {one['races']} sizes"


def _text(data: dict[str, Any]) -> str:
    lines = [f"{', '.join(data['machines'])}: {', '.join(data['tables'])}"]
    lines += [_number_line(one) for one in data["numbers"]]
    lines += [f"  {name}: rows left out come no nearer with it: not fitted" for name in data["dropped"]]
    rows = data["left_out"]["rows"]
    for key, where in HALVES.items():
        own, without = data["left_out"][key], data["without"][key]
        if own is not None and without is not None:
            lines.append(f"  {where}: rows left out are {own:.1%} off, without calibration {without:.1%} (medians)")
    return "\n".join([*lines, f"  {rows} rows; use it with --calibration {data['calibration']}"])


def _number_line(one: dict[str, Any]) -> str:
    value, low, high, usual = (
        _amount(number, one["unit"]) for number in (one["value"], *one["interval"], one["usual"])
    )
    sizes = " to ".join(map(fmt_size, one["sizes_bytes"]))
    return f"  {one['name']:10} {value:>9}  ({low} to {high}; usually {usual}) by {one['rows']} rows, {sizes}"


def _amount(number: float, unit: str) -> str:
    return fmt_time(number) if unit == "s" else f"{number:.1%}"
