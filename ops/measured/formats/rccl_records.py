"""Records that rccl-tests writes as JSON: an object for every time, in a list or a line each.

Fields: `name, nodes, ranks, ranksPerNode, gpusPerRank, size, type, redop, inPlace, time, algBw, busBw, wrong`; times in
µs (github.com/ROCm/rccl-tests).
"""

import json
import re
from typing import Any, NamedTuple

from ops.measured.formats import reader
from ops.measured.formats.nccl_tests.printed import NAMES
from ops.measured.rows import Measured, Table
from sim.base.formats import LOOKED_AT
from sim.base.numbers import real, whole
from sim.base.pasted import bare_json
from sim.errors import InputError
from sim.units import us

_RECORD = re.compile(r'"numCycle"\s{0,9}:')


class _Run(NamedTuple):
    """What rows of one table have in common; `each` is how many ranks a node has."""

    collective: str
    ranks: int
    each: int


def matches(text: str) -> bool:
    """Whether such a record is in it, whatever the order of its keys."""
    return _RECORD.search(text[:LOOKED_AT]) is not None and bare_json(text[:LOOKED_AT]).lstrip()[:1] in ("{", "[")


@reader("rccl_records", "a list of records by rccl-tests", matches=matches, endings=("json", "jsonl"), precedence=1)
def read(text: str, *, name: str) -> list[Table]:
    """A table for every collective and number of ranks, in the order of the file. Raises InputError."""
    times: dict[_Run, dict[int, list[float]]] = {}
    lines: dict[tuple[_Run, int], int] = {}
    for number, record in enumerate(_records(text, name), 1):
        run, size, place, seconds = _fields(record, f"{name}, record {number}")
        times.setdefault(run, {}).setdefault(size, [0.0, 0.0])[place] = seconds
        lines.setdefault((run, size), number)
    return [
        Table(
            name,
            "nccl-tests",
            tuple(
                Measured(run.collective, run.ranks, size, out or inside, inside if out else 0.0, line=lines[run, size])
                for size, (out, inside) in sizes.items()
            ),
            run.ranks,
            run.each,
        )
        for run, sizes in times.items()
    ]


def _records(text: str, name: str) -> list[dict[str, Any]]:
    try:
        whole_text = bare_json(text).strip()
        whole_list = whole_text if whole_text.startswith("[") else f"[{_joined(whole_text)}]"
        listed: list[dict[str, Any]] = json.loads(whole_list)
    except (ValueError, RecursionError):
        raise InputError("rccl_tests.json", name=name) from None
    if not listed or not all(isinstance(record, dict) for record in listed):
        raise InputError("rccl_tests.records", name=name)
    return listed


def _joined(text: str) -> str:
    """Records of a line each as members of a list."""
    return ",".join(line.strip().rstrip(",") for line in text.splitlines() if line.strip())


def _fields(record: dict[str, Any], where: str) -> tuple[_Run, int, int, float]:
    """A record's run, its size in bytes, 0 for out of place and 1 for in place, and its seconds. Raises InputError."""
    word = str(record.get("name", ""))
    collective = NAMES.get(word.casefold(), "")
    if not collective:
        raise InputError("rccl_tests.name", where=where, word=word)
    keys = ("ranks", "ranksPerNode", "gpusPerRank", "size", "inPlace")
    ranks, each, gpus, size, place = (whole(str(record.get(key, 1))) for key in keys)
    time = real(str(record.get("time", "")))
    if not ranks or not each or not gpus or not size or place not in (0, 1) or time is None or time <= 0:
        raise InputError("rccl_tests.no_measurement", where=where, keys=keys)
    return _Run(collective, ranks * gpus, each * gpus), size, int(place), time * us
