"""The rows of a sweep on disk: a journal while it runs, a Parquet table when it is done.

Rows are appended to `TABLE.journal` as they are found, a line of JSON each with its checksum, so that what is killed
loses no row. A line that is not what was written is set aside in `TABLE.journal.damaged`, and its cell has no row then.
Closing turns the journal and the table there was into the new table, in one move.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ops.lab.cells import Row
from ops.lab.checksums import CUT_SHORT, LONGEST_LINE, DamageError, checked_table, open_table, opened, sealed
from ops.plan.notation import RENAMED
from sim.base.files.locks import is_at, lock, notice
from sim.base.files.textfile import check_names, open_regular
from sim.base.files.whole_file import clear_unfinished, put_whole, refused, sync_folder, unfinished, write_all
from sim.errors import InputError, Message
from sim.parameters import parse_spec

SCHEMA = pa.schema(
    [
        pa.field("cell", pa.string(), nullable=False),
        ("collective", pa.string()),
        ("algorithm", pa.string()),
        ("settings", pa.string()),
        ("machine", pa.string()),
        ("network", pa.string()),
        ("ranks", pa.int64()),
        ("size_bytes", pa.int64()),
        ("fault", pa.string()),
        ("seed", pa.int64()),
        ("time_s", pa.float64()),
        ("algbw_Bps", pa.float64()),
        ("busbw_Bps", pa.float64()),
        ("bound_s", pa.float64()),
        ("transfers", pa.int64()),
        ("steps", pa.int64()),
        ("instants", pa.int64()),
        ("bottleneck", pa.string()),
        ("bottleneck_share", pa.float64()),
        ("verified", pa.bool_()),
        ("reason", pa.string()),
        ("root", pa.int64()),
        ("counts", pa.string()),
        ("calibration", pa.string()),
        ("nccl", pa.string()),
        ("expected_error", pa.float64()),
        ("exposed_s", pa.float64()),
        ("peak_memory_bytes", pa.float64()),
    ]
)
"""Columns of every table; those of single parameters follow as `machine.KEY` and `settings.KEY`.

`network` is empty where a machine has its own, `root` where that is rank 0.
"""
_LATER = ("network", "root", "counts", "calibration", "nccl", "expected_error", "exposed_s", "peak_memory_bytes")
"""Columns that tables of old do not have."""
_TEXTS = {"machine": "ringside.machines", "algorithm": "ringside.schedules"}
"""Where a table's metadata has the texts of what a column names that came from files."""
AT_ONCE = 10_000
"""Rows of a journal that are read together."""


Texts = Mapping[str, Mapping[str, str]]
"""By column, `machine` or `algorithm`: the texts of what came from files, by their names."""


class DamagedRow(NamedTuple):
    """A line of a journal that is not what was written: its number, what does not fit, and where it stands."""

    line: int
    why: Message
    begin: int
    end: int


