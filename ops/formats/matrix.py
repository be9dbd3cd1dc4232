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
from sim.errors import InputError, Message
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
        raise InputError("matrix.too_large", file=name, bytes=counts.sum())
    schedule = ALGORITHMS["alltoallv.linear"].schedule(len(counts))
    return replace(schedule, name=f"alltoallv of {name}"[:80], fixed_bytes=counts[schedule.src, schedule.dst])


def read_counts(text: str, name: str) -> NDArray[np.float64]:
    """The matrix itself, as whole numbers. Raises ScheduleProblem naming the line."""
    rows: list[list[int]] = []
    width = 0
    for number, cells in _lines(text):
        place = Message("place.line", file=name, line=number)
        width = width or len(cells)
        if len(cells) != width:
            malformed(place, "matrix.row_length", count=len(cells), before=width)
        row = [count for cell in cells if (count := whole(cell)) is not None and count >= 0]
        if len(row) < len(cells):
            wrong = next(cell for cell in cells if (count := whole(cell)) is None or count < 0)
            malformed(place, "matrix.number", word=wrong)
        if len(cells) > MOST_RANKS:
            malformed(place, "matrix.too_many_ranks", count=len(cells), most=MOST_RANKS)
        rows.append(row)
    if len(rows) != width or width < 2:
        malformed(name, "matrix.not_square", rows=len(rows), columns=width)
    return np.array(rows, np.float64)


@writer("matrix")
def write(schedule: Schedule, *, size: Size = 0) -> str:
    """How many bytes each rank sends to each other. Raises InputError for what moves through switches."""
    if schedule.switches:
        raise InputError("matrix.switches", schedule=schedule.name)
    moved = message_bytes(schedule, size)
    total = np.zeros((schedule.n, schedule.n))
    copies = (schedule.src != schedule.dst) | (schedule.op == COPY)
    np.add.at(total, (schedule.src[copies], schedule.dst[copies]), moved[copies])
    return "".join(" ".join(f"{round(count)}" for count in row) + "\n" for row in total)
