"""Rates that were measured between pairs of GPUs, pasted beside a table of `topo -m`, which tells none.

Format: NVIDIA/cuda-samples `p2pBandwidthLatencyTest.cu`, NVIDIA/nvbandwidth `testcases_ce.cpp`: a title, a row of GPU
numbers, a row for each GPU; or what its `json_output.cpp` writes. Latencies in them hold the cost of a copy, and are
not those of a link.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median
from typing import Any, NamedTuple

from sim.base.numbers import real
from sim.base.pasted import bare_json, pasted_lines
from sim.errors import InputError
from sim.topology.host import Rates
from sim.units import GBps, fmt_bandwidth

_CUDA = re.compile(
    r"(?P<way>Uni|Bi)directional P2P=(?P<peers>Enabled|Disabled) Bandwidth\s{0,4}"
    r"(?:\(P2P (?P<what>Writes|Reads)\)\s{0,4})?Matrix\s{0,4}\(GB/s\)",
    re.IGNORECASE,
)
_COPY = re.compile(
    r"memcpy (?P<engine>CE|SM) GPU\(row\) (?P<arrow><->|<-|->) GPU\(column\)(?P<what>[\w ]{0,20}) bandwidth \(GB/s\)",
    re.IGNORECASE,
)
_JSON = re.compile(r'\{\s{0,64}"nvbandwidth"\s{0,8}:')
_KEYS = ("description", "matrix")
_NUMBER = re.compile(r"\d{1,7}(?:\.\d{1,9})?|N/A", re.IGNORECASE)
_MOST_DAMAGED = 8
"""Damaged reports, after which no other one is read: each may be read up to the end of the text."""
_MOST_GPUS = 512
"""Columns of a matrix; more than any host has."""
CLASSES = ("pix", "pxb", "phb", "node", "sys")
"""Rates of PCIe, from the innermost out: a pair farther apart goes over all of those before its own."""


@dataclass(slots=True)
class RateMatrix:
    """A matrix as printed: where its title is, how much it is to be believed, and its rows in GB/s."""

    line: int
    title: str
    rank: int
    """0 is best: one way, straight from GPU to GPU, by the copy engines."""
    share: float
    """What one way is of the number: half where it is both together, not where the other way was busy meanwhile."""
    gpus: list[str] = field(default_factory=list)
    rows: dict[str, list[str]] = field(default_factory=dict)


def matrices(text: str) -> list[RateMatrix]:
    """Every matrix of bandwidths between GPUs, in the order of the text."""
    matrices: list[RateMatrix] = []
    reading = False
    for number, _, line in pasted_lines(text):
        title = _title(number, line)
        words = line.replace("|", " ").replace("D\\D", " ").replace("DD", " ").split()
        if title is not None:
            matrices.append(title)
            reading = True
        elif not reading or not words:
            reading = reading and (not words and not matrices[-1].rows)
        elif not matrices[-1].gpus:
            matrices[-1].gpus = [word for word in words if word.isdecimal()]
            reading = len(matrices[-1].gpus) == len(words) <= _MOST_GPUS
        elif words[0] in matrices[-1].gpus and words[0] not in matrices[-1].rows and all(map(_NUMBER.fullmatch, words)):
            matrices[-1].rows[words[0]] = words[1:]
        else:
            reading = False
    return [matrix for matrix in (*matrices, *(list(_of_json(text)) or _of_json(bare_json(text)))) if matrix.gpus]


def _of_json(text: str) -> Iterator[RateMatrix]:
    """The matrices of `nvbandwidth --json`, whose cells are texts, anywhere in a text."""
    at = damaged = 0
    while damaged < _MOST_DAMAGED and (begin := _JSON.search(text, at)):
        try:
            said, end = json.JSONDecoder().raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            damaged, at = damaged + 1, begin.end()
            continue
        yield from _of_report(said["nvbandwidth"], text, begin.start(), end)
        at = end


def _of_report(said: Any, text: str, begin: int, end: int) -> Iterator[RateMatrix]:
    """The matrices of one report, which stands in the text from `begin` to `end`."""
    cases = said.get("testcases") if isinstance(said, dict) else None
    line = text.count("\n", 0, begin) + 1
    for case in cases if isinstance(cases, list) else ():
        title, rows = (case.get(f"bandwidth_{key}") if isinstance(case, dict) else None for key in _KEYS)
        if not (isinstance(title, str) and isinstance(rows, list) and all(isinstance(row, list) for row in rows)):
            continue
        if matrix := _title(line, title):
            title_at = text.find(json.dumps(title), begin, end)
            if title_at >= 0:
                line += text.count("\n", begin, title_at)
                begin, matrix.line = title_at, line
            else:
                begin = end  # written in other escapes than ours: no line is looked for any more
            matrix.gpus = [str(i) for i in range(len(rows))]
            matrix.rows = {str(i): list(map(str, row)) for i, row in enumerate(rows)}
            yield matrix


def _title(number: int, line: str) -> RateMatrix | None:
    """The matrix a title begins: one way before both, peers before copies through the host, engines before kernels."""
    if cuda := _CUDA.search(line):
        both = cuda["way"].lower() == "bi"
        rank = 8 * (cuda["peers"].lower() == "disabled") + 4 * both + ((cuda["what"] or "").lower() == "reads")
        return RateMatrix(number, cuda[0], rank, 0.5 if both else 1.0)
    if copy := _COPY.search(line):
        both = copy["arrow"] == "<->"
        share = 0.5 if copy["what"].strip().lower() == "total" else 1.0
        return RateMatrix(number, copy[0], 4 * both + 2 * (copy["engine"].upper() == "SM"), share)
    return None


def beside(capture: str, measured: str, name: str) -> str:
    """A capture and what was measured between its GPUs as one text; `name` is what messages call the second.

    Raises InputError where that is no matrix of rates.
    """
    if not matrices(measured):
        raise InputError("pair_rates.no_matrix", name=name)
    return f"{capture}\n\n{measured}"


class Pairs(NamedTuple):
    """The GPUs of a table, how many NVLinks a pair has, and the PCIe class of every pair."""

    gpus: list[str]
    nvlinks: Mapping[tuple[str, str], int]
    classes: Mapping[tuple[str, str], str]


def rates_of(text: str, pairs: Pairs, usual: Rates, name: str) -> tuple[dict[str, float], list[str]]:
    """The rates (B/s) that a matrix in a text tells, by the names of `Rates`, and what told them.

    Each is the median of the pairs whose class it sets; rates within are at least as much, which `usual` ones may not
    be. Raises InputError for a matrix that is cut, or of another machine.
    """
    best = min(matrices(text), key=lambda matrix: matrix.rank, default=None)
    if best is None:
        return {}, []
    _check(best, len(pairs.gpus), name)
    samples: dict[str, list[float]] = {}
    for (i, a), (j, b) in combinations(enumerate(pairs.gpus), 2):
        links = pairs.nvlinks.get((a, b), 0)
        key = "nvlink" if links else pairs.classes[a, b].lower()
        for value in (_value(best, i, j), _value(best, j, i)):
            if value > 0:
                samples.setdefault(key, []).append(value / max(1, links))
    rates = {key: median(values) for key, values in samples.items()}
    inner = _raised(rates, usual)
    notes = [f"measured {_listed(rates)}: medians of {best.title!r}, line {best.line}"] if rates else []
    if inner:
        notes.append(f"raised {_listed(inner)}, as the pairs beyond were measured to be as fast")
    return rates | inner, notes


def _listed(rates: Mapping[str, float]) -> str:
    return ", ".join(f"{key}={fmt_bandwidth(rate)}" for key, rate in rates.items())


def _value(matrix: RateMatrix, row: int, column: int) -> float:
    """B/s from the one to the other, 0 where the matrix does not tell."""
    word = matrix.rows[matrix.gpus[row]][column]
    return (real(word) or 0.0) * matrix.share * GBps


def _raised(rates: Mapping[str, float], usual: Rates) -> dict[str, float]:
    """What rates within must be raised to, so that the pairs beyond are as fast as they were measured."""
    raised = {}
    for at, key in enumerate(CLASSES):
        beyond = max((rates[outer] for outer in CLASSES[at + 1 :] if outer in rates), default=0.0)
        if beyond > rates.get(key, getattr(usual, key)):
            raised[key] = beyond
    return raised


def _check(matrix: RateMatrix, n: int, name: str) -> None:
    """Raise InputError where a matrix is not whole, or not of so many GPUs."""
    if len(matrix.gpus) != n:
        raise InputError("pair_rates.size", file=name, line=matrix.line, gpus=len(matrix.gpus), table=n)
    for gpu in matrix.gpus:
        cells = len(matrix.rows.get(gpu, []))
        if cells != n:
            raise InputError("pair_rates.row", file=name, line=matrix.line, gpu=gpu, numbers=cells, gpus=n)