class Journal:
    """Open for one sweep at a time. `done` maps every cell that has a row to whether it went well.

    `damaged` are the lines that were set aside, or cut off at the end, when it was opened.
    """

    def __init__(self, table: Path) -> None:
        self.table, self.path = table, table.with_name(table.name + ".journal")
        self._file, self._synced = _locked(self.path), monotonic()
        self.damaged: list[DamagedRow] = []
        try:
            for path in (self.table, self.path):
                clear_unfinished(path)
            self.done = dict(_cells_done(table))
            self._recover()
        except OSError as error:
            self.leave()
            raise refused(self.path, error) from None
        except InputError:
            self.leave()
            raise

    def add(self, rows: Iterable[Row]) -> None:
        """Keep rows: no killing of this process can lose them then, and no power cut a second later.

        Raises InputError where they cannot be written; what was kept before stays.
        """
        rows = list(rows)
        before = self._file.seek(0, os.SEEK_END)
        try:
            write_all(self._file.fileno(), b"".join(map(sealed, rows)))
            if monotonic() - self._synced > 1.0:
                os.fsync(self._file.fileno())
                self._synced = monotonic()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(before)
            raise _unkept(self.path, error) from None
        self.done |= {row["cell"]: row.get("reason") is None for row in rows}

    def close(self, order: Sequence[str], texts: Texts) -> pa.Table:
        """Write the table, the cells of `order` first and as ordered, and end the journal.

        Raises InputError where the table cannot be written, and where rows were damaged since they were; the journal
        stays then.
        """
        before = [_as_rows(read_table(self.table), self.table)] if self.table.exists() else []
        table = _one_notation(pa.concat_tables([SCHEMA.empty_table(), *before, *self._parts()]))
        table = _in_order(table, order)
        table = _with_parameters(table, texts)
        try:
            os.fsync(self._file.fileno())
            put_whole(self.table, checked_table(table))
            self.path.unlink()
            sync_folder(self.path.parent)
        except OSError as error:
            raise _unkept(self.table, error) from None
        self._file.close()
        return table

    def leave(self) -> None:
        """Stop here; the journal stays for the next time, unless it is empty."""
        if not self._file.closed:
            with contextlib.suppress(OSError):
                if not os.fstat(self._file.fileno()).st_size:
                    self.path.unlink()
            self._file.close()

    def _recover(self) -> None:
        """Take in the rows of whole lines, and keep the journal to these."""
        for row in self._lines():
            if isinstance(row, DamagedRow):
                self.damaged.append(row)
            else:
                self.done[row["cell"]] = row.get("reason") is None
        if not self.damaged:
            return
        *_, last = self.damaged
        size = os.fstat(self._file.fileno()).st_size
        if len(self.damaged) == 1 and last.end == size and last.why.text == CUT_SHORT:
            self._file.truncate(last.begin)
        else:
            self._set_aside()

    def _set_aside(self) -> None:
        """Move damaged lines to a file of their own, and put a journal without them in this one's place."""
        aside = self.path.with_name(self.path.name + ".damaged")
        with aside.open("ab", buffering=0) as file:
            for _, _, begin, end in self.damaged:
                self._copy(begin, end, file)
            os.fsync(file.fileno())
        beside = _locked(unfinished(self.path))
        try:
            starts = [0, *(line.end for line in self.damaged)]
            ends = [*(line.begin for line in self.damaged), os.fstat(self._file.fileno()).st_size]
            for begin, end in zip(starts, ends, strict=True):
                self._copy(begin, end, beside)
            os.fsync(beside.fileno())
            os.replace(beside.name, self.path)  # locked already: nobody can come between
        except BaseException:
            Path(beside.name).unlink(missing_ok=True)
            beside.close()
            raise
        sync_folder(self.path.parent)
        self._file.close()
        self._file = beside

    def _copy(self, begin: int, end: int, to: IO[bytes]) -> None:
        self._file.seek(begin)
        while begin < end and (data := self._file.read(min(end - begin, LONGEST_LINE))):
            write_all(to.fileno(), data)
            begin += len(data)

    def _lines(self) -> Iterator[Row | DamagedRow]:
        """Every line's row, or what is wrong with it."""
        self._file.seek(0)
        end = number = 0
        with open(self._file.fileno(), "rb", closefd=False) as file:
            while line := file.readline(LONGEST_LINE + 1):
                begin, number = end, number + 1
                end += len(line)
                try:
                    yield opened(line, SCHEMA)
                except DamageError as error:
                    while len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                        line = file.readline(LONGEST_LINE + 1)
                        end += len(line)
                    yield DamagedRow(number, error.message, begin, end)

    def _parts(self) -> Iterator[pa.Table]:
        """The journal as tables of some rows each. Raises InputError for rows that were damaged meanwhile."""
        lines = self._lines()
        while some := list(islice(lines, AT_ONCE)):
            for row in some:
                if isinstance(row, DamagedRow):
                    raise InputError("table.damaged_meanwhile", path=self.path, line=row.line, why=row.why)
            yield pa.Table.from_pylist(some, SCHEMA)


def read_table(path: Path) -> pa.Table:
    """The table of a sweep. Raises InputError for a file that is none, or not what was written."""
    if not os.path.exists(path):  # unlike pathlib it has an answer for a name that is too long
        raise InputError("table.missing", path=path)
    table = _read_table(path)
    for column in ("algorithm", "settings", "machine", "network", "fault", "bottleneck"):
        check_names(pc.unique(table[column]).drop_null().to_pylist(), column)
    return table


def texts_of(table: pa.Table, column: str) -> dict[str, str]:
    """The text of every machine, or every algorithm, in a table that came from a file; `column` says which."""
    encoded = (table.schema.metadata or {}).get(_TEXTS[column].encode(), b"{}")
    texts: dict[str, str] = json.loads(encoded)
    return texts


