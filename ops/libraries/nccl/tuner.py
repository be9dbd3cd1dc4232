"""NCCL's tuner: the time it predicts for every algorithm and protocol, and so which one it takes.

time(µs) = latency + bytes / (1000 · GB/s); the least one wins (NCCL 2.30 `src/graph/tuning.cc`, `src/enqueue.cc`).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from ops.libraries.nccl.constants import (
    ABLE,
    NVLS_CHANNELS,
    NVLS_CHUNKS,
    NVLS_EFFICIENCY,
    NVLS_HEADS,
    NVLS_TREE_CHUNK,
    NVLS_TREE_MOST,
    NVLS_TREE_NODES,
    POST,
    POST_AMD,
    PROTOCOLS,
    Generation,
    Kind,
    Protocol,
)
from ops.libraries.nccl.releases import NEWEST, RELEASES, Release
from ops.libraries.nccl.variables import FREE, Variables
from sim.errors import InputError


@dataclass(frozen=True, slots=True)
class Situation:
    """What the tuner looks at: n ranks on so many nodes, and what NCCL's search found between them.

    `channels` carry `bw_intra` each inside a node and `bw_inter` between nodes (GB/s). `kind` is the link inside a
    node; `nvls_channels` is 0 without NVLink SHARP, `collnet` tells whether the network's switches add.
    """

    n: int
    nodes: int
    generation: Generation
    channels: int
    bw_intra: float
    bw_inter: float
    kind: Kind = "NVLINK"
    amd_cpu: bool = False
    ll128: bool = True
    nvls_channels: int = 0
    collnet: bool = False
    same_channels: bool = True
    latency_inter: float = 0.0
    bw_tree: float = 0.0
    """What a channel of a tree carries inside nodes where that is more, as on two nodes; 0 for `bw_intra`."""
    bw_net: float = 0.0
    """What a channel of a tree carries between nodes, where that is more than a ring's; 0 for `bw_inter`."""
    bw_nvls: float = 0.0
    """What a channel of the graph for NVLink SHARP carries; 0 where it shares what the rings have."""
    bw_nvls_net: float = 0.0
    """The same between nodes."""
    simple_tree: bool = False
    """Whether one GPU of a node has all of a tree's traffic between nodes."""
    release: str = NEWEST
    """Whose tables NCCL reckons with, one of `RELEASES`."""
    variables: Variables = FREE
    """What a person set of NCCL."""

    @property
    def tables(self) -> Release:
        """Those of its release."""
        return RELEASES[self.release]

    @property
    def per_node(self) -> float:
        """Ranks per node."""
        return self.n / self.nodes

    @property
    def between(self) -> float:
        """What a channel of a tree carries between nodes, GB/s."""
        return self.bw_net or self.bw_inter

    @property
    def column(self) -> int:
        """Where the tables' figures for so many nodes stand."""
        return min(self.nodes, 3) - 1


class Candidate(NamedTuple):
    """One algorithm with one protocol: s before the first byte, B/s of the collective's size, s altogether."""

    algorithm: str
    protocol: Protocol
    latency: float
    bandwidth: float
    time: float


def candidates(collective: str, size: float, at: Situation) -> list[Candidate]:
    """Everything NCCL could run for so many bytes, fastest first by its own reckoning.

    Raises InputError for a collective the tuner knows nothing of.
    """
    if collective not in ABLE:
        raise InputError("nccl.tuner", collective=collective, choices=ABLE)
    predictions = []
    for algorithm in ABLE[collective]:
        for p, protocol in enumerate(PROTOCOLS):
            rate = algorithm_bandwidth(collective, algorithm, p, at)
            if rate <= 0:
                continue
            wait = latency(collective, algorithm, p, at)
            rate, wait = _corrected(collective, algorithm, protocol, size, at, rate, wait)
            time = wait + size / (1000 * rate)
            predictions.append(Candidate(algorithm, protocol, wait * 1e-6, rate * 1e9, time * 1e-6))
    return sorted(predictions, key=lambda candidate: candidate.time)


def steps(collective: str, n: int) -> int:
    """How many steps a ring takes: nsteps."""
    return {"allreduce": 2 * (n - 1), "allgather": n - 1, "reduce_scatter": n - 1}.get(collective, n)


