"""The rows of a sweep on disk: a journal while it runs, a Parquet table when it is done.

Rows are appended to `TABLE.journal` as they are found, a line of JSON each, so that what is killed loses no row; a
line cut short by it is dropped. Closing turns the journal and the table there was into the new table, in one move.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet as pq

from ops.lab.cells import Row
from sim.errors import InputError
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
        ("trouble", pa.string()),
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
    ]
)
"""Columns of every table; those of single parameters follow as `machine.KEY` and `settings.KEY`.

`network` is empty where a machine has its own.
"""


class Journal:
    """Open for one sweep at a time. `done` maps every cell that has a row to whether it went well."""

    def __init__(self, table: Path) -> None:
        self.table, self.path = table, table.with_name(table.name + ".journal")
        self._file, self._synced = _locked(self.path), monotonic()
        try:
            self.done = dict(_cells_done(table))
            self.done |= {row["cell"]: row["reason"] is None for row in self._recover()}
        except InputError:
            self.leave()
            raise

    def add(self, rows: Iterable[Row]) -> None:
        """Keep rows: no killing of this process can lose them then, and no power cut a second later."""
        rows = list(rows)
        lines = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
        self._file.write(lines.encode())
        self._file.flush()
        if monotonic() - self._synced > 1.0:
            os.fsync(self._file.fileno())
            self._synced = monotonic()
        self.done |= {row["cell"]: row.get("reason") is None for row in rows}

    def close(self, order: Sequence[str], texts: Mapping[str, str]) -> pa.Table:
        """Write the table, the cells of `order` first and as ordered, and end the journal."""
        os.fsync(self._file.fileno())
        parts = [_read_table(self.table)] if self.table.exists() else []
        if self.path.stat().st_size:
            options = pyarrow.json.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="error")
            parts.append(pyarrow.json.read_json(self.path, parse_options=options))
        table = _one_notation(pa.concat_tables([part.select(SCHEMA.names).cast(SCHEMA) for part in parts]))
        table = _in_order(table, order)
        table = _with_parameters(table, texts)
        unfinished = self.table.with_name(self.table.name + ".writing")
        pq.write_table(table, unfinished, row_group_size=100_000)
        os.replace(unfinished, self.table)
        self.path.unlink()
        self._file.close()
        return table

    def leave(self) -> None:
        """Stop here; the journal stays for the next time, unless it is empty."""
        if not self._file.closed:
            if not self.path.stat().st_size:
                self.path.unlink()
            self._file.close()

    def _recover(self) -> Iterator[Row]:
        """The rows of whole lines; what a killing cut short is cut off."""
        self._file.seek(0)
        end = 0
        for line in self._file:
            try:
                row = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                row = None
            if not isinstance(row, dict) or "cell" not in row:
                break
            end += len(line)
            yield {"cell": row["cell"], "reason": row.get("reason")}
        self._file.truncate(end)
        self._file.seek(end)


def read_table(path: Path) -> pa.Table:
    """The table of a sweep. Raises InputError for a file that is none."""
    if not path.exists():
        raise InputError(f"{path} does not exist: give the table that `sweep` wrote")
    return _read_table(path)


def machine_texts(table: pa.Table) -> dict[str, str]:
    """The text of every machine in a table that came from a file."""
    encoded = (table.schema.metadata or {}).get(b"ringside.machines", b"{}")
    texts: dict[str, str] = json.loads(encoded)
    return texts


def _locked(path: Path) -> IO[bytes]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): give a path that can") from None
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise InputError(f"{path} is being written by another sweep: wait for it, or give another file") from None
    return file


def _cells_done(table: Path) -> Iterator[tuple[str, bool]]:
    if table.exists():
        columns = _read_table(table, ["cell", "reason"])
        well = columns["reason"].is_null().to_pylist()
        yield from zip(columns["cell"].to_pylist(), well, strict=True)


def _read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    try:
        table = pq.read_table(path, columns=columns)
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).split(".")[0][:100]
        raise InputError(f"{path} is not a Parquet table ({reason}): give the file of a sweep") from None
    if columns is None and "network" not in table.column_names:  # tables of old
        table = table.append_column(SCHEMA.field("network"), pa.nulls(table.num_rows, pa.string()))
    missing = set(columns or SCHEMA.names) - set(table.column_names)
    if missing:
        raise InputError(f"{path} is another kind of table, without {', '.join(sorted(missing))}: give another file")
    return table


def _one_notation(table: pa.Table) -> pa.Table:
    """Tables of old have ` + ` between the troubles of a row."""
    at = table.schema.get_field_index("trouble")
    return table.set_column(at, SCHEMA.field("trouble"), pc.replace_substring(table["trouble"], " + ", ";"))


def _in_order(table: pa.Table, order: Sequence[str]) -> pa.Table:
    """The newest row of every cell, those of `order` first."""
    newest = {cell: i for i, cell in enumerate(table["cell"].to_pylist())}
    first = [newest.pop(cell) for cell in order if cell in newest]
    return table.take(pa.array([*first, *newest.values()], pa.int64())).combine_chunks()


def _with_parameters(table: pa.Table, texts: Mapping[str, str]) -> pa.Table:
    """Single parameters as columns of their own, as texts, and the machines' files beside them."""
    for column in ("machine", "settings"):
        encoded = table[column].combine_chunks().dictionary_encode()
        words: list[Any] = encoded.dictionary.to_pylist()
        specs = [{} if word in texts else parse_spec(word if column == "machine" else f":{word}")[1] for word in words]
        for key in dict.fromkeys(key for spec in specs for key in spec):
            values = pa.array([spec.get(key) for spec in specs], pa.string())
            table = table.append_column(f"{column}.{key}", values.take(encoded.indices))
    used = set(table["machine"].unique().to_pylist())
    texts_in_use = {name: text for name, text in texts.items() if name in used}
    return table.replace_schema_metadata({"ringside.machines": json.dumps(texts_in_use)} if texts_in_use else None)