def _unkept(path: Path, error: OSError) -> InputError:
    """What to tell of rows that cannot be written; those before stay."""
    return refused(path, error, "table.make_room")


def _locked(path: Path) -> IO[bytes]:
    """A file that this process alone writes, for as long as it is open.

    Whoever ended it between our opening and locking has left us a file that is no longer there: then it is made anew.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = path.open("a+b", buffering=0)
            holder = lock(file)
            if holder == "theirs":
                file.close()
                raise InputError("table.busy", path=path) from None
            if is_at(path, file):
                if holder == "none":
                    notice(f"{path} is on a file system without locks: let no other sweep write this table meanwhile")
                return file
            file.close()
    except OSError as error:
        raise InputError("table.unwritable", path=path, why=error.strerror) from None


def _cells_done(table: Path) -> Iterator[tuple[str, bool]]:
    if table.exists():
        columns = _read_table(table, ["cell", "reason"])
        well = columns["reason"].is_null().to_pylist()
        yield from zip(columns["cell"].to_pylist(), well, strict=True)


def _read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    try:
        with open_regular(path) as file:
            data = file.read()
    except OSError as error:
        raise InputError("table.unreadable", path=path, why=error.strerror) from None
    try:
        table = open_table(data, columns)
    except DamageError as error:
        if b"PAR1" not in (data[:4], data[-4:]):
            raise InputError("table.not_parquet", path=path) from None
        raise InputError("table.damaged", path=path, why=error, kept=_still_kept(path)) from None
    today = [RENAMED.get(name, name) for name in table.column_names]
    table = table.rename_columns(today).replace_schema_metadata(table.schema.metadata)
    for name in _LATER if columns is None else ():
        if name not in table.column_names:
            table = table.append_column(SCHEMA.field(name), pa.nulls(table.num_rows, SCHEMA.field(name).type))
    missing = set(columns or SCHEMA.names) - set(table.column_names)
    if missing:
        raise InputError("table.columns", path=path, columns=sorted(missing))
    return table


def _still_kept(path: Path) -> Message | str:
    """How many rows the journal beside a damaged table has, which sweeping again does not run anew."""
    rows = 0
    with contextlib.suppress(OSError), path.with_name(path.name + ".journal").open("rb") as file:
        while line := file.readline(LONGEST_LINE + 1):
            with contextlib.suppress(DamageError):
                rows += bool(opened(line, SCHEMA))
    return Message("table.journal_keeps", rows=rows) if rows else ""


def _as_rows(table: pa.Table, path: Path) -> pa.Table:
    try:
        return table.select(SCHEMA.names).cast(SCHEMA)
    except pa.ArrowException as error:
        why = str(error).split(". ")[0][:100]
        raise InputError("table.other_kind", path=path, why=why) from None


def _one_notation(table: pa.Table) -> pa.Table:
    """Tables of old have ` + ` between the faults of a row."""
    at = table.schema.get_field_index("fault")
    return table.set_column(at, SCHEMA.field("fault"), pc.replace_substring(table["fault"], " + ", ";"))


def _in_order(table: pa.Table, order: Sequence[str]) -> pa.Table:
    """The newest row of every cell, those of `order` first."""
    newest = {cell: i for i, cell in enumerate(table["cell"].to_pylist())}
    first = [newest.pop(cell) for cell in order if cell in newest]
    return table.take(pa.array([*first, *newest.values()], pa.int64())).combine_chunks()


def _with_parameters(table: pa.Table, texts: Texts) -> pa.Table:
    """Single parameters as columns of their own, as texts, and the machines' files beside them."""
    for column in ("machine", "settings"):
        encoded = table[column].combine_chunks().dictionary_encode()
        words: list[Any] = encoded.dictionary.to_pylist()
        specs = [
            {} if word in texts.get("machine", {}) else parse_spec(word if column == "machine" else f":{word}")[1]
            for word in words
        ]
        for key in dict.fromkeys(key for spec in specs for key in spec):
            values = pa.array([spec.get(key) for spec in specs], pa.string())
            table = table.append_column(f"{column}.{key}", values.take(encoded.indices))
    kept = {}
    for column, key in _TEXTS.items():
        used = set(table[column].unique().to_pylist())
        if in_use := {name: text for name, text in texts.get(column, {}).items() if name in used}:
            kept[key] = json.dumps(in_use)
    return table.replace_schema_metadata(kept or None)
