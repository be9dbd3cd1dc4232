"""Tables of nccl-tests and rccl-tests: old and new columns, several tables in one file, JSON.

Format: NVIDIA/nccl-tests `src/util.cu`, `doc/PERFORMANCE.md`. Each row's size over its time must be its algbw.
"""

import json
import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from ops.measured.formats import reader
from ops.measured.formats.nccl_tests.collective import collective_of
from ops.measured.formats.nccl_tests.halves import Half, Unread, agrees, halves, scale_of
from ops.measured.formats.nccl_tests.printed import (
    PROGRAM,
    TYPES,
    PrintedTable,
    number,
    printed_tables,
)  # fmt: skip
from ops.measured.formats.nccl_tests.ranks import Evidence, agreed
from ops.measured.formats.nccl_tests.runs import sections
from ops.measured.launcher import launched
from ops.measured.rows import Measured, Table, apart
from ops.measured.run_words import ranks_of_log, run_words
from sim.base.pasted import bare_json
from sim.errors import InputError
from sim.units import us


def _is_report(text: str) -> bool:
    named = '"results"' in text and ("out_of_place" in text or "in_place" in text)
    return named and bare_json(text).lstrip().startswith("{")


SHARING = re.compile(r"NCCL_(?:HOSTID|TESTS_DEVICE|MULTI_RANK_GPU_ENABLE)[\"']?\s{0,8}[=:]")
"""What makes several ranks run on one GPU, which NCCL does not do else: hosts whose names are alike are told so."""


class _RunWords(NamedTuple):
    """What a text says of the run that its tables are of: `ranks` is 0 where it says none."""

    forced: dict[str, str]
    ranks: int
    shares_gpus: bool


def matches(text: str) -> bool:
    """Whether a table, or the JSON, of nccl-tests is in it."""
    return _is_report(text) or next(printed_tables(text), None) is not None


@reader(
    "nccl_tests",
    "an output of nccl-tests",
    matches=matches,
    endings=("txt", "log", "json", "out"),
    precedence=-1,  # any rows of numbers look like it
)
def read(text: str, *, name: str) -> list[Table]:
    """Every table of a file; `name` is the file's, and may tell what the text does not. Raises InputError."""
    if _is_report(text):
        return [_from_json(text, name)]
    runs = list(printed_tables(text))
    tables = [_table(one, part, text, name) for one, part in zip(runs, sections(text, runs), strict=True)]
    if not any(table.rows for table in tables):
        whys = [why if "line" in why else f"{why} in line {at[0]}" for table in tables for why, at in table.unread]
        raise InputError("nccl_tests.no_good_row" if whys else "nccl_tests.no_row", file=name, reasons=whys[:3])
    full, lost = [table for table in tables if table.rows], [table for table in tables if not table.rows]
    left = full[0].unread + tuple(entry for table in lost for entry in table.unread)
    return [replace(full[0], unread=left), *full[1:]]


