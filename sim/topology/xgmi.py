"""Machines of AMD's GPUs from what their tools say of each pair: weights, hops, link types, NUMA nodes.

The tables tell which pairs have an xGMI link, not always how wide it is: widths follow from what machine the pattern
suggests, and every one of them is listed as assumed unless given. xGMI links are kept as NVLinks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from sim.base.numbers import whole
from sim.errors import InputError
from sim.topology.host import CDNA, CDNA3, Leaf, Place, Rates, build_host
from sim.topology.model import Topology
from sim.units import Bandwidth, Time, fmt_bandwidth, fmt_time

XGMI_WEIGHT = 15
"""What each xGMI link on the way adds to the weight (AMD SMI documentation, amdsmi-cli-tool, `--weight`)."""
KINDS = ("weight", "hops", "type", "access")
"""The tables that a tool may print."""
MOST_GPUS = 256
OPTIONS: dict[str, tuple[Any, Any]] = {
    "xgmi": (Bandwidth | None, None),
    "xgmi_latency": (Time | None, None),
    "pcie": (Bandwidth | None, None),
    "sys": (Bandwidth | None, None),
}
"""Options of a reader, by name: their kinds and defaults."""
Pair = tuple[int, int]


@dataclass(slots=True)
class PairTables:
    """What the tables of a tool say: GPU numbers, cells by table and pair, NUMA nodes by GPU, links of a pair."""

    gpus: list[int] = field(default_factory=list)
    cells: dict[str, dict[Pair, str]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    numa: dict[int, int] = field(default_factory=dict)
    lanes: dict[Pair, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def machine_of(
    report: PairTables, name: str, set_rates: Mapping[str, float | None], *, overhead: float, gamma: float
) -> Topology:
    """The machine behind tables; GPUs pass on over xGMI what came over it where a pair is several hops apart.

    `given` are rates by the names of `OPTIONS`: `xgmi` is what joins a pair directly, all its links together. Raises
    InputError for tables that are cut, lopsided or name a link there is none of.
    """
    kinds = _link_types(report, name)
    direct = [pair for pair, kind in kinds.items() if kind == "XGMI" and _xgmi_hops(report, pair, name) == 1]
    far = [pair for pair, kind in kinds.items() if kind == "XGMI" and pair not in direct]
    _check_reach(report.gpus, direct, far, name)
    domains = _domains(report, kinds, name)
    rates, suggestion = _generation(len(report.gpus), len(direct))
    pci: dict[str, Any] = dict.fromkeys(("pix", "pxb", "phb", "node"), set_rates["pcie"] or rates.pix)
    names = {"nvlink": "xgmi", "nvlink_latency": "xgmi_latency", "sys": "sys"}
    own_rates: dict[str, Any] = {key: value for key, own in names.items() if (value := set_rates[own])}
    rates = replace(rates, **pci, **own_rates)
    seats: dict[int, int] = {}
    leaves = []
    for gpu in report.gpus:
        domain = domains[gpu]
        seats[domain] = seats.get(domain, -1) + 1
        leaves.append(Leaf(f"GPU{gpu}", "GPU", Place(domain, seats[domain]), report.numa.get(gpu, -1)))
    lanes = {} if set_rates["xgmi"] else report.lanes
    host = build_host(name, leaves, rates, {(f"GPU{a}", f"GPU{b}"): lanes.get((a, b), 1) for a, b in direct})
    relays = max((_xgmi_hops(report, pair, name) - 1 for pair in far), default=0)
    counted = bool(direct) and all(pair in lanes for pair in direct)
    notes = report.notes + _rate_notes(
        set_rates, rates, suggestion, direct=bool(direct), counted=counted, domains=len(seats)
    )
    return replace(host, overhead=overhead, gamma=gamma, relays=relays, assumed=tuple(notes))


def _cell(report: PairTables, table: str, pair: Pair, name: str) -> str:
    """What a table says of a pair, from either row; empty where it is cut. Raises InputError where rows disagree."""
    cells = report.cells[table]
    here, back = cells.get(pair, ""), cells.get((pair[1], pair[0]), "")
    if here and back and here != back:
        raise InputError("xgmi.disagree", file=name, a=pair[0], table=table, b=pair[1], here=here, back=back)
    return here or back


def _number(report: PairTables, table: str, pair: Pair, usual: int, name: str) -> int:
    """A weight or a number of hops; `usual` where the table is missing."""
    text = _cell(report, table, pair, name)
    number = whole(text) if text else usual
    if number is None or not 0 <= number < 10**6:
        raise InputError("xgmi.number", file=name, table=table, a=pair[0], b=pair[1], text=text)
    return number


def _xgmi_hops(report: PairTables, pair: Pair, name: str) -> int:
    """How many xGMI links in a row between a pair: by weight too, as older releases count every route as one hop."""
    weight = _number(report, "weight", pair, XGMI_WEIGHT, name)
    return max(_number(report, "hops", pair, 1, name), weight // XGMI_WEIGHT if weight % XGMI_WEIGHT == 0 else 1)


def _link_types(report: PairTables, name: str) -> dict[Pair, str]:
    """XGMI or PCIE for every pair, from the table or, where that is cut off, from the weights."""
    kinds = {}
    guessed = []
    for pair in combinations(report.gpus, 2):
        kind = _cell(report, "type", pair, name).upper()
        if not kind:
            weight = _number(report, "weight", pair, 0, name)
            if not weight:
                raise InputError("xgmi.missing", file=name, a=pair[0], b=pair[1])
            kind = "XGMI" if weight % XGMI_WEIGHT == 0 else "PCIE"
            guessed.append(pair)
        if kind not in ("XGMI", "PCIE"):
            raise InputError("xgmi.kind", file=name, a=pair[0], b=pair[1], kind=kind)
        kinds[pair] = kind
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
            raise InputError("xgmi.hops", file=name, a=a, b=b)


def _domains(report: PairTables, kinds: Mapping[Pair, str], name: str) -> dict[int, int]:
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
    set_rates: Mapping[str, float | None], rates: Rates, suggestion: str, *, direct: bool, counted: bool, domains: int
) -> list[str]:
    """The rates in use that nobody gave, with their numbers."""
    used = {"xgmi": direct, "xgmi_latency": direct, "pcie": True, "sys": domains > 1}
    names = {"xgmi": "nvlink", "xgmi_latency": "nvlink_latency", "pcie": "pix", "sys": "sys"}
    notes = []
    for key in (key for key, so in used.items() if so and set_rates[key] is None):
        value = (fmt_time if key.endswith("latency") else fmt_bandwidth)(getattr(rates, names[key]))
        notes.append(f"assumed {key}={value}: give {key}= to change it")
    width = ["one xGMI link per direct pair, as the tables do not tell their number"] if direct and not counted else []
    return [f"{suggestion}, rates as in RCCL's src/graph/topo.h", *width, *notes] if notes else width
