"""CSV with named columns, in any order and any letters."""

import csv
import io
from collections.abc import Collection, Iterator

from sim.base.formats import LOOKED_AT
from sim.errors import InputError


def has_columns(text: str, needed: Collection[str]) -> bool:
    """Whether the first line names these columns."""
    return set(needed) <= set(map(_column, text[:LOOKED_AT].lstrip().partition("\n")[0].split(",")))


def rows_of(text: str, name: str, columns: Collection[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Every row with its line and these columns; what a short row lacks is empty. Raises InputError."""
    lines = csv.reader(io.StringIO(text.lstrip()))
    try:
        head = list(map(_column, next(lines)))
        for cells in filter(None, lines):
            yield lines.line_num, dict.fromkeys(columns, "") | dict(zip(head, cells, strict=False))
    except csv.Error as error:
        raise InputError(f"{name}, line {lines.line_num}: no row of CSV ({error}): correct or drop the line") from None


def _column(word: str) -> str:
    return word.strip().strip('"').lower()
