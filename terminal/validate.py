"""`validate`: measured against simulated."""

from typing import Any

import click

from ops.libraries.nccl.layers import family_of
from ops.libraries.nccl.own.band import bands_at
from ops.libraries.nccl.own.numbers import calibrated
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.variables import machine_with, set_variables
from ops.measured.comparison import Compared, Outside, compare_table, verdict, winners
from ops.measured.files import place, read_all
from ops.measured.rows import Table
from ops.measured.run_words import forced
from ops.plan.notation import assignments
from sim.errors import InputError
from sim.placement import placement_of
from sim.topology import Topology
from sim.units import fmt_size, fmt_time
from terminal import DONE, Answer, command
from terminal.shared.halves import halves, in_words
from terminal.shared.options import ASSUME, CALIBRATION, PAIRS, PLACEMENT, TOPOLOGY, placement_word, read, takes
from terminal.shared.types import ASSIGNMENT, WHOLE


@command
@click.argument("files", nargs=-1, metavar="[FILE]...")
@takes(
    click.option("--machine", metavar="SPEC", help="machine of the measurement; read from the file if left out"),
    TOPOLOGY,
    ASSUME,
    PAIRS,
    CALIBRATION,
)
@click.option("--ranks", type=WHOLE, default=0, metavar="N", help="ranks, if the file does not name them")
@click.option("--collective", default="", metavar="NAME", help="collective, if the file does not name it")
@PLACEMENT
@click.option("--in-place", is_flag=True, help="compare with the in-place times of nccl-tests")
@click.option(
    "--set",
    "settings",
    multiple=True,
    type=ASSIGNMENT,
    metavar="KEY=VALUE",
    help="variables that NCCL had, like NCCL_ALGO=Ring; nccl= for a release like 2.18",
)
def validate(
    files: tuple[str, ...],
    ranks: int,
    collective: str,
    placement: str | None,
    in_place: bool,
    settings: tuple[str, ...],
    **own: Any,
) -> Answer:
    """Simulate published measurements, and show the error of each time.

    A FILE is output of nccl-tests or OSU, a CSV of named algorithms, or a folder of such files.
    """
    if not files:
        raise InputError("compare.nothing")
    words = assignments(",".join(settings), "--set")
    own_variables = set_variables(words, "validate")
    rows: list[Compared] = []
    measured, strange = read_all(files)  # all are read before one is run
    outside = [Outside(name, 0, why) for name, why in strange]
    tables: list[dict[str, Any]] = []
    where, plan = placement_word(placement or ""), read(own, machine=False)
    machine = plan.topology() if plan.capture else plan.machine
    refused: InputError | None = None
    for table in measured:
        try:
            topology, placed, why = place(table, machine, ranks, collective, where)
            topology = machine_with(topology, own_variables)
        except InputError as error:
            if machine:
                raise
            outside.append(Outside(table.source, len(table.rows), str(error)))
            refused = refused or error
            continue
        topology = calibrated(topology, plan.calibration) if plan.calibration else topology
        options = set_variables(words, "validate", forced(placed))
        compared, left = compare_table(topology, placed, in_place=in_place, options=options)
        outside += left
        tables.append(_table(topology, placed, why, compared, options.nccl) | {"first_row": len(rows)})
        rows += compared
    if refused and not tables:
        raise refused
    data = _data(rows, outside, tables)
    data |= _shared(tables)
    data["winners"] = [w._asdict() for w in winners(rows)]
    return Answer(DONE, data, _text(data))


def _table(topology: Topology, table: Table, why: str, rows: list[Compared], release: str) -> dict[str, Any]:
    pairs = table.kind == "osu"
    family, errors = None if pairs else family_of(topology), verdict(rows)
    below, above = bands_at(topology, table.ranks) if family and rows else (None, None)
    return {
        "source": table.source,
        "machine": topology.name,
        "machine_from": why,
        "ranks": table.ranks,
        "placement": placement_of(topology, table.ranks) or None,
        "family": family.name if family else None,
        "nccl": table.forced.get("nccl"),
        "release": None if pairs else release,
        "assumed": list(topology.assumed),
        "rests_on": len(family.tables) if family else 0,
        "expected_error": {"below_1MiB": below, "from_1MiB": above},
        "parameters": {} if pairs else (family.pace if family else Pace()).as_dict(),
        "rows": errors.rows,
        **halves("median_error", errors),
    }


def _shared(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """What all tables have in common of where they were measured; None where they differ."""
    keys = {"machine": "machine", "ranks": "ranks", "nccl": "release", "expected_error": "expected_error"}
    first = tables[0] if tables else {}
    return {key: first.get(of) if all(table[of] == first[of] for table in tables) else None for key, of in keys.items()}


def _data(rows: list[Compared], outside: list[Outside], tables: list[dict[str, Any]]) -> dict[str, Any]:
    families: dict[str, list[Compared]] = {}
    for row in rows:
        families.setdefault(row.machine.partition(":")[0], []).append(row)
    verdicts = {name: verdict(several) for name, several in families.items()}
    return {
        "rows": [
            {
                "machine": row.machine,
                "collective": row.collective,
                "algorithm": row.algorithm or None,
                "simulated_as": row.way,
                "ranks": row.ranks,
                "size_bytes": row.size,
                "measured_s": row.measured,
                "simulated_s": row.simulated,
                "error": row.error,
                "source": row.source,
                "line": row.line,
            }
            for row in rows
        ],
        "tables": tables,
        "families": {name: {"rows": v.rows, **halves("median_error", v)} for name, v in verdicts.items()},
        "outside": [{"source": left.source, "rows": left.rows, "why": left.why} for left in outside],
    }


def _expectation(table: dict[str, Any]) -> str:
    """On how many tables the pace rests, and how far off four of five rows may be."""
    expected = table["expected_error"]
    if not table["rows"]:
        return "no row can be simulated"
    if expected["from_1MiB"] is None or expected["below_1MiB"] is None:
        return "no table of such a machine is known: the error is unknown"
    small, large = expected["below_1MiB"], expected["from_1MiB"]
    return f"rests on {table['rests_on']} tables: expect four of five within {small:.0%} below 1 MiB, {large:.0%} above"


def _text(data: dict[str, Any]) -> str:
    lines = []
    for table in data["tables"]:
        pace = f"calibration of {table['family'] or 'NCCL itself'}" if table["parameters"] else "links alone"
        why = "as given" if table["machine_from"] == "given" else f"by {table['machine_from']}"
        lines.append(f"{table['source']}: {table['machine']} ({why}), {table['ranks']} ranks, {pace}")
        if table["parameters"]:
            lines.append(f"  {_expectation(table)}")
        lines += [f"  note: {note}" for note in table["assumed"]]
        for row in data["rows"][table["first_row"] : table["first_row"] + table["rows"]]:
            name = f"{row['algorithm']:12} " if row["algorithm"] else ""
            lines.append(
                f"  {row['collective']:14} {name}{fmt_size(row['size_bytes']):>9}"
                f"  measured {fmt_time(row['measured_s']):>9}  simulated {fmt_time(row['simulated_s']):>9}"
                f"  {row['error']:+7.1%}  {row['simulated_as']}"
            )
    for name, one in data["families"].items():
        lines.append(f"{name}: {one['rows']} rows, median error {in_words(one, 'median_error_')}")
    if data["winners"]:
        right = sum(w["measured"] == w["simulated"] for w in data["winners"])
        lines.append(f"winner right in {right} of {len(data['winners'])} cases that are more than 25 % apart")
    lines += [f"outside: {one['source']}: {one['rows']} rows: {one['why']}" for one in data["outside"]]
    return "\n".join(lines)
