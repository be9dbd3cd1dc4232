"""CSV with named columns, in any order and any letters, as people paste it."""

import csv
from collections.abc import Collection, Iterator

from sim.base.pasted import PastedLine, pasted_lines
from sim.errors import InputError

_LOOKED_AT = 1 << 16
"""Characters in which the line of names must begin."""


def has_columns(text: str, needed: Collection[str]) -> bool:
    """Return whether a line names these columns, with no row above it."""
    above = text[:_LOOKED_AT]
    return all(word in above.lower() for word in needed) and _head(pasted_lines(above), needed) >= 0


def rows_of(
    text: str, name: str, needed: Collection[str], others: Collection[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield every row with its line, the columns that are needed and `others`; what a short row lacks is empty.

    Raises InputError for what is no CSV.
    """
    lines = pasted_lines(text)
    at = max(0, _head(lines, needed))
    end = max((i + 1 for i, line in enumerate(lines) if "," in line.text), default=at)
    head = _cells(lines[at].text.lower())
    reader = csv.reader((line.text for line in lines[at + 1 : end]), skipinitialspace=True)
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                row = dict(zip(head, map(str.strip, cells), strict=False))
                yield lines[at + reader.line_num].number, dict.fromkeys((*needed, *others), "") | row
    except csv.Error as error:
        number = lines[at + reader.line_num].number
        raise InputError("csv.no_row", file=name, line=number, error=error) from None


def _head(lines: list[PastedLine], needed: Collection[str]) -> int:
    """Return which line names the columns; -1 where none does."""
    return next((i for i, line in enumerate(lines) if set(needed) <= set(_cells(line.text.lower()))), -1)


def _cells(line: str) -> list[str]:
    return [word.strip().strip('"').strip() for word in line.split(",")]
