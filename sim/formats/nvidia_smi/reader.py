"""The matrix of `nvidia-smi topo -m` (and `-mp`): which path joins each pair of GPUs and NICs.

The matrix tells classes, not rates: those follow from the GPU generation its NVLinks suggest, and every one of
them is listed as assumed unless given.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sim.errors import InputError, Message
from sim.formats import reader
from sim.formats.nvidia_smi.generation import generation, has_no_peers, named, newer
from sim.formats.nvidia_smi.placement import UNKNOWN, Placement, place
from sim.formats.nvidia_smi.table import P2P_WORDS, Matrix, PastedTable, check, has_rows, is_gpu, tables
from sim.machines.through_memory import through_memory, without_gpudirect
from sim.parameters import Bounds, spread
from sim.topology import Topology
from sim.topology.host import RATES, Leaf, Rates, build_host, rate_options
from sim.topology.pair_rates import Pairs, matrices, rates_of
from sim.topology.path_classes import CLASSES
from sim.topology.rails import join_by_rails
from sim.units import Time, fmt_bandwidth, fmt_time

MOST_NUMA = 1023
"""The highest NUMA node Linux numbers (CONFIG_NODES_SHIFT is at most 10)."""

OTHER_OUTPUTS = (
    (r"NVIDIA-SMI \d", "instead.overview"),
    (r"^GPU \d+: .*\(UUID", "instead.gpu_list"),
)


def _topo_tables(text: str) -> list[PastedTable]:
    """Tables that hold path classes rather than peer-to-peer states."""
    pasted = tables(text)
    peers = set(P2P_WORDS)
    return [table for table in pasted if table.words - peers - {"X"} or (not table.words & peers and table.is_table)]


def matches(text: str) -> bool:
    """Whether a table of `topo -m` is in it."""
    return bool(_topo_tables(text))


def explain(text: str) -> str:
    """What else of nvidia-smi this is, and what to paste instead."""
    if any(table.words & set(P2P_WORDS) for table in tables(text)):
        return "instead.p2p"
    if matrices(text):
        return "instead.rates"
    if has_rows(text):
        return "instead.rows"
    return next((explanation for pattern, explanation in OTHER_OUTPUTS if re.search(pattern, text, re.MULTILINE)), "")


@reader(
    "nvidia_smi",
    "the output of `nvidia-smi topo -m`",
    matches=matches,
    explain=explain,
    endings=("txt", "log"),
    precedence=-1,  # any table whose rows and columns are GPUs looks like it
)
@spread("set_rates", rate_options(*RATES))
def read(
    text: str,
    *,
    name: str = "nvidia-smi topo -m",
    gpu: str = "",
    set_rates: Mapping[str, float | None],
    hosts: Annotated[int, Bounds(1, 1024)] = 1,
    overhead: Time = 0.0,
    gamma: Time = 0.0,
    p2p: Literal["", "yes", "no"] = "",
    gdr: bool = True,
) -> Topology:
    """The machine behind a matrix; `hosts` of them joined by their NICs.

    Without `p2p` GPUs reach each other's memory over NVLinks alone, and without `gdr` NICs reach into none. GeForce
    cards have no P2P unless the text shows it: their driver has none.

    Bandwidths and latencies are those of `sim.topology.host.Rates`; what is not given follows from the generation of
    the GPUs, which is that of `gpu`, of the GPU the text names, or of those that have as many NVLinks, and is listed in
    `assumed`. Raises InputError for a matrix that is cut, lopsided or impossible.
    """
    pasted = _topo_tables(text)
    if not pasted:
        raise InputError("nvidia_smi.no_table", name=name)
    matrix = check(pasted[0], name)
    gpus = [device for device in matrix.names if is_gpu(device)]
    nvlinks = {(a, b): int(cell[2:]) for a, b in combinations(gpus, 2) if (cell := matrix.cells[a, b]).startswith("NV")}
    if 0 in nvlinks.values():
        raise InputError("nvidia_smi.nv0", name=name)
    numa = _numa(matrix, gpus, name)
    placement = _place(matrix, gpus, numa, name)
    notes = _notes(text, matrix, gpus, placement, numa, tables_found=len(pasted)) + _table_notes(pasted[0])
    numa = numa or _numa_of_groups(placement, gpus)
    leaves = _leaves(matrix, placement, numa)
    listed = {node for nodes in numa.values() for node in nodes}
    rates, suggestions = _rates(gpu, text, nvlinks)
    chosen: dict[str, Any] = {key: value for key, value in set_rates.items() if value is not None}
    classes = {(a, b): CLASSES[placement.classes[i, j]] for (i, a), (j, b) in combinations(enumerate(gpus), 2)}
    measured, measured_notes = rates_of(text, Pairs(gpus, nvlinks, classes), replace(rates, **chosen), name)
    rates = newer(replace(rates, **{**measured, **chosen}), suggestions)
    host = build_host(name, leaves, rates, nvlinks, numa_nodes=listed)
    pairs = {a: {b: matrix.cells[a, b] for b in matrix.names if (a, b) in matrix.cells} for a in matrix.names}
    notes += measured_notes
    unknown = [key for key in _rates_used(nvlinks, placement, leaves, hosts) if key not in measured]
    notes += _rate_notes(unknown, rates, set_rates, suggestions)
    host = replace(host, pairs=pairs, assumed=tuple(notes), overhead=overhead, gamma=gamma)
    whole = join_by_rails(host, hosts, rates.nic, rates.nic_latency)
    if p2p == "no" or (not p2p and has_no_peers(f"{gpu} {text}")):
        copied = through_memory(whole, level="NVL")
        assumed = () if p2p or copied is whole else ("GeForce cards have no P2P: give p2p=yes where a driver has it",)
        whole = copied.but(assumed=(*copied.assumed, *assumed))
    return whole if gdr else without_gpudirect(whole)


def _numa(matrix: Matrix, gpus: list[str], name: str) -> dict[str, frozenset[int]]:
    """NUMA nodes by GPU: as listed, else one per distinct CPU list; nothing when neither is told."""
    if matrix.numa:
        return {gpu: frozenset(_numbers(value, name, gpu)) for gpu, value in matrix.numa.items()}
    lists = dict.fromkeys(matrix.cpu[gpu] for gpu in gpus if gpu in matrix.cpu)
    order = sorted(lists, key=lambda cores: (len(re.split("[-,]", cores)[0]), cores))
    return {gpu: frozenset([order.index(cores)]) for gpu, cores in matrix.cpu.items()}


def _numbers(text: str, name: str, gpu: str) -> set[int]:
    """`0-1,3` as numbers."""
    numbers: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        if len(part) > 9 or int(high or low) > MOST_NUMA or int(high or low) < int(low):
            raise InputError("nvidia_smi.numa", file=name, gpu=gpu, text=text)
        numbers |= set(range(int(low), int(high or low) + 1))
    return numbers


def _place(matrix: Matrix, gpus: list[str], numa: dict[str, frozenset[int]], name: str) -> Placement:
    """Places by class. Raises InputError when the GPUs' classes fit no tree."""
    names = matrix.names
    classes = np.full((len(names), len(names)), UNKNOWN, np.int32)
    for (i, a), (j, b) in combinations(enumerate(names), 2):
        cell = matrix.cells.get((a, b), "")
        if cell in CLASSES:
            classes[i, j] = classes[j, i] = CLASSES.index(cell)
    apart = np.array([[bool(numa.get(a) and numa.get(b) and not numa[a] & numa[b]) for b in names] for a in names])
    placement = place(classes, apart)
    differs = (classes != UNKNOWN) & (placement.classes != classes)
    np.fill_diagonal(differs, val=False)
    among_gpus = [(i, j) for i, j in np.argwhere(differs).tolist() if i < j and {names[i], names[j]} <= set(gpus)]
    if among_gpus:
        i, j = among_gpus[0]
        raise InputError(
            "nvidia_smi.no_tree",
            file=name,
            a=names[i],
            b=names[j],
            kind=CLASSES[classes[i, j]],
            witness=_witness(names, classes, i, j),
            kind2=CLASSES[placement.classes[i, j]],
        )
    return placement


