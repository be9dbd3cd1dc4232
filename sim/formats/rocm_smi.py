"""`rocm-smi --showtopo`: weights, hops and link types between AMD's GPUs, and their NUMA nodes.

The tables tell which pairs have an xGMI link, not how wide it is: widths follow from what machine the pattern
suggests, and every one of them is listed as assumed unless given. xGMI links are kept as NVLinks.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

from sim.errors import InputError
from sim.formats import reader
from sim.topology import Topology
from sim.topology.host import CDNA, CDNA3, Leaf, Place, Rates, build_host
from sim.units import Bandwidth, Time, fmt_bandwidth, fmt_time

TITLES = {
    "weight": r"weight\b.*\bGPUs",
    "hops": r"hops\b.*\bGPUs",
    "type": r"link type\b.*\bGPUs",
    "access": r"access\w*\b.*\bGPUs",
}
"""What the title of each table says, in `rocm_smi.py` of ROCm/rocm_smi_lib."""

XGMI_WEIGHT = 15
"""What each xGMI link on the way adds to the weight (AMD SMI documentation, amdsmi-cli-tool, `--weight`)."""

MOST_GPUS = 256
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NUMA = re.compile(r"GPU\[(\d{1,4})\]\s*:.*Numa (Node|Affinity)\s*:\s*(-?\d{1,6})\b", re.IGNORECASE)
Pair = tuple[int, int]


@dataclass(slots=True)
class _Report:
    """What the tables say: GPU numbers, cells by table and pair, NUMA nodes by GPU."""

    gpus: list[int] = field(default_factory=list)
    cells: dict[str, dict[Pair, str]] = field(default_factory=lambda: {kind: {} for kind in TITLES})
    numa: dict[int, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def matches(text: str) -> bool:
    """Whether a table between two GPUs is in it."""
    return re.search(r"^[=\s]*(weight|hops|link type) between two GPUs", text, re.IGNORECASE | re.MULTILINE) is not None


def explain(text: str) -> str:
    """What else of AMD's tools this is, and what to paste instead."""
    if re.search(r"^(ACCESS|WEIGHT|HOPS|LINK TYPE|NUMA BW) TABLE", text, re.MULTILINE):
        return "the output of `amd-smi topology`: paste `rocm-smi --showtopo` of the same machine"
    if "ROCm System Management Interface" in text or "ROCM-SMI" in text.upper():
        return "an output of rocm-smi that tells no paths: paste `rocm-smi --showtopo`"
    return ""


@reader("rocm_smi", "the output of `rocm-smi --showtopo`", matches=matches, explain=explain, endings=("txt", "log"))
def read(
    text: str,
    *,
    name: str = "rocm-smi --showtopo",
    xgmi: Bandwidth | None = None,
    xgmi_latency: Time | None = None,
    pcie: Bandwidth | None = None,
    sys: Bandwidth | None = None,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
) -> Topology:
    """The machine behind the tables; GPUs pass on over xGMI what came over it where a pair is several hops apart.

    `xgmi` is what joins a pair directly, all its links together. Raises InputError for tables that are cut,
    lopsided or name a link there is none of.
    """
    report = _report(text, name)
    kinds = _link_types(report, name)
    direct = [pair for pair, kind in kinds.items() if kind == "XGMI" and _xgmi_hops(report, pair, name) == 1]
    far = [pair for pair, kind in kinds.items() if kind == "XGMI" and pair not in direct]
    _check_reach(report.gpus, direct, far, name)
    domains = _domains(report, kinds, name)
    given = {"nvlink": xgmi, "nvlink_latency": xgmi_latency, "pix": pcie, "sys": sys}
    rates, suggestion = _generation(len(report.gpus), len(direct))
    pci = dict.fromkeys(("pix", "pxb", "phb", "node"), pcie or rates.pix)
    rates = replace(rates, **pci, **{key: value for key, value in given.items() if value and key != "pix"})
    seats: dict[int, int] = {}
    leaves = []
    for gpu in report.gpus:
        domain = domains[gpu]
        seats[domain] = seats.get(domain, -1) + 1
        leaves.append(Leaf(f"GPU{gpu}", "GPU", Place(domain, seats[domain]), report.numa.get(gpu, -1)))
    host = build_host(name, leaves, rates, {(f"GPU{a}", f"GPU{b}"): 1 for a, b in direct})
    relays = max((_xgmi_hops(report, pair, name) - 1 for pair in far), default=0)
    notes = report.notes + _rate_notes(given, rates, suggestion, direct=bool(direct), domains=len(seats))
    return replace(host, overhead=overhead, gamma=gamma, relays=relays, assumed=tuple(notes))


