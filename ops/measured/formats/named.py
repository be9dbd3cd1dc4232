"""Quantiles of times per named algorithm, as CSV: `collective, algorithm, buffers, bytes, …, median_us`.

The columns are those that summaries of the PICO benchmark suite (github.com/HLC-Lab/pico) have here.
"""

import math
import re
from collections.abc import Iterable, Mapping
from statistics import median

from ops.measured.formats import reader
from ops.measured.formats.columns import has_columns, rows_of
from ops.measured.rows import Measured, Table
from sim.base.numbers import real, whole
from sim.errors import InputError
from sim.units import us

NEEDED = ("collective", "algorithm", "bytes", "median_us")
NAMES = {"bcast": "broadcast"}
NOTED = {"raben is modified allg scatter is old raben": {"allgather_reduce_ompi": "rabenseifner_ompi"}}
"""What labels mean in rows of a note: the suite ran a library whose numbers it had given to others."""
IGNORED = "the library ran its own choice whatever the label says"
SAME, APART = 1.03, 1.5
"""A label was ignored whose times are the library's own choice within so much (median), and so far at some size from
those of the suite's implementation of the same algorithm in the same run."""

Labels = Mapping[str, Mapping[int, Measured]]
"""One run's rows of a collective, by label and size."""


def matches(text: str) -> bool:
    """Whether the first line names these columns."""
    return has_columns(text, NEEDED)


@reader("named", "a list of named algorithms (CSV)", matches=matches, endings=("csv",))
def read(text: str, *, name: str) -> list[Table]:
    """One table; a file name like `…-16n-x4…` or `…torus-2x2x2` tells nodes and ranks per node. Raises InputError."""
    rows: list[Measured] = []
    runs: dict[tuple[str, str], dict[str, dict[int, Measured]]] = {}
    place = re.search(r"(\d{1,9})n-x(\d{1,9})", name)
    each = int(place[2]) if place else 0
    grid = re.search(r"torus-(\d{1,9}(?:x\d{1,9}){1,9})", name)
    ranks = int(place[1]) * each if place else math.prod(map(int, grid[1].split("x"))) if grid else 0
    for number, row in rows_of(text, name, NEEDED, ("run", "note")):
        size, middle = whole(row["bytes"]), real(row["median_us"])
        if size is None or middle is None:
            raise InputError("csv.bytes_number", file=name, line=number)
        if size > 0 and middle > 0:
            collective = NAMES.get(row["collective"], row["collective"])
            label = NOTED.get(row["note"], {}).get(row["algorithm"], row["algorithm"])
            rows.append(Measured(collective, ranks, size, middle * us, 0.0, label, number))
            runs.setdefault((collective, row["run"]), {}).setdefault(label, {})[size] = rows[-1]
    if not rows:
        raise InputError("csv.no_row_of_bytes", name=name)
    ignored = {row.line for labels in runs.values() for label in labels for row in _ignored(label, labels)}
    unread = ((IGNORED, tuple(sorted(ignored))),) if ignored else ()
    kept = tuple(row for row in rows if row.line not in ignored)
    return [Table(name, "named", kept, ranks, each, words=(grid[1],) if grid else (), unread=unread)]


def _ignored(label: str, labels: Labels) -> Iterable[Measured]:
    """A label's rows of one run, where they are its library's default and not the suite's algorithm of that name."""
    plain, _, library = label.rpartition("_")
    rows, chosen, own = labels[label], labels.get(f"default_{library}", {}), labels.get(f"{plain}_over", {})
    if library == "over" or plain == "default":
        return ()
    near = [_apart(row, chosen[size]) for size, row in rows.items() if size in chosen]
    far = [_apart(row, own[size]) for size, row in rows.items() if size in own]
    return rows.values() if near and far and median(near) < SAME and max(far) > APART else ()


def _apart(one: Measured, other: Measured) -> float:
    return max(one.seconds / other.seconds, other.seconds / one.seconds)
