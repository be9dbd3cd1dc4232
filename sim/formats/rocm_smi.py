"""`rocm-smi --showtopo`: weights, hops and link types between AMD's GPUs, and their NUMA nodes."""

import re
from collections.abc import Mapping

from sim.base.pasted import pasted_lines
from sim.errors import InputError
from sim.formats import reader
from sim.parameters import spread
from sim.topology import Topology
from sim.topology.xgmi import MOST_GPUS, OPTIONS, Pair, PairTables, machine_of
from sim.units import Time

TITLES = {
    "weight": r"weight\b.*\bGPUs",
    "hops": r"hops\b.*\bGPUs",
    "type": r"link type\b.*\bGPUs",
    "access": r"access\w{0,20}\b.{0,200}\bGPUs",
}
"""What the title of each table says, in `rocm_smi.py` of ROCm/rocm_smi_lib."""

_NUMA = re.compile(r"GPU ?\[?(\d{1,4})\]?\s*:[^:]{0,80}?Numa (Node|Affinity)\s*:\s*(-?\d{1,6})\b", re.IGNORECASE)
_TITLE = re.compile(r"[=\s]*(?:weight|hops|link type) between two GPUs", re.IGNORECASE)


def matches(text: str) -> bool:
    """Whether a table between two GPUs is in it."""
    return "between two" in text and any(_TITLE.match(line.text) for line in pasted_lines(text))


def explain(text: str) -> str:
    """What else of AMD's tools this is, and what to paste instead."""
    if "ROCm System Management Interface" in text or "ROCM-SMI" in text.upper():
        return "instead.rocm_smi"
    return ""


@reader("rocm_smi", "the output of `rocm-smi --showtopo`", matches=matches, explain=explain, endings=("txt", "log"))
@spread("set_rates", OPTIONS)
def read(
    text: str,
    *,
    name: str = "rocm-smi --showtopo",
    set_rates: Mapping[str, float | None],
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """The machine behind the tables; GPUs pass on over xGMI what came over it where a pair is several hops apart.

    `xgmi` is what joins a pair directly, all its links together. Raises InputError for tables that are cut,
    lopsided or name a link there is none of.
    """
    return machine_of(_report(text, name), name, set_rates, overhead=overhead, gamma=gamma)


def _report(text: str, name: str) -> PairTables:
    """Every table and line of the output. Raises InputError naming a row that is cut."""
    report, table = PairTables(), ""
    header: list[int] = []
    for number, _, raw in pasted_lines(text):
        line = raw.strip("= ").strip()
        words = line.split()
        title = next((kind for kind, pattern in TITLES.items() if re.match(pattern, line, re.IGNORECASE)), "")
        if title:
            table, header = title, []
        elif (match := _NUMA.search(line)) is not None:
            table = ""
            if match[2].lower() == "node":
                report.numa[int(match[1])] = int(match[3])
        elif table and words and not header:
            header = _header(words, f"{name}, line {number}")
            report.gpus = report.gpus or header
            if header != report.gpus:
                raise InputError("smi.other_gpus", file=name, line=number)
        elif table and words and re.fullmatch(r"GPU\d{1,4}", words[0]):
            report.cells[table] |= _row(words, header, f"{name}, line {number}")
        elif words:
            table = ""
    if not report.gpus:
        raise InputError("rocm_smi.no_table", name=name)
    return report


def _row(words: list[str], header: list[int], where: str) -> dict[Pair, str]:
    """What a row of a table says of its GPU and each of the header's. Raises InputError where it is cut."""
    gpu = _gpu(words[0])
    if gpu not in header or len(words) != len(header) + 1:
        raise InputError("rocm_smi.row", where=where, row=words[0], cells=len(words) - 1, gpus=len(header))
    return {(gpu, other): word for other, word in zip(header, words[1:], strict=True)}


def _header(words: list[str], where: str) -> list[int]:
    """GPU numbers of a header row. Raises InputError where it is none."""
    if not all(re.fullmatch(r"GPU\d{1,4}", word) for word in words):
        raise InputError("rocm_smi.names", where=where)
    gpus = [_gpu(word) for word in words]
    if len(set(gpus)) != len(gpus) or len(gpus) > MOST_GPUS:
        raise InputError("rocm_smi.gpus", where=where, count=len(gpus))
    return gpus


def _gpu(word: str) -> int:
    return int(word.removeprefix("GPU"))
