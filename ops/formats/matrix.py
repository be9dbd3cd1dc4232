"""A square matrix of numbers as an alltoallv: row r, column d is how many bytes rank r sends to rank d.

CommBench's pattern files are written so; their diagonals say what a rank keeps for itself.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ops.formats import malformed, message_bytes, reader, writer
from ops.registry import ALGORITHMS
from sim.base.numbers import whole
from sim.base.pasted import bare_lines
from sim.errors import InputError
from sim.parameters import Bounds
from sim.schedule import COPY, Schedule
from sim.units import LARGEST_SIZE, Size

MOST_RANKS = 2048
_NUMBERS = re.compile(r"[\s,;]*[-+]?[0-9][0-9eE.+\-,;\s]*")


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with their line numbers; lines that begin with # are comments."""
    for number, line in enumerate(bare_lines(text).splitlines(), 1):
        line = line.strip()
        if line and not line.startswith("#"):
            yield number, re.split(r"[\s,;]+", line.strip(",; \t"))


def _looks_like_one(text: str) -> bool:
    lines = [line for line in bare_lines(text).splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines) and all(_NUMBERS.fullmatch(line) for line in lines[:3])


@reader("matrix", "a square matrix of byte counts (text)", matches=_looks_like_one, precedence=-1)
def read(text: str, *, name: str, unit: Annotated[int, Bounds(1, 1 << 40)] = 1) -> Schedule:
    """`alltoallv.linear` with the matrix's counts, each of `unit` bytes. Raises InputError."""
    counts = read_counts(text, name) * unit
    if counts.sum() > LARGEST_SIZE:
        raise InputError(f"{name}: {counts.sum():g} bytes are more than 1 PiB: give a smaller unit")
    schedule = ALGORITHMS["alltoallv.linear"].schedule(len(counts))
    return replace(schedule, name=f"alltoallv of {name}"[:80], fixed_bytes=counts[schedule.src, schedule.dst])


def read_counts(text: str, name: str) -> NDArray[np.float64]:
    """The matrix itself, as whole numbers. Raises ScheduleProblem naming the line."""
    rows: list[list[int]] = []
    width = 0
    for number, cells in _lines(text):
        place = f"{name}, line {number}"
        width = width or len(cells)
        if len(cells) != width:
            malformed(place, f"{len(cells)} numbers in a row, but {width} in the rows before: make the matrix square")
        row = [count for cell in cells if (count := whole(cell)) is not None and count >= 0]
        if len(row) < len(cells):
            wrong = next(cell for cell in cells if (count := whole(cell)) is None or count < 0)
            malformed(place, f"{wrong[:40]!r} is no whole number of 0 or more: write how many the rank sends")
        if len(cells) > MOST_RANKS:
            malformed(place, f"{len(cells)} ranks are more than {MOST_RANKS}: give a smaller matrix")
        rows.append(row)
    if len(rows) != width or width < 2:
        malformed(name, f"{len(rows)} rows of {width} numbers are no square matrix of 2 ranks or more: complete it")
    return np.array(rows, np.float64)


@writer("matrix")
def write(schedule: Schedule, *, size: Size = 0) -> str:
    """How many bytes each rank sends to each other. Raises InputError for what moves through switches."""
    if schedule.switches:
        raise InputError(f"{schedule.name} cannot be written as a matrix: switches add and copy in it")
    moved = message_bytes(schedule, size)
    total = np.zeros((schedule.n, schedule.n))
    copies = (schedule.src != schedule.dst) | (schedule.op == COPY)
    np.add.at(total, (schedule.src[copies], schedule.dst[copies]), moved[copies])
    return "".join(" ".join(f"{round(count)}" for count in row) + "\n" for row in total)
