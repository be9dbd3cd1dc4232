"""`calibrate`: fit the pace of machines to measured tables."""

import json
from collections.abc import Iterator
from typing import Any

import click

from ops.libraries.nccl.choice import pace_of
from ops.libraries.nccl.layers import machine_word
from ops.measured.calibration import MOST_RANKS, Fitted, Sample, fit, thinned
from ops.measured.comparison import verdict
from ops.measured.files import place, read_file
from ops.measured.mpi import Judged, fit_table, is_mpi, judged, priced, system_of
from ops.measured.rows import Table
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from sim.units import fmt_bandwidth, fmt_time
from terminal import DONE, Answer, BatchCommand, command
from terminal.shared.files import TO_WRITE


@command(kind=BatchCommand)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "--machine", default="", metavar="SPEC", help="machine of the measurements; read from the files if left out"
)
@click.option("--name", metavar="NAME", help="what to call the family; the machine's name if left out")
@click.option(
    "-o",
    "--output",
    type=TO_WRITE,
    metavar="FILE.json",
    help="also write the calibration, its tables and errors",
)
def calibrate(files: tuple[str, ...], machine: str, name: str | None, output: str | None) -> Answer:
    """Fit one set of factors on NCCL's constants to all tables of a family of machines.

    Of named algorithms of MPI libraries: three numbers for each table, and whether its library keeps its buffers,
    judged on every table of the same system.
    """
    if not files:
        raise InputError("calibrate.nothing")
    tables = [table for file in files for table in read_file(file)]
    if not machine and all(map(is_mpi, tables)):
        return _mpi(tables, output)
    samples = _samples(tables, machine)
    machines = {machine_word(sample.topology) for sample in samples}
    if len(machines) != 1:
        several = " and ".join(sorted(machines)) or f"none with up to {MOST_RANKS} ranks"
        raise InputError("calibrate.several", families=several)
    fitted = fit(
        samples, progress=lambda text: click.echo(text, err=True), start=pace_of(samples[0].topology)
    )  # it takes minutes
    entry = _entry(samples, fitted, sorted(machines))
    name = name or entry["machines"][0]
    if output:
        write_whole(output, json.dumps({name: entry}, indent=2) + "\n")
    return Answer(DONE, {"family": name} | entry, _text(name, entry))


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
        "median_error_below_1MiB": verdict.errors.small,
        "median_error_from_1MiB": verdict.errors.large,
        "winners_right": verdict.right,
        "races": verdict.races,
    }


def _mpi_lines(fit: dict[str, Any]) -> Iterator[str]:
    prices = f"a step {fmt_time(fit['step'])}, {fmt_bandwidth(fit['rate'])}, adding {fmt_bandwidth(fit['adding'])}"
    buffers = {True: ", buffers are kept", False: ", buffers are allocated again", None: ""}[fit["keeps_buffers"]]
    yield f"{fit['table']}: {prices}{buffers}"
    for one in fit["on"]:
        where = "itself" if one["table"] == fit["table"] else one["table"]
        halves = [("below 1 MiB", one["median_error_below_1MiB"]), ("from 1 MiB on", one["median_error_from_1MiB"])]
        errors = ", ".join(f"{share:.1%} {half}" for half, share in halves if share is not None)
        yield f"  on {where}: {errors}, the fastest named at {one['winners_right']} of {one['races']} sizes"


def _samples(tables: list[Table], machine: str) -> list[Sample]:
    samples = []
    for table in tables:
        topology, placed, _ = place(table, machine)
        few = thinned(placed)
        if placed.ranks <= MOST_RANKS and few.rows:
            samples.append(Sample(topology, few))
    return samples


def _entry(samples: list[Sample], fitted: Fitted, machines: list[str]) -> dict[str, Any]:
    errors = verdict(list(fitted.rows))
    return {
        "machines": machines,
        "pace": {key: float(f"{value:.4g}") for key, value in fitted.pace.as_dict().items()},
        "fitted_to": [sample.table.file for sample in samples],
        "rows": errors.rows,
        "median_error_below_1MiB": errors.small and round(errors.small, 4),
        "median_error_from_1MiB": errors.large and round(errors.large, 4),
        "objective": {"before": round(fitted.before, 4), "after": round(fitted.after, 4)},
    }


def _text(name: str, entry: dict[str, Any]) -> str:
    lines = [f"{name}: {entry['rows']} rows of {', '.join(entry['fitted_to'])}"]
    lines += [f"  {key:10} {value:.4g}" for key, value in entry["pace"].items()]
    small, large = entry["median_error_below_1MiB"], entry["median_error_from_1MiB"]
    lines += [f"  median error below 1 MiB {small:.1%}"] if small is not None else []
    lines += [f"  median error from 1 MiB on {large:.1%}"] if large is not None else []
    return "\n".join(lines)
