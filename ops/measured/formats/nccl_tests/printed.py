"""Tables of nccl-tests as text: runs of rows, each with the header, the devices and the program above it.

A row is known by what is in it (size, count, type), not by where it begins, so that prefixes nobody has heard of do no
harm. Format: NVIDIA/nccl-tests `src/util.cu`; tables of NCCL 1 and of nccl-tests before 2.0: `bytes N type op time`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ops.measured.rows import Seats, apart
from sim.base.numbers import real, whole
from sim.base.pasted import pasted_lines

TYPES = {
    "int8": 1, "uint8": 1, "char": 1, "f8e4m3": 1, "f8e5m2": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "half": 2,
    "bfloat16": 2, "int32": 4, "uint32": 4, "int": 4, "float": 4, "int64": 8, "uint64": 8, "double": 8,
    "fp16": 2, "float16": 2, "bf16": 2, "fp32": 4, "float32": 4, "fp64": 8, "float64": 8,
}  # fmt: skip
"""Bytes of an element, by what nccl-tests, rccl-tests and those who write like them call its type."""
NAMES = {
    "all_reduce": "allreduce", "allreduce": "allreduce", "all_gather": "allgather", "allgather": "allgather",
    "reduce_scatter": "reduce_scatter", "reducescatter": "reduce_scatter", "alltoallv": "alltoallv",
    "alltoall": "alltoall", "all_to_all": "alltoall", "broadcast": "broadcast", "bcast": "broadcast",
    "reduce": "reduce", "sendrecv": "sendrecv", "gather": "gather", "scatter": "scatter", "hypercube": "hypercube",
}  # fmt: skip
"""Programs of nccl-tests, and what files are named after them; longer names before those inside them."""
PROGRAM = re.compile(rf"\b({'|'.join(NAMES)})_(?:perf|test)(?:_mpi)?\b", re.IGNORECASE)
_DEVICE = re.compile(
    r"Rank\s{1,9}(\d{1,7})\s[^\[]{0,200}?(?:\bon\s{1,40}(\S{1,200})\s{1,9})?\bdevice\s{1,9}(\d{1,4})\s{1,9}"
    r"\[([^\]]{0,40})\]\s{0,9}(.{0,200})",
    re.IGNORECASE,
)
_OLD_DEVICE = re.compile(r"Device\s{1,9}(\d{1,4})\s{1,9}->()\s{1,9}(\d{1,4})\s{1,9}\[([^\]]{0,40})\]\s{0,9}(.{0,200})")
_PROCESS = re.compile(r"\bnThreads?\s{0,4}[=:]?\s{1,4}(\d{1,4})\s{1,4}nGpus\s{0,4}[=:]?\s{1,4}(\d{1,4})\b")
_DECIMAL_COMMA = re.compile(r"-?(?:0,\d+|\d+,(?:\d{1,2}|\d{4,}))")
_LETTERED = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([KMGT])(i)?B?", re.IGNORECASE)
_COLUMNS = frozenset(("size", "bytes", "count", "n", "type", "redop", "op", "root", "algbw", "busbw", "wrong"))
"""Those of a table that names no time."""
_ROOT = re.compile(r"(-?\d{1,6})\[")
_TAGGED = re.compile(r"-?\d{1,6}\[\d{1,6}(?:,\d{1,6})?\](?:<std[a-z]{2,3}>:?)?")
"""A number with a launcher's tag behind it, which stands in front of all that is written at once, inside lines too."""
TIME_COLUMNS = ("time", "cputime")
_MOST_BEFORE = 12
"""Words in front of a row, at most."""
MOST_SOURCES = 4096
"""Sources of lines that have tables of their own: ranks of a run."""
_STRAY = 3
"""Numbers that a line of nothing else must have to be the rest of a row that another message cut in two."""


class DeviceSeat(NamedTuple):
    """Where a rank runs: its host, the number of its GPU there, and what is printed of that one's place on the bus."""

    host: str
    device: int
    bus: str


@dataclass(slots=True)
class PrintedRow:
    """Size, count and type of a row, and the words after them up to the first that no table has."""

    line: int
    size: int
    count: int
    type: str
    redop: str
    rest: list[str]
    last: int = 0
    """The line it ends in."""
    decimal: int = 0
    """What a size like 8K is where K is 1000 and not 1024; 0 for a size without such a letter."""