def _report(text: str, name: str) -> _Report:
    """Every table and line of the output. Raises InputError naming a row that is cut."""
    report, table = _Report(), ""
    header: list[int] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = _COLOUR.sub("", raw).strip().strip("=").strip()
        words = line.split()
        title = next((kind for kind, pattern in TITLES.items() if re.match(pattern, line, re.IGNORECASE)), "")
        if title:
            table, header = title, []
        elif (told := _NUMA.search(line)) is not None:
            table = ""
            if told[2].lower() == "node":
                report.numa[int(told[1])] = int(told[3])
        elif table and words and not header:
            header = _header(words, f"{name}, line {number}")
            report.gpus = report.gpus or header
            if header != report.gpus:
                raise InputError(f"{name}, line {number}: this table has other GPUs than the first: paste all of one")
        elif table and words and re.fullmatch(r"GPU\d{1,4}", words[0]):
            report.cells[table] |= _row(words, header, f"{name}, line {number}")
        elif words:
            table = ""
    if not report.gpus:
        raise InputError(f"{name} holds no table of GPUs: paste the output of `rocm-smi --showtopo`")
    return report


def _row(words: list[str], header: list[int], where: str) -> dict[Pair, str]:
    """What a row of a table says of its GPU and each of the header's. Raises InputError where it is cut."""
    gpu = _gpu(words[0])
    if gpu not in header or len(words) != len(header) + 1:
        raise InputError(
            f"{where}: row {words[0]} has {len(words) - 1} entries for {len(header)} GPUs:"
            " paste the table again, unwrapped and whole"
        )
    return {(gpu, other): word for other, word in zip(header, words[1:], strict=True)}


def _header(words: list[str], where: str) -> list[int]:
    """GPU numbers of a header row. Raises InputError where it is none."""
    if not all(re.fullmatch(r"GPU\d{1,4}", word) for word in words):
        raise InputError(f"{where}: a row of GPU names is due here, like `GPU0 GPU1`: paste the table again")
    gpus = [_gpu(word) for word in words]
    if len(set(gpus)) != len(gpus) or len(gpus) > MOST_GPUS:
        raise InputError(f"{where}: {len(gpus)} GPUs, some of them twice or too many: paste the table of one machine")
    return gpus


def _gpu(word: str) -> int:
    return int(word.removeprefix("GPU"))


def _cell(report: _Report, table: str, pair: Pair, name: str) -> str:
    """What a table says of a pair, from either row; empty where it is cut. Raises InputError where rows disagree."""
    cells = report.cells[table]
    here, back = cells.get(pair, ""), cells.get((pair[1], pair[0]), "")
    if here and back and here != back:
        raise InputError(
            f"{name}: GPU{pair[0]} calls its {table} to GPU{pair[1]} {here[:20]}, that one says {back[:20]}:"
            " paste the table again"
        )
    return here or back


def _number(report: _Report, table: str, pair: Pair, usual: int, name: str) -> int:
    """A weight or a number of hops; `usual` where the table is missing."""
    told = _cell(report, table, pair, name)
    if told and not re.fullmatch(r"\d{1,6}", told):
        raise InputError(f"{name}: {table} of GPU{pair[0]} to GPU{pair[1]} is {told[:20]!r}, no number: paste it again")
    return int(told) if told else usual


