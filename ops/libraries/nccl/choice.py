"""What NCCL would run here, and that as a work to carry out: schedule, costs of the protocol, orders of the ranks."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from ops.budget import expect_algorithm, expect_pairs
from ops.collectives import COLLECTIVES
from ops.libraries import Decision
from ops.libraries.nccl.constants import ABLE, ALGORITHMS, PROTOCOLS, Kind, Protocol
from ops.libraries.nccl.protocol_cost import Pace, costs, family_of, hop
from ops.libraries.nccl.topology_search import Seen, look, rooted_orders
from ops.libraries.nccl.tuner import Candidate, candidates
from ops.registry import ALGORITHMS as REGISTERED
from sim.errors import InputError
from sim.parameters import Choice
from sim.schedule import Schedule
from sim.topology import Topology
from sim.units import KiB

if TYPE_CHECKING:
    from ops.work import Work

POINT_TO_POINT = ("alltoall", "sendrecv")
"""Collectives that NCCL makes of sends and receives; the tuner has no say in them."""
CHUNK = {"LL": 16 * KiB, "LL128": 128 * KiB, "Simple": 128 * KiB}
"""The least a channel of a tree sends at once (`src/enqueue.cc`, calcCollChunking)."""
MOST_SEGMENTS = 32
RUNS = {
    ("allreduce", "Ring"): "allreduce.ring",
    ("allreduce", "Tree"): "allreduce.nccl_tree",
    ("allreduce", "NVLS"): "allreduce.nvls",
    ("allreduce", "NVLSTree"): "allreduce.nvls_tree",
    ("allgather", "Ring"): "allgather.ring",
    ("allgather", "NVLS"): "allgather.nvls",
    ("allgather", "PAT"): "allgather.pat",
    ("reduce_scatter", "Ring"): "reduce_scatter.ring",
    ("reduce_scatter", "NVLS"): "reduce_scatter.nvls",
    ("reduce_scatter", "PAT"): "reduce_scatter.pat",
    ("broadcast", "Ring"): "broadcast.chain",
    ("reduce", "Ring"): "reduce.chain",
    ("alltoall", "SendRecv"): "alltoall.nccl_p2p",
    ("sendrecv", "SendRecv"): "sendrecv.direct",
}
"""The registered algorithm that carries each of NCCL's out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclOptions:
    """What NCCL_ALGO and NCCL_PROTO force; empty leaves the tuner its choice."""

    algorithm: Annotated[str, Choice(("", *ALGORITHMS))] = ""
    protocol: Annotated[str, Choice(("", *PROTOCOLS))] = ""


FREE = NcclOptions()


def as_nccl_writes(word: str) -> str:
    """An algorithm or a protocol in NCCL's own spelling.

    >>> as_nccl_writes("tree"), as_nccl_writes("simple"), as_nccl_writes("bogus")
    ('Tree', 'Simple', 'bogus')
    """
    return next((name for name in (*ALGORITHMS, *PROTOCOLS) if name.casefold() == word.casefold()), word)


@dataclass(frozen=True)
class NcclChoice:
    """Everything NCCL could run, fastest first by its own reckoning, and what it saw of the machine."""

    collective: str
    size: int
    candidates: tuple[Candidate, ...]
    seen: Seen

    @property
    def chosen(self) -> Candidate:
        """What it takes."""
        return self.candidates[0]


def choose(topology: Topology, collective: str, size: int, n: int = 0, *, options: NcclOptions = FREE) -> NcclChoice:
    """NCCL's choice for so many bytes on the first n ranks, all where n is 0.

    Raises InputError for a collective NCCL has not, or where the options leave nothing.
    """
    expect_pairs(f"NCCL's search for rings on {topology.name}", n or topology.n)
    seen = look(topology, n or topology.n)
    if collective in POINT_TO_POINT:
        usual: Protocol = "LL" if size / seen.situation.n <= 16 * KiB else "Simple"
        protocol = next((p for p in PROTOCOLS if p == options.protocol), usual)
        return NcclChoice(collective, size, (Candidate("SendRecv", protocol, 0.0, math.inf, 0.0),), seen)
    if collective not in ABLE:
        raise InputError(f"nccl has no {collective[:40]!r}: choose from {', '.join((*ABLE, *POINT_TO_POINT))}")
    able = [c for c in candidates(collective, size, seen.situation) if _runs(collective, c, seen)]
    left = [c for c in able if options.algorithm in ("", c.algorithm) and options.protocol in ("", c.protocol)]
    if not left:
        names = ", ".join(sorted({f"{c.algorithm}/{c.protocol}" for c in able}))
        forced = "/".join(filter(None, (options.algorithm, options.protocol)))
        raise InputError(f"NCCL has no {forced} for {collective} here: choose from {names}")
    return NcclChoice(collective, size, tuple(left), seen)