def _witness(names: list[str], classes: NDArray[np.int32], i: int, j: int) -> Message:
    """Who brings two devices nearer than they say."""
    farther = np.maximum(classes[i], classes[j])
    farther[[i, j]] = UNKNOWN
    via = int(farther.argmin())
    if farther[via] < classes[i, j]:
        return Message("nvidia_smi.near_both", name=names[via])
    return Message("nvidia_smi.others")


def _numa_of_groups(placement: Placement, gpus: list[str]) -> dict[str, frozenset[int]]:
    """One NUMA node per group of GPUs that are NODE or nearer."""
    domains = [where[0] for where in placement.places]
    order = list(dict.fromkeys(domains[: len(gpus)]))
    return {gpu: frozenset([order.index(domains[i])]) for i, gpu in enumerate(gpus)}


def _leaves(matrix: Matrix, placement: Placement, numa: dict[str, frozenset[int]]) -> list[Leaf]:
    """Devices in their places; a NIC's NUMA node is that of the GPUs it shares a domain with."""
    domain_numa: dict[int, int] = {}
    for device, where in zip(matrix.names, placement.places, strict=True):
        if numa.get(device):
            domain_numa.setdefault(where.domain, min(numa[device]))
    return [
        Leaf(
            device,
            "GPU" if is_gpu(device) else "NIC",
            where,
            min(numa[device]) if numa.get(device) else domain_numa.get(where.domain, -1),
        )
        for device, where in zip(matrix.names, placement.places, strict=True)
    ]


