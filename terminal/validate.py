"""`validate`: measured against simulated."""

import argparse
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import DONE, Answer, argument, command
from terminal.arguments import whole

if TYPE_CHECKING:
    from ops.measured.comparison import Compared, Outside
    from ops.measured.rows import Table
    from sim.topology import Topology


@command(
    argument("files", nargs="*", metavar="FILE", help="output of nccl-tests or OSU, or a CSV of named algorithms"),
    argument("--machine", metavar="SPEC", help="where it was measured; found in the file if left out"),
    argument("--ranks", help="how many ranks took part, where the file does not tell"),
    argument("--collective", help="what was measured, where the file does not tell"),
    argument("--in-place", action="store_true", help="compare with the in-place times of nccl-tests"),
    argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="algorithm= or protocol= that NCCL was told"
    ),
)
def validate(given: argparse.Namespace) -> Answer:
    """Simulate what others have measured, and show how far off each time is."""
    from ops.libraries.nccl.choice import NcclOptions
    from ops.measured.comparison import Outside, compare_table, winners
    from ops.measured.files import place, read_file
    from sim.parameters import bind, parse_assignments

    if not given.files:
        raise InputError("nothing to compare with is given: name files with measurements")
    ranks = whole(given.ranks, "--ranks") if given.ranks else 0
    wanted = bind(NcclOptions, parse_assignments(given.set, "--set"), "validate")
    options = NcclOptions(**wanted) if wanted else None
    rows: list[Compared] = []
    outside: list[Outside] = []
    tables: list[dict[str, Any]] = []
    for table in [table for file in given.files for table in read_file(file)]:  # all are read before one is run
        try:
            there, placed, why = place(table, given.machine or "", ranks, given.collective or "")
        except InputError as error:
            if given.machine or len(given.files) == 1:
                raise
            outside.append(Outside(table.source, len(table.rows), str(error)))
            continue
        found, left = compare_table(there, placed, in_place=given.in_place, options=options)
        outside += left
        tables.append(_table(there, placed, why, found) | {"first_row": len(rows)})
        rows += found
    data = _data(rows, outside, tables)
    data["winners"] = [w._asdict() for w in winners(rows)]
    return Answer(DONE, data, _text(data))


def _table(there: "Topology", table: "Table", why: str, rows: "list[Compared]") -> dict[str, Any]:
    from ops.libraries.nccl.protocol_cost import Pace, family_of
    from ops.measured.comparison import verdict

    pairs = table.kind == "osu"
    family, found = None if pairs else family_of(there), verdict(rows)
    return {
        "source": table.source,
        "machine": there.name,
        "machine_from": why,
        "ranks": table.ranks,
        "family": family.name if family else None,
        "parameters": {} if pairs else (family.pace if family else Pace()).as_dict(),
        "rows": found.rows,
        "median_error_below_1MiB": found.small,
        "median_error_from_1MiB": found.large,
    }


def _data(rows: "list[Compared]", outside: "list[Outside]", tables: list[dict[str, Any]]) -> dict[str, Any]:
    from ops.measured.comparison import verdict

    families: dict[str, list[Compared]] = {}
    for row in rows:
        families.setdefault(row.machine.partition(":")[0], []).append(row)
    verdicts = {name: verdict(mine) for name, mine in families.items()}
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
        "families": {
            name: {"rows": v.rows, "median_error_below_1MiB": v.small, "median_error_from_1MiB": v.large}
            for name, v in verdicts.items()
        },
        "outside": [{"source": one.source, "rows": one.rows, "why": one.why} for one in outside],
    }


def _text(data: dict[str, Any]) -> str:
    from sim.units import fmt_size, fmt_time

    lines = []
    for table in data["tables"]:
        pace = f"pace of {table['family'] or 'NCCL itself'}" if table["parameters"] else "links alone"
        why = "as given" if table["machine_from"] == "given" else f"by {table['machine_from']}"
        lines.append(f"{table['source']}: {table['machine']} ({why}), {table['ranks']} ranks, {pace}")
        for row in data["rows"][table["first_row"] : table["first_row"] + table["rows"]]:
            name = f"{row['algorithm']:12} " if row["algorithm"] else ""
            lines.append(
                f"  {row['collective']:14} {name}{fmt_size(row['size_bytes']):>9}"
                f"  measured {fmt_time(row['measured_s']):>9}  simulated {fmt_time(row['simulated_s']):>9}"
                f"  {row['error']:+7.1%}  {row['simulated_as']}"
            )
    for name, one in data["families"].items():
        small, large = (one[key] for key in ("median_error_below_1MiB", "median_error_from_1MiB"))
        told = [
            f"{value:.1%} {where}"
            for value, where in ((small, "below 1 MiB"), (large, "from 1 MiB on"))
            if value is not None
        ]
        lines.append(f"{name}: {one['rows']} rows, median error {', '.join(told)}")
    if data["winners"]:
        right = sum(w["measured"] == w["simulated"] for w in data["winners"])
        lines.append(f"winner right in {right} of {len(data['winners'])} cases that are more than 25 % apart")
    lines += [f"outside: {one['source']}: {one['rows']} rows: {one['why']}" for one in data["outside"]]
    return "\n".join(lines)
