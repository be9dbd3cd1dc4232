"""Tables of the OSU micro-benchmarks: bandwidth and latency of pairs, latency of collectives.

Format: `# OSU MPI… Test v…` lines, then a size and a number a line (mvapich.cse.ohio-state.edu/benchmarks).
"""

import re

from ops.measured.formats import reader
from ops.measured.launcher import launched
from ops.measured.rows import Measured, Table
from sim.base.numbers import real, whole
from sim.base.pasted import pasted_lines
from sim.errors import InputError
from sim.units import us

TITLE = re.compile(
    r"(?:^|#\s{0,9})OSU\s{1,9}\S{0,20}MPI\S{0,20}\s{1,9}(.{0,80}?)\s{1,9}(?:Latency\s{1,9})?Test\b", re.IGNORECASE
)
ROW = re.compile(r"^\s*(\d+)\s+(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b", re.IGNORECASE)
COLLECTIVES = (
    (r"all-?to-?all", "alltoall"), (r"all-?reduce", "allreduce"), (r"all-?gather", "allgather"),
    (r"reduce[-_ ]?scatter", "reduce_scatter"), (r"broadcast", "broadcast"), (r"reduce", "reduce"),
    (r"scatter", "scatter"), (r"gather", "gather"), (r"bandwidth", "bandwidth"), (r"", "latency"),
)  # fmt: skip
"""What the title calls a test; latency of a pair has no more words."""
PAIR = re.compile(r"(?:HIP|CUDA|ROCR)_VISIBLE_DEVICES\s{0,9}=\s{0,9}(\d{1,6})\s{0,9},\s{0,9}(\d{1,6})(?!\d)")
WINDOW = 64
"""Messages under way at once in `osu_bw`, unless -W says otherwise."""


def matches(text: str) -> bool:
    """Whether an OSU table is in it."""
    return any(TITLE.search(line.text) for line in pasted_lines(text[: 1 << 16]))


@reader("osu", "an OSU table", matches=matches, endings=("txt", "log", "out"))
def read(text: str, *, name: str) -> list[Table]:
    """Every table of a file. Sizes of collectives become those of nccl-tests once the ranks are known."""
    tables: list[Table] = []
    rows: list[Measured] = []
    what, title, pair, processes, lines = "", "", "", 0, pasted_lines(text)
    last = 0

    def close() -> None:
        if rows:
            window = WINDOW if what == "bandwidth" else 1
            ranks = 2 if what in ("bandwidth", "latency") else processes
            ranks_of_pair = {"pair": pair} if pair and ranks else {}
            tables.append(Table(name, "osu", tuple(rows), ranks, words=(title,), messages=window, forced=ranks_of_pair))
            rows.clear()

    for at, (number, _, line) in enumerate(lines, 1):
        heading = TITLE.search(line)
        if (devices := PAIR.search(line)) is not None:
            close()
            pair = f"{devices[1]},{devices[2]}"
        if heading is not None:
            close()
            processes = launched("\n".join(line.text for line in lines[last:at])) or processes
            last = at
            title = line[heading.start() :].strip("# ").strip()
            what = next(name for pattern, name in COLLECTIVES if re.search(pattern, heading[1], re.IGNORECASE))
        elif what and (row := ROW.match(line)) is not None:
            size, value = whole(row[1]) or 0, real(row[2]) or 0.0
            if size > 0 and value > 0:
                seconds = size / (value * 1e6) if what == "bandwidth" else value * us
                rows.append(Measured(what, 0, size, seconds, line=number))
                last = at
    close()
    if not tables:
        raise InputError("osu.no_row", name=name)
    return tables