def _rates(gpu: str, text: str, nvlinks: dict[tuple[str, str], int]) -> tuple[Rates, list[str]]:
    """Rates of the GPUs, and why. Raises InputError for a GPU nobody knows."""
    if not gpu:
        return generation(text, nvlinks)
    names = named(gpu)
    if len(names) != 1:
        raise InputError("nvidia_smi.gpu", gpu=gpu)
    return names[0].generation.rates, [f"read as {names[0].name}"]


def _table_notes(table: PastedTable) -> list[str]:
    """What of the table itself could not be read."""
    notes = []
    if table.cut:
        lost = ", ".join([*table.lost, *(["affinities"] if not table.titles else [])])
        notes.append(f"every line is cut at the same column, and what lies beyond is left out: {lost or 'a title'}")
    rows = [row for row in table.rows if row.unread and is_gpu(row.name)]
    if rows:
        notes.append(
            f"affinities of {', '.join(row.name for row in rows)} are read up to {rows[0].unread[:20]!r}"
            f" (line {rows[0].line}), which is no list of CPUs"
        )
    return notes


def _notes(
    text: str,
    matrix: Matrix,
    gpus: list[str],
    placement: Placement,
    numa: dict[str, frozenset[int]],
    tables_found: int,
) -> list[str]:
    """What the file leaves open about places."""
    notes = []
    if tables_found > 1:
        notes.append(f"{tables_found} tables: only the first one is read")
    if "NODE =" in re.sub(r"\s+", " ", text) and "NV#" not in text:
        notes.append("no NV# in the legend, as `nvidia-smi topo -mp` prints it: NVLinks, if any, are left out")
    hidden: dict[str, list[str]] = {}
    for i, j in np.argwhere(np.triu(placement.assumed, 1)).tolist():
        pair = f"{matrix.names[i]}-{matrix.names[j]}"
        hidden.setdefault(CLASSES[placement.classes[i, j]], []).append(pair)
    notes += [
        f"PCIe paths the table does not tell, taken as {word}: {', '.join(pairs)}" for word, pairs in hidden.items()
    ]
    odd: dict[tuple[str, str], list[str]] = {}
    for (i, a), (j, b) in combinations(enumerate(matrix.names), 2):
        cell, word = matrix.cells.get((a, b), ""), CLASSES[placement.classes[i, j]]
        if cell in CLASSES and cell != word:
            odd.setdefault((cell, word), []).append(f"{a}-{b}")
    notes += [
        f"{cell} fits no tree of PCIe switches between {', '.join(pairs)}: routed as {word}"
        for (cell, word), pairs in odd.items()
    ]
    if matrix.filled:
        notes.append(f"rows of {', '.join(matrix.filled)} filled in from the GPUs' rows")
    if not matrix.numa:
        notes.append(f"NUMA nodes from {'distinct CPU affinities' if numa else 'the groups that are NODE or nearer'}")
    domains = {gpu: placement.places[i][0] for i, gpu in enumerate(matrix.names) if gpu in gpus}
    split = [f"{a}-{b}" for a, b in combinations(numa, 2) if numa[a] == numa[b] and domains[a] != domains[b]]
    if split:
        notes.append(f"SYS inside one NUMA node, kept as domains of their own: {', '.join(split)}")
    mixed = [f"{a}-{b}" for a, b in combinations(numa, 2) if not numa[a] & numa[b] and domains[a] == domains[b]]
    if mixed:
        notes.append(f"nearer than SYS across NUMA nodes, kept in one domain: {', '.join(mixed)}")
    return notes


def _rates_used(nvlinks: dict[tuple[str, str], int], placement: Placement, leaves: list[Leaf], hosts: int) -> list[str]:
    """The rates that some link takes."""
    classes = {CLASSES[word] for word in np.unique(placement.classes[np.triu_indices(len(leaves), 1)])}
    used = {
        "nvlink": bool(nvlinks),
        "pix": True,
        "pxb": "PXB" in classes,
        "phb": True,
        "node": "NODE" in classes,
        "sys": "SYS" in classes,
    }
    used |= {f"{key}_latency": so for key, so in used.items()}
    used["nic"] = any(leaf.kind == "NIC" for leaf in leaves)
    used["nic_latency"] = hosts > 1
    return [key for key, so in used.items() if so]


def _rate_notes(
    used: list[str], rates: Rates, set_rates: Mapping[str, float | None], suggestions: list[str]
) -> list[str]:
    """The rates in use that nobody gave, with their numbers."""
    notes = [
        f"assumed {key}={(fmt_time if key.endswith('_latency') else fmt_bandwidth)(getattr(rates, key))}:"
        f" give {key}= to change it"
        for key in used
        if set_rates[key] is None
    ]
    return [*suggestions[:-1], f"{suggestions[-1]}, rates as in NCCL's src/graph/topo.h", *notes] if notes else []
