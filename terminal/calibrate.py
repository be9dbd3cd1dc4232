"""`calibrate`: fit the pace of machines to measured tables."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from sim.errors import InputError
from terminal import DONE, Answer, argument, command
from terminal.arguments import write

if TYPE_CHECKING:
    from ops.measured.calibration import Fitted, Sample


@command(
    argument("files", nargs="*", metavar="FILE", help="tables as `validate` reads them, of one family of machines"),
    argument("--machine", metavar="SPEC", help="where they were measured; found in the files if left out"),
    argument("--name", help="what to call the family; the machine's name if left out"),
    argument("-o", "--output", metavar="FILE.json", help="also write the family, as families.json keeps it"),
)
def calibrate(given: argparse.Namespace) -> Answer:
    """One set of factors on NCCL's constants that fits all given tables of a family of machines."""
    from ops.measured.calibration import MOST_RANKS, Sample, fit, thinned
    from ops.measured.files import place, read_file

    if not given.files:
        raise InputError("nothing to fit is given: name files with measurements of one family of machines")
    samples: list[Sample] = []
    for table in (table for file in given.files for table in read_file(file)):
        there, placed, _ = place(table, given.machine or "")
        few = thinned(placed)
        if placed.ranks <= MOST_RANKS and few.rows:
            samples.append(Sample(there, few))
    machines = {sample.topology.name.partition(":")[0] for sample in samples}
    if len(machines) != 1:
        told = " and ".join(sorted(machines)) or f"none with up to {MOST_RANKS} ranks"
        raise InputError(f"these tables are of {told}: give tables of one family, or add --machine")
    fitted = fit(samples, told=lambda text: print(text, file=sys.stderr))  # noqa: T201 it takes minutes
    entry = _entry(samples, fitted, sorted(machines))
    name = given.name or entry["machines"][0]
    if given.output:
        write(given.output, json.dumps({name: entry}, indent=2) + "\n")
    return Answer(DONE, {"family": name} | entry, _text(name, entry))


def _entry(samples: "list[Sample]", fitted: "Fitted", machines: list[str]) -> dict[str, Any]:
    from ops.measured.comparison import verdict

    found = verdict(list(fitted.rows))
    return {
        "machines": machines,
        "pace": {key: float(f"{value:.4g}") for key, value in fitted.pace.as_dict().items()},
        "fitted_to": [sample.table.source.rpartition("/")[2] for sample in samples],
        "rows": found.rows,
        "median_error_below_1MiB": found.small and round(found.small, 4),
        "median_error_from_1MiB": found.large and round(found.large, 4),
        "objective": {"before": round(fitted.before, 4), "after": round(fitted.after, 4)},
    }


def _text(name: str, entry: dict[str, Any]) -> str:
    lines = [f"{name}: {entry['rows']} rows of {', '.join(entry['fitted_to'])}"]
    lines += [f"  {key:10} {value:.4g}" for key, value in entry["pace"].items()]
    small, large = entry["median_error_below_1MiB"], entry["median_error_from_1MiB"]
    lines += [f"  median error below 1 MiB {small:.1%}"] if small is not None else []
    lines += [f"  median error from 1 MiB on {large:.1%}"] if large is not None else []
    return "\n".join(lines)
