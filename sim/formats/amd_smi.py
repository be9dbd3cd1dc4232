"""`amd-smi topology`: access, weights, hops and link types between AMD's GPUs, as tables, JSON or CSV.

Format: ROCm/amdsmi, `amdsmi_cli/amdsmi_commands.py` and CHANGELOG.md, which has the JSON of ROCm 6.1 and before too.
GPUs are numbered in the order of the tables, as everywhere in the tool. `amd-smi static --numa` beside it tells NUMA
nodes.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sim.base.pasted import pasted_lines
from sim.errors import InputError
from sim.formats import reader
from sim.parameters import spread
from sim.topology import Topology
from sim.topology.xgmi import MOST_GPUS, OPTIONS, PairTables, machine_of
from sim.units import Time

SECTIONS = {
    "access table": "access", "weight table": "weight", "hops table": "hops", "link type table": "type",
    "numa bw table": "bandwidth",
}  # fmt: skip
"""Titles of the tables that say something of paths."""
KEYS = {
    "link_accessibility": "access", "link_status": "access", "weight": "weight", "hops": "hops", "num_hops": "hops",
    "link_type": "type", "numa_bandwidth": "bandwidth", "bandwidth": "bandwidth",
}  # fmt: skip
"""What JSON and CSV call the same."""
SELF = ("SELF", "X")
_BUS = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]|GPU_?\d{1,4}", re.IGNORECASE)
_BANDWIDTH = re.compile(r"(\d{1,9})-(\d{1,9})")
_JSON = re.compile(r"^[ \t]{0,80}[\[{](?=\s{0,200}[{\"])", re.MULTILINE)
_GPU_LINE = re.compile(r"^[ \t]*GPU: (\d{1,4})[ \t]*$", re.MULTILINE)
_NUMA_LINE = re.compile(r"NUMA:?\s+NODE: (\d{1,4})\b")
_COLUMN = re.compile(rf"({'|'.join(KEYS)})_(?:gpu_)?(\d{{1,4}})")
Cells = dict[str, dict[tuple[str, str], str]]
"""What each table says of two GPUs, by what the tool calls these."""


def matches(text: str) -> bool:
    """Whether it is an output of `amd-smi topology`."""
    if "link_type" in text and (_JSON.search(text) or _is_csv(text)):
        return True
    return "TABLE" in text.upper() and any(_section(line.text) for line in pasted_lines(text))


def _section(line: str) -> str:
    """The table a title begins, other tables by nothing but a dash; empty for other lines."""
    title = line.strip().rstrip(":").lower()
    return SECTIONS.get(title, "-" if re.fullmatch(r"[a-z -]{1,30} table", title) and line.strip()[-1:] == ":" else "")


def explain(text: str) -> str:
    """What else of amd-smi this is, and what to paste instead."""
    if re.search(r"^[ \t]*amd-smi\b|AMDSMI Tool:|AMD-SMI \d|^GPU: \d+[ \t]*$", text, re.MULTILINE):
        return "instead.amd_smi"
    return ""


@reader(
    "amd_smi",
    "the output of `amd-smi topology`",
    matches=matches,
    explain=explain,
    endings=("txt", "log", "json", "csv"),
)
@spread("set_rates", OPTIONS)
def read(
    text: str,
    *,
    name: str = "amd-smi topology",
    set_rates: Mapping[str, float | None],
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """The machine behind the tables; GPUs pass on over xGMI what came over it where a pair is several hops apart.

    `xgmi` is what joins a pair directly, all its links together. A range of bandwidths tells how many links a pair has.
    Raises InputError for tables that are cut, lopsided or name a link there is none of.
    """
    if "link_type" in text and (start := _JSON.search(text)):
        names, cells = _from_json(text[start.end() - 1 :], name)
    elif _is_csv(text):
        names, cells = _from_csv(text, name)
    else:
        names, cells = _from_tables(text, name)
    report = _report(names, cells, name)
    report.numa = _numa(text)
    return machine_of(report, name, set_rates, overhead=overhead, gamma=gamma)


def _report(names: list[str], cells: Cells, name: str) -> PairTables:
    """Cells by number instead of by bus."""
    if not names or not (cells["type"] or cells["weight"]):
        raise InputError("amd_smi.no_table", name=name)
    if len(set(names)) != len(names) or len(names) > MOST_GPUS:
        raise InputError("amd_smi.gpus", name=name, count=len(names))
    number = {gpu: i for i, gpu in enumerate(names)}
    report = PairTables(list(range(len(names))))
    for kind, table in cells.items():
        for (a, b), cell in table.items():
            if a == b or cell.upper() in ("N/A", *SELF):
                continue
            if kind != "bandwidth":
                report.cells[kind][number[a], number[b]] = cell
            elif (rate := _BANDWIDTH.fullmatch(cell)) and int(rate[1]) > 0:
                report.lanes[number[a], number[b]] = max(1, round(int(rate[2]) / int(rate[1])))
    return report


def _numa(text: str) -> dict[int, int]:
    """NUMA nodes as `amd-smi static --numa` tells them."""
    nodes = {}
    starts = list(_GPU_LINE.finditer(text))
    for start, end in zip(starts, [*starts[1:], None][: len(starts)], strict=True):
        if node := _NUMA_LINE.search(text, start.end(), end.start() if end else len(text)):
            nodes[int(start[1])] = int(node[1])
    return nodes


def _from_tables(text: str, name: str) -> tuple[list[str], Cells]:
    """Every table of the output. Raises InputError naming a row that is cut."""
    cells: Cells = {kind: {} for kind in (*SECTIONS.values(),)}
    names: list[str] = []
    table = ""
    header: list[str] = []
    for number, _, line in pasted_lines(text):
        words = line.replace("|", " ").split()
        if section := _section(line):
            table, header = section, []
        elif not words or not table or table == "-" or not _BUS.fullmatch(words[0]):
            table = "" if words and header else table
        elif not header:
            header = words
            names = names or header
            if header != names or not all(map(_BUS.fullmatch, header)):
                raise InputError("smi.other_gpus", file=name, line=number)
        else:
            if words[0] not in header or len(words) != len(header) + 1:
                raise InputError(
                    "smi.row", file=name, line=number, row=words[0], cells=len(words) - 1, gpus=len(header)
                )
            cells[table] |= {(words[0], other): word for other, word in zip(header, words[1:], strict=True)}
    return names, cells


def _from_json(text: str, name: str) -> tuple[list[str], Cells]:
    try:
        document = json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        raise InputError("amd_smi.json", name=name) from None
    if isinstance(document, dict):
        document = next((value for value in document.values() if isinstance(value, list)), [document])
    if not all(isinstance(gpu, dict) and "gpu" in gpu for gpu in document):
        raise InputError("amd_smi.no_list", name=name)
    cells: Cells = {kind: {} for kind in (*SECTIONS.values(),)}
    for gpu in document:
        for kind, other, cell in _said(gpu):
            cells[kind][str(gpu["gpu"]), other] = str(cell)
    names = [str(gpu["gpu"]) for gpu in document]
    _check_names(names, cells, name)
    return names, cells


def _said(gpu: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Table, other GPU and cell of a GPU's entry: a list of links, or a mapping for each table as before ROCm 6.1."""
    links = gpu.get("links")
    for link in links if isinstance(links, list) else []:
        if isinstance(link, dict) and "gpu" in link:
            yield from ((kind, str(link["gpu"]), link[key]) for key, kind in KEYS.items() if key in link)
    for key, kind in KEYS.items():
        if isinstance(gpu.get(key), dict):
            yield from ((kind, str(other).removeprefix("gpu_"), cell) for other, cell in gpu[key].items())