def _xgmi_hops(report: _Report, pair: Pair, name: str) -> int:
    """How many xGMI links in a row between a pair: by weight too, as older releases count every route as one hop."""
    weight = _number(report, "weight", pair, XGMI_WEIGHT, name)
    return max(_number(report, "hops", pair, 1, name), weight // XGMI_WEIGHT if weight % XGMI_WEIGHT == 0 else 1)


def _link_types(report: _Report, name: str) -> dict[Pair, str]:
    """XGMI or PCIE for every pair, from the table or, where that is cut off, from the weights."""
    kinds = {}
    guessed = []
    for pair in combinations(report.gpus, 2):
        told = _cell(report, "type", pair, name).upper()
        if not told:
            weight = _number(report, "weight", pair, 0, name)
            if not weight:
                raise InputError(
                    f"{name}: nothing says how GPU{pair[0]} and GPU{pair[1]} are joined: paste the table of link types"
                )
            told = "XGMI" if weight % XGMI_WEIGHT == 0 else "PCIE"
            guessed.append(pair)
        if told not in ("XGMI", "PCIE"):
            raise InputError(
                f"{name}: GPU{pair[0]} and GPU{pair[1]} are joined by {told[:20]!r}, which is neither XGMI nor PCIE:"
                " paste the table of a machine whose driver knows its links"
            )
        kinds[pair] = told
    if guessed:
        report.notes.append(
            f"link types of {len(guessed)} pairs read off their weights: multiples of {XGMI_WEIGHT} are xGMI"
        )
    if any(kind == "XGMI" for kind in kinds.values()) and not report.cells["hops"] and not report.cells["weight"]:
        report.notes.append("no table of hops or weights: every xGMI pair is taken as joined directly")
    return kinds


def _check_reach(gpus: list[int], direct: Iterable[Pair], far: Iterable[Pair], name: str) -> None:
    """Pairs several xGMI hops apart must be reachable over direct links."""
    group = {gpu: {gpu} for gpu in gpus}
    for a, b in direct:
        joined = group[a] | group[b]
        group.update(dict.fromkeys(joined, joined))
    for a, b in far:
        if b not in group[a]:
            raise InputError(
                f"{name}: GPU{a} and GPU{b} say XGMI over several hops, but no pairs one hop apart lead there:"
                " paste the table of hops again"
            )


def _domains(report: _Report, kinds: Mapping[Pair, str], name: str) -> dict[int, int]:
    """A number per NUMA node; where none is told, GPUs three or more PCIe hops apart are on different ones."""
    silent = [gpu for gpu in report.gpus if report.numa.get(gpu, -1) < 0]
    domains = {gpu: report.numa[gpu] for gpu in report.gpus if gpu not in silent}
    following = max(domains.values(), default=-1) + 1
    for i, gpu in enumerate(silent):
        near = (o for o in silent[:i] if kinds[o, gpu] == "XGMI" or _number(report, "hops", (o, gpu), 2, name) < 3)
        other = next(near, None)
        domains[gpu] = following if other is None else domains[other]
        following += other is None
    if silent:
        who = ", ".join(f"GPU{gpu}" for gpu in silent)
        report.notes.append(f"NUMA nodes of {who} are not told: those three PCIe hops apart are kept apart")
    return domains


def _generation(gpus: int, direct: int) -> tuple[Rates, str]:
    """Rates of the machine that so many xGMI pairs suggest, and why."""
    if gpus == 8 and direct == gpus * (gpus - 1) // 2:
        return CDNA3, "8 GPUs with xGMI between all pairs read as MI300X"
    return (CDNA, "xGMI read as that of MI200") if direct else (CDNA, "no xGMI: read as cards on PCIe gen4")


def _rate_notes(
    given: Mapping[str, float | None], rates: Rates, suggestion: str, *, direct: bool, domains: int
) -> list[str]:
    """The rates in use that nobody gave, with their numbers."""
    used = {"nvlink": direct, "nvlink_latency": direct, "pix": True, "sys": domains > 1}
    told = {"nvlink": "xgmi", "nvlink_latency": "xgmi_latency", "pix": "pcie"}
    notes = []
    for key in (key for key, so in used.items() if so and given[key] is None):
        value = (fmt_time if key.endswith("latency") else fmt_bandwidth)(getattr(rates, key))
        notes.append(f"assumed {told.get(key, key)}={value}: give {told.get(key, key)}= to change it")
    width = ["one xGMI link per direct pair, as the tables do not tell their number"] if direct else []
    return [f"{suggestion}, rates as in RCCL's src/graph/topo.h", *width, *notes] if notes else width
