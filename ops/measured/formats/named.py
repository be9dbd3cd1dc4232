"""Quantiles of times per named algorithm, as CSV: `collective, algorithm, buffers, bytes, …, median_us`.

The columns are those that summaries of the PICO benchmark suite (github.com/HLC-Lab/pico) have here.
"""

import csv
import io
import re

from ops.measured.formats import reader
from ops.measured.rows import Measured, Table
from sim.errors import InputError
from sim.units import us

NEEDED = ("collective", "algorithm", "bytes", "median_us")
NAMES = {"bcast": "broadcast"}


def matches(text: str) -> bool:
    """Whether the first line names these columns."""
    head = text.lstrip().partition("\n")[0].lower().split(",")
    return all(column in [word.strip() for word in head] for column in NEEDED)


@reader("named", "a list of named algorithms (CSV)", matches=matches, endings=("csv",))
def read(text: str, *, name: str) -> list[Table]:
    """One table; nodes and ranks per node are taken from a file name like `…-16n-x4…`. Raises InputError."""
    rows = []
    place = re.search(r"(\d+)n-x(\d+)", name)
    each = int(place[2]) if place else 0
    ranks = int(place[1]) * each if place else 0
    grid = re.search(r"torus-(\d+(?:x\d+)+)", name)
    for number, row in enumerate(csv.DictReader(io.StringIO(text.lstrip())), 2):
        try:
            size, median = int(row["bytes"]), float(row["median_us"])
        except (TypeError, ValueError):
            raise InputError(
                f"{name}, line {number}: bytes or median_us is no number: correct or drop the line"
            ) from None
        if size > 0 and median > 0:
            collective = NAMES.get(row["collective"], row["collective"])
            rows.append(Measured(collective, ranks, size, median * us, 0.0, row["algorithm"], number))
    if not rows:
        raise InputError(f"{name} holds no row with bytes and a time: give the whole file")
    return [Table(name, "named", tuple(rows), ranks, each, words=(grid[1],) if grid else ())]