def _is_csv(text: str) -> bool:
    """Whether its first line names columns of `--csv`."""
    first = next((line for line in text.splitlines() if line.strip()), "").lower().split(",")
    return first[0].strip() == "gpu" and any("link_type" in word for word in first)


def _from_csv(text: str, name: str) -> tuple[list[str], Cells]:
    rows = [row for row in csv.reader(text.splitlines()) if any(cell.strip() for cell in row)]
    header = [word.strip().lower() for word in rows[0]]
    cells: Cells = {kind: {} for kind in (*SECTIONS.values(),)}
    other = next((i for i, word in enumerate(header) if i and word in ("gpu", "link_gpu", "links_gpu", "peer_gpu")), 0)
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise InputError("csv.cells", file=name, row=number, cells=len(row), columns=len(header))
        gpu = row[0].strip()
        for column, cell in zip(header, row, strict=True):
            wide = _COLUMN.fullmatch(column)
            key = column.removeprefix("links_").removeprefix("link_") if column not in KEYS else column
            if wide:
                cells[KEYS[wide[1]]][gpu, wide[2]] = cell.strip()
            elif other and key in KEYS:
                cells[KEYS[key]][gpu, row[other].strip()] = cell.strip()
    names = list(dict.fromkeys(row[0].strip() for row in rows[1:]))
    _check_names(names, cells, name)
    return names, cells


def _check_names(names: list[str], cells: Cells, name: str) -> None:
    strangers = {gpu for table in cells.values() for pair in table for gpu in pair if gpu not in names}
    if strangers:
        raise InputError("amd_smi.stranger", file=name, gpu=min(strangers))
