"""Rows and tables that know whether they are still what was written.

A line of a journal begins with a checksum of what follows, as the first key of its JSON: whatever is cut out of a
journal, a line that still begins as one carries a checksum to be held to. A table holds one of all its bytes in
front of Parquet's footer, where readers expect nothing: Parquet finds everything by its place, so DuckDB, pandas and
Arrow read the file as if it were not there.
"""

import hashlib
import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ops.plan.notation import renamed
from sim.errors import ReportedError

CUT_SHORT = "row.cut_short"
KEY = "check"
LONGEST_LINE = 1 << 20
"""Bytes of a line; no row comes near it."""
_DIGITS = 16
_MARK = b"\xff\xfeRingside\x00sum\xfe\xff\x00"
"""On both sides of a table's checksum, so that a broken bit leaves one; no text has such bytes."""
_FOOTER = 8
"""Bytes at a Parquet file's very end: the length of its footer, and PAR1."""
_DIGEST = 32


class DamageError(ReportedError, ValueError):
    """What does not fit in a line or a table."""


def sealed(row: dict[str, Any]) -> bytes:
    r"""A row as a line with its checksum.

    >>> sealed({"cell": "c0"})
    b'{"check": "9dc031b599c7fbd8", "cell": "c0"}\n'
    """
    body = json.dumps(row, allow_nan=False)[1:].encode()
    return _head(_sum(body)) + body + b"\n"


def opened(line: bytes, schema: pa.Schema) -> dict[str, Any]:
    """The row of a line, as it was written. Raises DamageError for any other line.

    Lines of old have no checksum, or have it at their end.
    """
    if len(line) > LONGEST_LINE:
        raise DamageError("row.too_long")
    if not line.endswith(b"\n"):
        raise DamageError(CUT_SHORT)
    try:
        row = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise DamageError("row.no_json") from None
    if not isinstance(row, dict):
        raise DamageError("row.no_row")
    if KEY in row:
        check = str(row.pop(KEY)).encode("ascii", "replace").decode()
        head, tail = _head(check), f', "{KEY}": "{check}"}}\n'.encode()
        now = line.startswith(head) and check == _sum(line[len(head) : -1])
        of_old = line.endswith(tail) and check == _sum(line[: -len(tail)])
        if not (now or of_old):
            raise DamageError("row.checksum")
    row = renamed(row)
    _check_values(row, schema)
    return row


def checked_table(table: pa.Table) -> bytes:
    """A table as a Parquet file with checksums, of every page and of the whole."""
    out = pa.BufferOutputStream()
    pq.write_table(table, out, row_group_size=100_000, write_page_checksum=True)
    data: bytes = out.getvalue().to_pybytes()
    footer = len(data) - _FOOTER - int.from_bytes(data[-_FOOTER:-4], "little")
    return data[:footer] + _MARK + _digest(data) + _MARK + data[footer:]


def open_table(data: bytes, columns: list[str] | None = None) -> pa.Table:
    """The table that a Parquet file's bytes hold; one of old, or of another program, has no checksum of the whole.

    Raises DamageError for bytes that are not those that were written.
    """
    first, last = data.find(_MARK), data.rfind(_MARK)
    if first >= 0 or last >= 0:
        begin, end = first, last + len(_MARK)
        size = 2 * len(_MARK) + _DIGEST
        digest = data[begin + len(_MARK) : last]
        if end - begin != size or digest != _digest(data[:begin], data[end:]):
            raise DamageError("row.bytes")
    try:
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
            return file.read(columns)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamageError(" ".join(str(error).split()).split(". ")[0][:100]) from None


def _head(check: str) -> bytes:
    return f'{{"{KEY}": "{check}", '.encode()


def _sum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_DIGITS // 2).hexdigest()


def _digest(*parts: bytes) -> bytes:
    whole = hashlib.blake2b(digest_size=_DIGEST)
    for part in parts:
        whole.update(part)
    return whole.digest()


def _refuse(word: str) -> float:
    raise ValueError(word)


def _check_values(row: dict[str, Any], schema: pa.Schema) -> None:
    """Raise DamageError for a row that could not stand in a table of this schema."""
    if not isinstance(row.get("cell"), str) or not row["cell"]:
        raise DamageError("row.no_cell")
    for name, value in row.items():
        at = schema.get_field_index(name)
        if at < 0:
            raise DamageError("row.no_column", name=name)
        if value is not None and not _fits(value, schema.field(at).type):
            raise DamageError("row.column_type", name=name, type=schema.field(at).type)


def _fits(value: object, kind: pa.DataType) -> bool:
    if pa.types.is_boolean(kind):
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if pa.types.is_integer(kind):
        return isinstance(value, int) and -(1 << 63) <= value < 1 << 63
    if pa.types.is_floating(kind):
        if isinstance(value, int):
            return abs(value) <= 1 << 53  # Arrow takes no larger one for a number with a point
        return isinstance(value, float) and abs(value) < 1e300 and math.isfinite(value)
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)
