"""Quantiles of times per named algorithm, as CSV: `collective, algorithm, buffers, bytes, …, median_us`.

The columns are those that summaries of the PICO benchmark suite (github.com/HLC-Lab/pico) have here.
"""

import math
import re

from ops.measured.formats import reader
from ops.measured.formats.columns import has_columns, rows_of
from ops.measured.rows import Measured, Table
from sim.base.numbers import real, whole
from sim.errors import InputError
from sim.units import us

NEEDED = ("collective", "algorithm", "bytes", "median_us")
NAMES = {"bcast": "broadcast"}


def matches(text: str) -> bool:
    """Whether the first line names these columns."""
    return has_columns(text, NEEDED)


@reader("named", "a list of named algorithms (CSV)", matches=matches, endings=("csv",))
def read(text: str, *, name: str) -> list[Table]:
    """One table; a file name like `…-16n-x4…` or `…torus-2x2x2` tells nodes and ranks per node. Raises InputError."""
    rows = []
    place = re.search(r"(\d{1,9})n-x(\d{1,9})", name)
    each = int(place[2]) if place else 0
    grid = re.search(r"torus-(\d{1,9}(?:x\d{1,9}){1,9})", name)
    ranks = int(place[1]) * each if place else math.prod(map(int, grid[1].split("x"))) if grid else 0
    for number, row in rows_of(text, name, NEEDED):
        size, median = whole(row["bytes"]), real(row["median_us"])
        if size is None or median is None:
            raise InputError(f"{name}, line {number}: bytes or median_us is no number: correct or drop the line")
        if size > 0 and median > 0:
            collective = NAMES.get(row["collective"], row["collective"])
            rows.append(Measured(collective, ranks, size, median * us, 0.0, row["algorithm"], number))
    if not rows:
        raise InputError(f"{name} holds no row with bytes and a time: give the whole file")
    return [Table(name, "named", tuple(rows), ranks, each, words=(grid[1],) if grid else ())]