@dataclass(slots=True)
class PrintedTable:
    """The table being read."""

    program: str = ""
    header: list[str] = field(default_factory=list)
    units: str = ""
    rows: list[PrintedRow] = field(default_factory=list)
    ranks: int = 0
    devices: int = 0
    rates_only: bool = False
    """Whether its header names algbw and no time, which follows from it."""
    process: int = 0
    """GPUs of a process: nThread times nGpus; 0 where no header tells."""
    words: dict[str, None] = field(default_factory=dict)
    same_run: bool = False
    """Whether it goes on with the run of the table before it."""
    inherited: bool = False
    """Whether `words` are those of the run before, whose devices a run that lists its own has not."""
    seats: dict[int, "DeviceSeat"] = field(default_factory=dict)

    @property
    def starts(self) -> list[int]:
        """The columns of the header that hold times."""
        return [i for i, name in enumerate(self.header) if name in TIME_COLUMNS]

    def following(self, *, same_run: bool) -> "PrintedTable":
        """What the next table starts from: the devices of the same run."""
        seats, ranks = (dict(self.seats), self.ranks) if same_run else ({}, 0)
        return PrintedTable(
            ranks=ranks,
            process=self.process if same_run else 0,
            words=dict(self.words),
            same_run=same_run,
            inherited=not same_run,
            seats=seats,
        )

    @property
    def placement(self) -> Seats:
        """Host and device of every rank; none where they do not tell all ranks apart.

        Where every task sees its own GPU alone, all of them are device 0, and their places on the bus tell them apart.
        """
        seats = [self.seats[rank] for rank in sorted(self.seats)]
        if len({seat[:2] for seat in seats}) == len(seats):
            return apart([seat[:2] for seat in seats], self.ranks)
        alike = len({(seat.host, seat.bus.lower()) for seat in seats}) < len(seats)
        short = not any(":" in seat.bus for seat in seats)  # without its domain, which may be what tells GPUs apart
        hosts = {seat.host for seat in seats}
        if any(seat.device for seat in seats) or "" in hosts or (alike and not (short and len(hosts) > 1)):
            return ()
        on_bus: dict[str, list[tuple[str, int]]] = {}
        for rank, seat in sorted(self.seats.items()):
            on_bus.setdefault(seat.host, []).append((seat.bus.lower(), rank))
        numbers = {rank: at for gpus in on_bus.values() for at, (_, rank) in enumerate(sorted(gpus))}
        return apart([(self.seats[rank].host, numbers[rank]) for rank in sorted(self.seats)], self.ranks)

    @property
    def repeats(self) -> bool:
        """Whether two ranks have one GPU of one host, if hosts have names of their own."""
        return len({(seat.host, seat.bus.lower()) for seat in self.seats.values()}) < len(self.seats)


def number(word: str) -> float | None:
    """A number as tables print it; None for anything else.

    >>> number("1_024"), number("1e+06"), number("N/A"), number("inf")
    (1024.0, 1000000.0, None, None)
    """
    return real(word.replace(",", ""))


def printed_tables(text: str) -> Iterator[PrintedTable]:
    """Every table that has rows, in the order they end; each source of a text has tables of its own."""
    open_tables: dict[str, PrintedTable] = {"": PrintedTable()}
    for line in pasted_lines(text):
        if line.source not in open_tables and len(open_tables) > MOST_SOURCES:
            line = line._replace(source="")
        if line.source not in open_tables:
            before = open_tables[""]
            open_tables[line.source] = replace(before, rows=[], words=dict(before.words), seats=dict(before.seats))
        for source in [line.source] if line.source else list(open_tables):
            table = open_tables[source]
            starts = _starts(line.text)
            if starts and table.rows:
                yield table
                table = open_tables[source] = table.following(same_run=starts == "header")
            _take(table, line.number, line.text, rows=source == line.source)
    yield from (table for table in open_tables.values() if table.rows)


def _starts(line: str) -> str:
    """Whether a line begins a table, and how."""
    if "nThread" in line or PROGRAM.search(line):
        return "run"
    return "header" if _header(line) else ""


def _header(line: str) -> list[str]:
    """The columns a header names, without units: empty for any other line."""
    lower = line.lower()
    if "bw" not in lower or ("size" not in lower and "bytes" not in lower):
        return []
    words = lower.replace("|", " ").replace("#wrong", "wrong").replace("#", " ").replace("error", "wrong").split()
    names = [word.partition("(")[0] for word in words]
    begin = next((i for i, name in enumerate(names) if name in ("size", "bytes")), len(names))
    names = [name for name in names[begin:] if name and name != "timestamp"]
    timed = any(name in TIME_COLUMNS for name in names)
    return names if (timed or ("algbw" in names and _COLUMNS.issuperset(names))) and len(names) > 2 else []


def _take(table: PrintedTable, at: int, line: str, *, rows: bool) -> None:
    """What a line adds to a table."""
    if (program := PROGRAM.search(line)) is not None:
        table.program = program[1].lower()
    if (process := _PROCESS.search(line)) is not None:
        table.process = int(process[1]) * int(process[2])
    if header := _header(line):
        table.units, table.rates_only = line.lower(), not any(name in TIME_COLUMNS for name in header)
        table.header = [name for word in header for name in _timed(word, table)]
    elif "(us)" in line or "(ms)" in line or "(s)" in line:
        table.units = line.lower()
    elif (device := _DEVICE.search(line)) is not None or (device := _OLD_DEVICE.search(line)) is not None:
        _add_device(table, int(device[1]), DeviceSeat(device[2] or "", int(device[3]), device[4].strip()), device[5])
    elif rows and (row := _row(at, line, table)) is not None:
        table.rows.append(row)
    elif rows and table.rows and (stray := _stray(line)) and _completes(table, at, stray):
        table.rows[-1].rest += stray
        table.rows[-1].last = at