def algorithm_bandwidth(collective: str, algorithm: str, p: int, at: Situation) -> float:
    """GB/s of a collective's size; 0 where NCCL has no such thing here. `p` counts `PROTOCOLS`."""
    if not _available(collective, algorithm, p, at):
        return 0.0
    tables = at.tables
    inside, between = (at.bw_tree or at.bw_intra, at.between) if algorithm == "Tree" else (at.bw_intra, at.bw_inter)
    bw = inside if at.nodes <= 2 or algorithm.startswith("CollNet") else between
    bus = min(at.channels * bw, (tables.bus or {}).get(at.generation, math.inf))
    if algorithm == "Ring":
        bus = _ring(collective, p, at, bus)
    elif algorithm == "Tree":
        bus = _tree(collective, p, at, bus)
    elif algorithm == "PAT":
        bus *= 0.75
    elif algorithm.startswith("NVLS"):
        bus = _nvls(collective, algorithm, at)
    elif algorithm == "CollNetDirect":
        factor = at.per_node / at.channels
        bus /= factor - (factor - 1) / 2
        bus *= 0.85 if at.generation in ("Hopper", "Blackwell") else 1.0
    if algorithm.startswith("NVLS") and tables.switch:
        return bus if collective != "allreduce" and tables.switch != "flat" else bus * 5 / 6
    if algorithm in ("Ring", "NVLS", "NVLSTree", "PAT"):
        return bus * at.n / steps(collective, at.n)
    return bus * 0.5


def _ll_most(at: Situation) -> float:
    row: Generation = at.generation if at.nodes == 1 else "Ampere" if at.amd_cpu else "Volta"
    return at.tables.ll[row][at.column]


def _ring(collective: str, p: int, at: Situation, bus: float) -> float:
    """GB/s on the bus of a ring that carries so many with Simple."""
    tables = at.tables
    adds = at.nodes > 1 or collective in ("allreduce", "reduce")
    of_channel = (tables.ll128_of or {}).get(collective, tables.ring_ll128[at.generation][at.column])
    share = tables.alone_ll128 if at.per_node < 2 else 0.92
    return (
        min(_ll_most(at), tables.ring_ll[0 if adds else 1] * bus),
        min(share * bus, at.channels * of_channel),
        bus,
    )[p]


def _tree(collective: str, p: int, at: Situation, bus: float) -> float:
    """The same of a tree."""
    tables = at.tables
    of_channel = (tables.ll128_of or {}).get(collective, tables.tree_ll128[at.generation][at.column])
    share = 7 / 9 if at.nodes == 1 else 120 / 128
    bus = min(0.92 * bus, at.channels * tables.tree[at.generation][at.column])
    rate = (min(bus / 3.8, _ll_most(at)), min(bus * share, at.channels * of_channel), bus)[p]
    return rate * tables.simple_tree if at.simple_tree else rate


def _available(collective: str, algorithm: str, p: int, at: Situation) -> bool:
    only_simple = algorithm not in ("Ring", "Tree")
    ll128 = at.ll128 and at.kind == "NVLINK" and at.generation in at.tables.ll128_on
    if (only_simple and p != 2) or (p == 1 and not ll128):
        return False
    if algorithm.startswith("NVLS") and (at.tables.switch == "none" or at.per_node < at.tables.switch_least):
        return False
    match algorithm:
        case "NVLS":
            return at.nvls_channels >= 2 and (at.nodes == 1 or at.collnet)
        case "NVLSTree":
            return at.nvls_channels >= 2 and at.nodes > 1
        case "CollNetDirect":
            return at.collnet and at.nodes > 1 and at.nvls_channels > 0 and at.per_node <= 8
        case "CollNetChain":
            return at.collnet and at.nodes > 1
        case "PAT":
            return at.per_node == 1 and at.tables.pat
        case _:
            return True


def _nvls(collective: str, algorithm: str, at: Situation) -> float:
    """GB/s on the bus with in-switch adding inside the nodes."""
    channels = at.nvls_channels
    share = at.channels / channels  # both graphs use the same links
    if at.tables.switch:
        return channels * _graph_rate(
            collective, algorithm, at, at.bw_nvls or share * at.bw_intra, at.bw_nvls_net or share * at.between
        )
    intra = (at.bw_nvls or share * at.bw_intra) * NVLS_EFFICIENCY[at.generation] * (channels - 1) / channels
    intra *= 2 if collective == "allreduce" else (at.per_node - 1) / at.per_node
    inter = (at.bw_nvls_net or share * at.between) * (2 if algorithm == "NVLSTree" and at.nodes <= 2 else 1)
    per_channel = min(intra, inter) if at.nodes > 1 else intra
    if algorithm == "NVLSTree":
        per_channel = min(per_channel, NVLS_TREE_MOST[at.generation][at.column])
    return channels * per_channel