def _table(printed: PrintedTable, text: str, whole: str, name: str) -> Table:
    """One table; `text` is what is about it in the `whole`."""
    scale, unread = scale_of(printed), Unread()
    rows, factors = [], []
    ranks_told = 0
    for row in printed.rows:
        first, second = halves(row, printed, scale, unread)
        half = first or second
        if half is None:
            continue
        width = row.count * TYPES.get(row.type, 0)
        if width and not row.decimal and row.size % width == 0:
            ranks_told = max(ranks_told, row.size // width)
        if half.algbw > 0:
            factors.append((half.algbw, half.busbw))
        both = second.seconds if first and second else 0.0
        rows.append(Measured("", 0, row.size, half.seconds, both, "", row.line))
    shared = ranks_told if ranks_told > 1 else 0
    run = _run(text)
    evidence = Evidence(printed.ranks, shared, run.ranks, printed.process)
    collective = collective_of(printed, name, shared, factors, next(filter(None, evidence[:3]), 0))
    ranks, contradiction = agreed(evidence, collective, factors)
    shared_gpu = printed.repeats and run.shares_gpus
    release = _run(whole).forced.get("nccl") if "nccl" not in run.forced else None
    forced = run.forced | ({"nccl": release} if release else {}) | ({"transport": "shared"} if shared_gpu else {})
    measured = tuple(Measured(collective, ranks, r.size, r.seconds, r.in_place, "", r.line) for r in rows)
    return Table(
        name,
        "nccl-tests",
        measured,
        ranks,
        printed.devices if ranks == printed.ranks else _each(printed, ranks),
        tuple(printed.words),
        unread.entries,
        devices=printed.placement if ranks == printed.ranks else (),
        forced=forced,
        notes=(contradiction,) if contradiction else (),
    )


def _each(printed: PrintedTable, ranks: int) -> int:
    """GPUs of a host where the list of devices is not whole: those of a process, if it has several; 0 untold."""
    process = printed.process
    return process if process > 1 and process >= printed.devices and ranks % process == 0 else 0


@lru_cache(4)  # all tables of a run have one text
def _run(text: str) -> _RunWords:
    return _RunWords(run_words(text), ranks_of_log(text) or launched(text), bool(SHARING.search(text)))


def _from_json(text: str, name: str) -> Table:
    """The report of `-J`."""
    try:
        report = json.loads(bare_json(text))
    except (ValueError, RecursionError):
        raise InputError("nccl_tests.json", name=name) from None
    results = report.get("results") if isinstance(report, dict) else None
    if not isinstance(results, list) or not all(isinstance(row, dict) for row in results):
        raise InputError("nccl_tests.no_list", name=name)
    arguments = " ".join(map(str, report.get("args", []))) + f" {report.get('test', '')} {name}"
    devices = [d for d in _dict(report.get("config")).get("devices", []) if isinstance(d, dict)]
    ranks = len(devices)
    program = PROGRAM.search(arguments)
    unread, factors = Unread(), []
    rows = []
    for at, row in enumerate(results, 1):
        size = int(number(str(row.get("size", 0))) or 0)
        first, second = (_json_half(_dict(row.get(key)), size, at, unread) for key in ("out_of_place", "in_place"))
        half = first or second
        if half is None:
            if not unread.has(at):
                unread.add("nothing was sent", at)
            continue
        factors.append((half.algbw, half.busbw))
        rows.append((size, half.seconds, second.seconds if first and second else 0.0, at))
    collective = collective_of(PrintedTable(program[1].lower() if program else ""), name, 0, factors)
    ranks, contradiction = agreed(Evidence(ranks), collective, factors)
    seats = [(str(d.get("hostname", d.get("host", ""))), int(number(str(d.get("device", 0))) or 0)) for d in devices]
    each = max((device + 1 for _, device in seats), default=0)
    measured = tuple(Measured(collective, ranks, size, time, both, "", line) for size, time, both, line in rows)
    if not measured:
        raise InputError("nccl_tests.no_result", name=name)
    env = " ".join(map(str, report.get("env", []))) if isinstance(report.get("env"), list) else ""
    forced = run_words(f"{env} NCCL version {report.get('nccl_version', '')}")
    words = tuple(dict.fromkeys(str(d.get("device_info", "")) for d in devices))
    return Table(
        name,
        "nccl-tests",
        measured,
        ranks,
        each,
        words,
        unread.entries,
        devices=apart(seats, ranks),
        forced=forced,
        notes=(contradiction,) if contradiction else (),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _json_half(half: dict[str, Any], size: int, at: int, unread: Unread) -> Half | None:
    """A half of a result; nothing where it has no time, or one that is not what its algbw says."""
    key = "time" if number(str(half.get("time"))) is not None else "cpu_time"
    time, algbw = str(half.get(key)), str(half.get("alg_bw"))
    seconds = (number(time) or 0.0) * us
    if size <= 0 or seconds <= 0:
        return None
    if number(algbw) is not None and not agrees(size, time, algbw, (us, 1e9)):
        unread.disagreement(size / seconds / 1e9, algbw, at)
        return None
    return Half(seconds, number(algbw) or 0.0, number(str(half.get("bus_bw"))) or 0.0)