def _runs(collective: str, candidate: Candidate, seen: Seen) -> bool:
    """Can it be carried out here? Trees need nodes of one size; switches of several nodes, ranks in a row on each."""
    if candidate.algorithm == "NVLSTree" and not seen.in_a_row:
        return False
    return (collective, candidate.algorithm) in RUNS and (seen.even or candidate.algorithm == "Ring")


def decision_of(
    topology: Topology,
    choice: NcclChoice,
    *,
    root: int = 0,
    pace: Pace | None = None,
    candidate: Candidate | None = None,
) -> Decision:
    """What NCCL takes, or another of the candidates: the algorithm, how it is cut, and the rings it runs on.

    `pace` is that of the machine's family unless given, NCCL's own constants where it has none.
    """
    candidate, seen = candidate or choice.chosen, choice.seen
    entry = REGISTERED[RUNS[choice.collective, candidate.algorithm]]
    settings: dict[str, Any] = {}
    if "group" in entry.params:
        settings["group"] = seen.group if choice.collective in POINT_TO_POINT else len(seen.nodes[0])
    if "segments" in entry.params:
        settings["segments"] = _segments(choice, candidate, pace or pace_of(topology))
    plain = choice.collective in POINT_TO_POINT or candidate.algorithm in ("NVLS", "NVLSTree", "PAT")
    orders = rooted_orders(seen, root) if COLLECTIVES[choice.collective].rooted else seen.orders
    return Decision(entry.name, settings, () if plain else orders, candidate.protocol)


def pace_of(topology: Topology) -> Pace:
    """That of the machine's family, NCCL's own constants where it has none."""
    family = family_of(topology)
    return family.pace if family else Pace()


def work_of(
    topology: Topology,
    choice: NcclChoice,
    *,
    root: int = 0,
    pace: Pace | None = None,
    taken: Candidate | None = None,
) -> "Work":
    """What NCCL takes, or another of the candidates, ready to be carried out; arguments as for `decision_of`."""
    candidate, seen = taken or choice.chosen, choice.seen
    pace = pace or pace_of(topology)
    decision = decision_of(topology, choice, root=root, pace=pace, candidate=candidate)
    entry = REGISTERED[decision.algorithm]
    expect_algorithm(entry, seen.situation.n, decision.settings, root, topology.hops)
    schedule = _schedule(decision.algorithm, seen.situation.n, decision.orders, root, tuple(decision.settings.items()))
    settings = {
        "nccl": candidate.algorithm,
        "protocol": candidate.protocol,
        "channels": seen.situation.channels,
        **decision.settings,
    }
    perturbation = costs(topology, seen, candidate.algorithm, candidate.protocol, choice.size, pace)
    from ops.work import Work  # SimPy is for those who run it, not for those who list libraries

    return Work(schedule, entry.collective, entry, settings, perturbation)


@lru_cache(maxsize=64)
def _schedule(
    name: str, n: int, orders: tuple[tuple[int, ...], ...], root: int, settings: tuple[tuple[str, int], ...]
) -> Schedule:
    """Kept, as neighbouring sizes run the same."""
    return Decision(name, dict(settings), orders).schedule(n, root)


def _segments(choice: NcclChoice, candidate: Candidate, pace: Pace) -> int:
    """Into how many pieces a pipeline is best cut: √(hops · flowing / hop), as many as there are chunks at most.

    NCCL's own slots overlap what a hop costs with what follows, which blocking ranks do not.
    """
    at = choice.seen.situation
    chunks = choice.size // (at.channels * CHUNK[candidate.protocol])
    kind: Kind = "NET" if at.nodes > 1 else at.kind
    cost = hop(candidate.algorithm, candidate.protocol, kind, pace) / (4 if candidate.algorithm == "NVLS" else 1)
    hops = {"Ring": at.n, "NVLS": 4, "NVLSTree": 4 + 2 * math.log2(at.nodes)}.get(
        candidate.algorithm, 2 * (at.per_node - 1 + math.log2(at.nodes))
    )
    flowing = choice.size / candidate.bandwidth
    best = math.sqrt(hops * flowing / cost) if cost else MOST_SEGMENTS
    return max(1, min(MOST_SEGMENTS, chunks, round(best)))