def _completes(table: PrintedTable, at: int, stray: list[str]) -> bool:
    """Whether numbers on a line of their own are the rest of the row above: cut by a message, or by a terminal."""
    row, starts = table.rows[-1], table.starts
    if len(row.rest) < _STRAY:
        return len(stray) >= _STRAY
    whole = 2 * (starts[1] - starts[0]) if len(starts) > 1 else 0
    return at == max(row.line, row.last) + 1 and len(row.rest) + len(stray) <= whole + 1


def _add_device(table: PrintedTable, rank: int, seat: DeviceSeat, name: str) -> None:
    if table.inherited:
        table.words, table.inherited = {}, False
    table.ranks, table.devices = max(table.ranks, rank + 1), max(table.devices, seat.device + 1)
    table.seats[rank] = seat
    table.words[name.strip()] = None


def _row(at: int, line: str, table: PrintedTable) -> PrintedRow | None:
    """The row a line holds: size, count, type …, or size and other numbers where somebody left columns out."""
    words = [_with_point(word) for word in re.sub(r"[|\";\t]", " ", line).split()]
    if len(words) < 4 and line.count(",") > 3:
        words = [word.strip() for word in line.replace('"', "").split(",")]
    typed = "type" in table.header
    words = _with_times(words, table) if table.rates_only else words
    for i in range(min(len(words) - 2, _MOST_BEFORE)):
        size, count, kind = words[i : i + 3]
        if kind[:1].isalpha() and _size(size) and _whole(count) is not None:
            has_type = kind.lower() in TYPES or (typed and i + 3 < len(words) and kind.isidentifier())
            return _typed_row(at, size, count, kind, words[i + 3 :]) if has_type else None
    if typed or not words:
        return None
    width = len(table.header) or 4
    begin = len(words) - width if len(words) > width and table.header else 0
    cells = words[begin:]
    lettered = _size(cells[0])
    if lettered is None or any(number(word) is None and word != "N/A" for word in cells[1:]):
        return None
    if not table.header and (len(words) != width or "." not in "".join(words[1:])):
        return None
    return PrintedRow(at, lettered[0], 0, "", "", cells[(table.starts or [1])[0] :], decimal=lettered[1])


def _timed(word: str, table: PrintedTable) -> tuple[str, ...]:
    """A column, with that of a time before it where a header names rates alone."""
    return ("time", word) if table.rates_only and word == "algbw" else (word,)


def _with_times(words: list[str], table: PrintedTable) -> list[str]:
    """The words of a row that has no times, with those that follow from its size and rates before each rate."""
    width = len(table.header) - len(table.starts)
    cells = words[len(words) - width :] if len(words) >= width else []
    size = _size(cells[0]) if cells else None
    if size is None:
        return words
    for at in table.starts:
        rate = number(cells[at]) or 0.0
        cells.insert(at, repr(size[0] / rate / 1e3) if rate > 0 else "N/A")
    return cells


def _typed_row(at: int, size: str, count: str, kind: str, after: list[str]) -> PrintedRow:
    redop = after[0].lower() if after and after[0].isalpha() and number(after[0]) is None else ""
    plain, decimal = _size(size) or (0, 0)
    rest = list(_numbers(after[bool(redop) :]))
    return PrintedRow(at, plain, _whole(count) or 0, kind.lower(), redop, rest, decimal=decimal)


def _numbers(words: list[str]) -> Iterator[str]:
    """Numbers up to where something else stands: a time stamp, or a message that was printed in between."""
    for word in words:
        if number(word) is None and word.upper() not in ("N/A", "NAN", "INF", "-NAN", "-"):
            if (root := _ROOT.match(word)) is not None:
                yield root[1]
            if root is None or not _TAGGED.fullmatch(word):
                return
            continue
        yield word


def _with_point(word: str) -> str:
    """A number with a comma before its decimals as it is written with a point; one with commas at thousands as it is.

    >>> _with_point("12,90"), _with_point("0,125"), _with_point("8,388,608"), _with_point("185.3")
    ('12.90', '0.125', '8,388,608', '185.3')
    """
    return word.replace(",", ".") if _DECIMAL_COMMA.fullmatch(word) else word


def _stray(line: str) -> list[str]:
    """The numbers of a line that has nothing else: the rest of a row."""
    words = line.split()
    numbers = list(_numbers(words))
    return numbers if len(numbers) == len(words) else []


def _size(word: str) -> tuple[int, int] | None:
    """Bytes of a size, and those of one like 8K where K is 1000, else 0; None for what is no size.

    >>> _size("8192"), _size("8K"), _size("1.5G"), _size("K")
    ((8192, 0), (8192, 8000), (1610612736, 1500000000), None)
    """
    if (plain := _whole(word)) is not None:
        return plain, 0
    match = _LETTERED.fullmatch(word)
    if match is None:
        return None
    power = "KMGT".index(match[2].upper()) + 1
    return round(float(match[1]) * 1024**power), 0 if match[3] else round(float(match[1]) * 1000**power)


def _whole(word: str) -> int | None:
    """A count as tables print it, with or without marks at its thousands."""
    return whole(word.replace(",", "")) if word[:1].isdecimal() else None
