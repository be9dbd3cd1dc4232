"""Tables of nccl-tests and rccl-tests: old and new columns, prefixes of launchers, several tables in one file, JSON.

Format: NVIDIA/nccl-tests `src/util.cu`, `doc/PERFORMANCE.md`.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ops.measured.formats import reader
from ops.measured.rows import Measured, Table
from sim.errors import InputError
from sim.units import us

PREFIX = re.compile(r"^(?:\x1b\[[0-9;]*m|\[\d+,\d+\]<std(?:out|err)>:|\s{0,3}\d{1,6}: |\|)\s?")
TYPES = {
    "int8": 1, "uint8": 1, "char": 1, "f8e4m3": 1, "f8e5m2": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "half": 2,
    "bfloat16": 2, "int32": 4, "uint32": 4, "int": 4, "float": 4, "int64": 8, "uint64": 8, "double": 8,
}  # fmt: skip
NAMES = {
    "all_reduce": "allreduce", "allreduce": "allreduce", "all_gather": "allgather", "allgather": "allgather",
    "reduce_scatter": "reduce_scatter", "reducescatter": "reduce_scatter", "alltoallv": "alltoallv",
    "alltoall": "alltoall", "all_to_all": "alltoall", "broadcast": "broadcast", "bcast": "broadcast",
    "reduce": "reduce", "sendrecv": "sendrecv", "gather": "gather", "scatter": "scatter", "hypercube": "hypercube",
}  # fmt: skip
"""Programs of nccl-tests, and what files are named after them; longer names before those inside them."""
PROGRAM = re.compile(rf"\b({'|'.join(NAMES)})_perf\b", re.IGNORECASE)
DEVICE = re.compile(r"Rank\s+(\d+)\s.*\bon\s+(\S+)\s+device\s+(\d+)\s+\[[^\]]*\]\s*(.*)$", re.IGNORECASE)
FORCED = re.compile(r"NCCL_(ALGO|PROTO)[\"']?\s*[=:]\s*[\"']?([A-Za-z0-9]+)")
_SIZE = re.compile(r"^\d[\d_,]*$")


@dataclass(slots=True)
class _Reading:
    """The table being read."""

    program: str = ""
    header: list[str] = field(default_factory=list)
    rows: list[tuple[list[str], str, int]] = field(default_factory=list)
    ranks: int = 0
    devices: int = 0
    words: dict[str, None] = field(default_factory=dict)


def matches(text: str) -> bool:
    """Whether a table, or the JSON, of nccl-tests is in it."""
    head = text[:4096].lstrip()
    if head.startswith("{"):
        return '"results"' in text and ("out_of_place" in text or "in_place" in text)
    return next(_tables(text), None) is not None


@reader(
    "nccl_tests",
    "an output of nccl-tests",
    matches=matches,
    endings=("txt", "log", "json", "out"),
    precedence=-1,  # any rows of numbers look like it
)
def read(text: str, *, name: str) -> list[Table]:
    """Every table of a file; `name` is the file's, and may tell what the text does not. Raises InputError."""
    if text.lstrip().startswith("{"):
        return [_from_json(text, name)]
    found = [table for reading in _tables(text) if (table := _table(reading, text, name)).rows]
    if not found:
        raise InputError(f"{name} holds no row of nccl-tests with a size and a time: give its whole output")
    return found


def _tables(text: str) -> Iterator[_Reading]:
    """Runs of rows, each with the header and the list of devices above it."""
    now = _Reading()
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw
        while (stripped := PREFIX.sub("", line, count=1)) != line:
            line = stripped
        bare = line.strip().lstrip("#").strip()
        words = bare.lower().replace("#wrong", "wrong").replace("error", "wrong").split()
        if (program := PROGRAM.search(line)) is not None or words[:2] == ["size", "count"] or "nThread" in line:
            if now.rows:
                yield now
                now = _Reading(ranks=0 if program or "nThread" in line else now.ranks, words=dict(now.words))
            now.program = program[1].lower() if program else now.program
        if words[:1] == ["size"] and "time" in words:
            now.header = words
        elif (device := DEVICE.search(bare)) is not None:
            now.ranks = max(now.ranks, int(device[1]) + 1)
            now.devices = max(now.devices, int(device[3]) + 1)
            now.words[device[4].strip()] = None
        elif _is_row(bare.split()):
            now.rows.append((bare.split(), line, number))
    if now.rows:
        yield now