def _graph_rate(collective: str, algorithm: str, at: Situation, intra: float, inter: float) -> float:
    """GB/s of a channel as releases before 2.28.7 reckon: what the graph carries."""
    if algorithm == "NVLSTree":
        return min(intra, inter if at.nodes <= 2 else inter / 2)
    if collective != "allreduce" and at.tables.switch == "shares":
        intra *= (at.per_node - 1) / at.per_node
        inter *= 0.9
    return intra if at.nodes == 1 else min(intra, inter)


def latency(collective: str, algorithm: str, p: int, at: Situation) -> float:
    """µs before the first byte is through."""
    tables = at.tables
    base = tables.base.get(algorithm, (0.0, 0.0, 0.0))[p]
    hops = tables.hops[algorithm]
    kind: Kind = at.kind if at.per_node > 1 else "NET"
    intra = hops[kind][p]
    alone = at.per_node == 1 and algorithm == "Ring" and tables.tree_least_alone
    inter = tables.hops["Tree" if alone else algorithm]["NET"][p]
    inter += at.latency_inter * (2 if p == 2 else 1)
    match algorithm:
        case "Ring":
            return base + _ring_latency(collective, p, at, intra, inter)
        case "Tree":
            return base + 2 * ((at.per_node - 1) * intra + math.log2(at.nodes) * inter)
        case "CollNetDirect":
            return base + 2 * (min(1, at.per_node - 1) * intra + 0.4 * (at.per_node - 1)) + inter
        case "CollNetChain":
            return base + 2 * (at.per_node - 1) * intra + inter
        case "NVLS":
            return intra + (inter if at.nodes > 1 else 0.0)
        case "NVLSTree":
            return base + intra + 2 * math.log2(at.nodes) * inter
        case _:
            return base + math.log2(at.nodes) * inter / 3.5 + 2.8 * at.n


def _ring_latency(collective: str, p: int, at: Situation, intra: float, inter: float) -> float:
    count, tables = steps(collective, at.n), at.tables
    kind: Kind = "NET" if at.nodes > 1 else at.kind
    if collective in ("broadcast", "reduce"):
        one = tables.hops["Ring"][kind][p]
        if at.same_channels:
            return one
        return count * (tables.hops["Tree"][kind][p] if p == 2 else one)
    if at.nodes == 1:
        return count * intra
    between = at.nodes - 1
    if collective == "allreduce":
        between = min(count, 2 * at.nodes if tables.both_ways else 2 * between)
    if tables.ll_inside:
        return (count - between) * intra * (tables.ll_inside if p == 0 else 1.0) + between * inter
    posting = POST[PROTOCOLS[p]] * (POST_AMD if at.amd_cpu else 1.0)
    return (count - between) * max(intra, posting) + between * inter


def _corrected(
    collective: str, algorithm: str, protocol: Protocol, size: float, at: Situation, rate: float, wait: float
) -> tuple[float, float]:
    """Rate and latency as the tuner bends them by size."""
    index = max(0, int(size) >> 6).bit_length() - 1
    by_size = algorithm == "Tree" or (algorithm == "NVLSTree" and at.generation == "Blackwell" and not at.tables.switch)
    correction = at.tables.tree_correction[protocol]
    if by_size and collective == "allreduce" and 0 <= index < len(correction):
        rate *= correction[index]
    many = algorithm == "Ring" and protocol == "Simple" and at.nodes > 1 and collective == "allreduce"
    if many and (size >= 4096 * at.n if at.tables.plateau_by_rank else size / (at.channels * at.n) >= 64):
        wait *= at.tables.plateau[at.generation]
    return rate, wait


def nvls_ways(at: Situation) -> int:
    """How many chunks go to a node's adding switch at once: one of every channel for each GPU that heads it."""
    return NVLS_CHANNELS[at.generation][at.nodes > 1] * min(NVLS_HEADS, round(at.per_node))


def nvls_chunk(algorithm: str, size: float, at: Situation) -> int:
    """Bytes of one of them, fewer of small messages.

    Eight H100 have 16 channels of 8 heads, so that 64 MiB and more go in chunks of 64 KiB:

    >>> at = Situation(8, 1, "Hopper", 12, 30, 30)
    >>> nvls_ways(at), nvls_chunk("NVLS", 64 << 20, at), nvls_chunk("NVLS", (64 << 20) - 1, at)
    (128, 65536, 32768)
    """
    most = NVLS_TREE_CHUNK if algorithm == "NVLSTree" and at.nodes >= NVLS_TREE_NODES else math.inf
    chunks = [(chunk, times) for chunk, times in NVLS_CHUNKS[algorithm] if chunk <= most]
    return next(chunk for chunk, times in chunks if size >= times * nvls_ways(at) * chunk)