def _is_row(words: list[str]) -> bool:
    """Size, count, type …, or size and three more numbers where somebody left columns out."""
    if len(words) < 4 or not _SIZE.match(words[0]):
        return False
    if len(words) >= 5 and words[1].isdecimal() and words[2].lower() in TYPES:
        return True
    return len(words) == 4 and all(_number(word) is not None for word in words) and "." in "".join(words[1:])


def _number(word: str) -> float | None:
    try:
        value = float(word.replace("_", "").replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _table(reading: _Reading, text: str, name: str) -> Table:
    rows, factors = [], []
    unread: dict[str, list[int]] = {}
    width_told = ranks_told = 0
    for words, line, number in reading.rows:
        size = int(words[0].replace("_", "").replace(",", ""))
        first, second = _halves(words, line, reading.header)
        if first is None and second is None:
            unread.setdefault("no time in it", []).append(number)
            continue
        time, algbw, busbw = first or second  # type: ignore[misc]
        if size <= 0 or time <= 0:
            unread.setdefault("nothing was sent", []).append(number)
            continue
        if len(words) > 4 and size % (int(words[1]) * TYPES[words[2].lower()] or size + 1) == 0:
            ranks_told = max(ranks_told, size // (int(words[1]) * TYPES[words[2].lower()]))
            width_told += 1
        if algbw > 0:
            factors.append((algbw, busbw))
        both = second[0] * us if first and second else 0.0
        rows.append(Measured("", 0, size, time * us, both, "", number))
    shared = ranks_told if ranks_told > 1 and width_told else 0
    reduces = any(word in {"sum", "prod", "max", "min", "avg"} for words, _, _ in reading.rows for word in words[3:4])
    collective = _collective(reading.program, name, shared, factors, reduces=reduces)
    ranks = reading.ranks or shared or ranks_of(collective, factors)
    forced = {{"ALGO": "algorithm", "PROTO": "protocol"}[key]: value for key, value in FORCED.findall(text)}
    told = tuple(Measured(collective, ranks, r.size, r.seconds, r.in_place, "", r.line) for r in rows)
    left = tuple((why, tuple(lines)) for why, lines in unread.items())
    return Table(name, "nccl-tests", told, ranks, reading.devices, tuple(reading.words), left, forced=forced)


Half = tuple[float, float, float]


def _halves(words: list[str], line: str, header: list[str]) -> tuple[Half | None, Half | None]:
    """Time (µs), algbw and busbw out of place and in place."""
    starts = [i for i, word in enumerate(header) if word == "time"]
    if len(words) != len(header) or not starts:
        rest = len(words) - 3
        begin = 1 if len(words) == 4 else 3 + (len(words) > 3 and _number(words[3]) is None)
        rest = len(words) - begin
        if rest % 2 and rest != 3:  # a root stands before the times
            begin, rest = begin + 1, rest - 1
        starts = [begin] if rest < 6 else [begin, begin + rest // 2]
        if len(starts) == 1 and header.count("time") == 2 and re.search(r"\s{30,}\S", line.strip()):
            return None, _half(words, starts[0])
    halves = [_half(words, start) for start in starts[:2]] + [None]
    return halves[0], halves[1]


def _half(words: list[str], start: int) -> Half | None:
    values = [_number(word) for word in words[start : start + 3]]
    if len(values) < 3 or any(value is None for value in values):
        return None
    return values[0] or 0.0, values[1] or 0.0, values[2] or 0.0


def _collective(program: str, name: str, shared: int, factors: list[tuple[float, float]], *, reduces: bool) -> str:
    """What ran: by the program's name, the file's, or by how bandwidths and counts relate; empty where none tells."""
    if program:
        return NAMES[program]
    plain = re.sub(r"[^a-z]+", "_", name.lower().rpartition("/")[2])
    for word in sorted(NAMES, key=len, reverse=True):
        if word in plain:
            return NAMES[word]
    ratio = max((busbw / algbw for algbw, busbw in factors if busbw > 1), default=0.0)
    if ratio > 1.005:
        return "allreduce"
    if shared:
        return "reduce_scatter" if reduces else ""
    return ""


def ranks_of(collective: str, factors: list[tuple[float, float]]) -> int:
    """How many ranks make busbw that many times algbw, both printed with two digits; 0 where that leaves it open.

    >>> ranks_of("allreduce", [(99.64, 186.83), (100.55, 188.53)])
    16
    """
    if collective not in ("allreduce", "allgather", "reduce_scatter", "alltoall", "gather", "scatter"):
        return 0
    share = 2.0 if collective == "allreduce" else 1.0
    low, high = 2.0, 65536.0
    for algbw, busbw in factors:
        if busbw < 1:
            continue
        least, most = (busbw - 0.005) / (algbw + 0.005) / share, (busbw + 0.005) / (algbw - 0.005) / share
        low, high = max(low, 1 / (1 - min(least, 0.99999))), min(high, 1 / (1 - most) if most < 1 else high)
    found = [n for step in (8, 4, 2, 1) for n in range(2, 4097) if n % step == 0 and low - 1e-6 <= n <= high + 1e-6]
    return found[0] if found and high < 4 * low else 0


def _from_json(text: str, name: str) -> Table:
    """The report of `-J`."""
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{name} is no whole JSON: give the file that nccl-tests -J wrote") from None
    results = report.get("results") if isinstance(report, dict) else None
    if not isinstance(results, list) or not all(isinstance(row, dict) for row in results):
        raise InputError(f"{name}: its results are no list of rows: give the file that nccl-tests -J wrote")
    arguments = " ".join(map(str, report.get("args", []))) + f" {report.get('test', '')} {name}"
    devices = [d for d in _dict(report.get("config")).get("devices", []) if isinstance(d, dict)]
    ranks = len(devices)
    program = PROGRAM.search(arguments)
    rows, unread, factors = [], [], []
    for number, row in enumerate(results, 1):
        halves = [_json_half(_dict(row.get(key))) for key in ("out_of_place", "in_place")]
        size = int(_number(str(row.get("size", 0))) or 0)
        found = halves[0] or halves[1]
        if size <= 0 or found is None or found[0] <= 0:
            unread.append(number)
            continue
        factors.append(found[1:])
        both = halves[1][0] * us if halves[0] and halves[1] else 0.0
        rows.append((size, found[0] * us, both, number))
    collective = _collective(program[1].lower() if program else "", name, 0, factors, reduces=True)
    ranks = ranks or ranks_of(collective, factors)
    each = max((int(_number(str(d.get("device", 0))) or 0) + 1 for d in devices), default=0)
    told = tuple(Measured(collective, ranks, size, time, both, "", line) for size, time, both, line in rows)
    if not told:
        raise InputError(f"{name} holds no result with a size and a time: give the whole report")
    env = " ".join(map(str, report.get("env", []))) if isinstance(report.get("env"), list) else ""
    forced = {{"ALGO": "algorithm", "PROTO": "protocol"}[key]: value for key, value in FORCED.findall(env)}
    words = tuple(dict.fromkeys(str(d.get("device_info", "")) for d in devices))
    left = (("nothing was sent", tuple(unread)),) if unread else ()
    return Table(name, "nccl-tests", told, ranks, each, words, left, forced=forced)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _json_half(half: dict[str, Any]) -> Half | None:
    values = [_number(str(half.get(key))) for key in ("time", "alg_bw", "bus_bw")]
    values[0] = values[0] if values[0] is not None else _number(str(half.get("cpu_time")))
    if values[0] is None:
        return None
    return values[0], values[1] or 0.0, values[2] or 0.0
