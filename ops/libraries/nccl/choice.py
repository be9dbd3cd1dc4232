"""What NCCL would run here, and that as a work to carry out: schedule, costs of the protocol, orders of the ranks."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ops.collectives import COLLECTIVES
from ops.libraries import Decision
from ops.libraries.nccl.constants import ABLE, NVLS_DEPTH, PEER_LL, PROTOCOLS, RCCL_LL, SLOTS, Protocol
from ops.libraries.nccl.layers import family_of
from ops.libraries.nccl.own.numbers import of_machine
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.protocol_cost import costs, running_channels
from ops.libraries.nccl.topology_search import Seen, look, rooted_orders
from ops.libraries.nccl.tuner import Candidate, candidates, nvls_chunk, nvls_ways
from ops.libraries.nccl.variables import FREE, Variables
from ops.registry import ALGORITHMS as REGISTERED
from ops.run.budget import expect_algorithm, expect_pairs
from sim.errors import InputError, Message
from sim.schedule import Schedule
from sim.topology import Topology
from sim.units import KiB

if TYPE_CHECKING:
    from ops.run.work import Work

POINT_TO_POINT = ("alltoall", "sendrecv")
"""Collectives that NCCL makes of sends and receives; the tuner has no say in them."""
CHUNK = {"LL": 16 * KiB, "LL128": 562 * KiB}
"""What a channel of a tree or a chain sends at once, the data of a slot of its buffer; with Simple that may be set."""
MOST_SEGMENTS, MOST_TRANSFERS, LEAST_ROOM = 256, 1 << 17, 8
"""Pieces of a pipeline: more change a time by a hundredth, and large machines run fewer."""
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


def choose(topology: Topology, collective: str, size: int, n: int = 0, *, options: Variables = FREE) -> NcclChoice:
    """NCCL's choice for so many bytes on the first n ranks, all where n is 0.

    Raises InputError for a collective NCCL has not, or where the options leave nothing.
    """
    expect_pairs(Message("nccl.search", topology=topology.name), n or topology.n)
    seen = _with_variables(look(topology, n or topology.n, options.of_search), options)
    if collective in POINT_TO_POINT:
        usual: Protocol = "LL" if size / seen.situation.n <= PEER_LL else "Simple"
        allowed = [p for p in PROTOCOLS if p in options.protocols(collective)]
        protocol = usual if usual in allowed else allowed[0]
        return NcclChoice(collective, size, (Candidate("SendRecv", protocol, 0.0, math.inf, 0.0),), seen)
    if collective not in ABLE:
        raise InputError("nccl.unknown", collective=collective, choices=(*ABLE, *POINT_TO_POINT))
    able = [c for c in candidates(collective, size, seen.situation) if _runs(collective, c, seen)]
    able = able if options.nvls_enable else [c for c in able if not c.algorithm.startswith("NVLS")]
    if seen.amd and size >= RCCL_LL * seen.situation.n and not options.protocol:
        able = [c for c in able if c.protocol != "LL"]
    algorithms, protocols = options.algorithms(collective), options.protocols(collective)
    left = [c for c in able if c.algorithm in algorithms and c.protocol in protocols]
    if not left:
        names = sorted({f"{c.algorithm}/{c.protocol}" for c in able})
        forced = "/".join(filter(None, (options.algorithm, options.protocol)))
        raise InputError("nccl.forced", forced=forced, collective=collective, names=names)
    return NcclChoice(collective, size, tuple(left), seen)


def _with_variables(seen: Seen, variables: Variables) -> Seen:
    """The same with what the search does not depend on."""
    if seen.situation.variables == variables:
        return seen
    return replace(seen, situation=replace(seen.situation, variables=variables))


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
    candidate: Candidate | None = None,
) -> Decision:
    """What NCCL takes, or another of the candidates: the algorithm, how it is cut, and the rings it runs on."""
    candidate, seen = candidate or choice.chosen, choice.seen
    entry = REGISTERED[RUNS[choice.collective, candidate.algorithm]]
    settings: dict[str, Any] = {}
    if "group" in entry.params:
        settings["group"] = seen.group if choice.collective in POINT_TO_POINT else len(seen.nodes[0])
    if candidate.algorithm == "Tree":
        settings["balanced"] = seen.balanced
        settings |= {"turned": True} if seen.situation.tables.turned else {}
    if "segments" in entry.params:
        settings["segments"] = _segments(choice, candidate)
    orders = rooted_orders(seen, root) if COLLECTIVES[choice.collective].rooted else seen.orders
    if candidate.algorithm == "Tree":
        orders = seen.trees.orders
    elif candidate.algorithm != "Ring":
        orders = seen.spread(candidate.algorithm)
    return Decision(entry.name, settings, orders, candidate.protocol, via=seen.ways(candidate.algorithm))


def pace_of(topology: Topology) -> Pace:
    """That of the machine's family, NCCL's own constants where it has none, with what was measured on itself."""
    family, own = family_of(topology), of_machine(topology)
    if family:
        return family.pace
    return own.on(Pace()) if own else Pace()


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
    decision = decision_of(topology, choice, root=root, candidate=candidate)
    entry = REGISTERED[decision.algorithm]
    expect_algorithm(entry, seen.situation.n, decision.settings, root, topology.hops)
    schedule = _schedule(decision.algorithm, seen.situation.n, decision.orders, root, tuple(decision.settings.items()))
    schedule = replace(schedule, via=decision.via) if decision.via else schedule
    settings = {
        "nccl": candidate.algorithm,
        "protocol": candidate.protocol,
        "channels": seen.situation.channels,
        "release": seen.situation.release,
        **decision.settings,
        **_as_settings(seen.situation.variables),
    }
    segments = decision.settings.get("segments", 1)
    perturbation = costs(seen, choice.collective, candidate.algorithm, candidate.protocol, choice.size, pace, segments)
    from ops.run.work import Work  # SimPy is for those who run it, not for those who list libraries

    return Work(schedule, entry.collective, entry, settings, perturbation)


def _as_settings(variables: Variables) -> dict[str, str]:
    """The variables that change more than the choice among algorithms, as settings of a run."""
    changed = [name for name in variables.changed if name not in ("algorithm", "protocol", "nccl")]
    return {"variables": " ".join(changed)} if changed else {}


@lru_cache(maxsize=64)
def _schedule(
    name: str, n: int, orders: tuple[tuple[int, ...], ...], root: int, settings: tuple[tuple[str, int], ...]
) -> Schedule:
    """Kept, as neighbouring sizes run the same."""
    return Decision(name, dict(settings), orders).schedule(n, root)


def _segments(choice: NcclChoice, candidate: Candidate) -> int:
    """Into how many pieces a pipeline is cut: those of its channels' chunks, as many as are worth simulating."""
    at, size = choice.seen.situation, choice.size
    if candidate.algorithm.startswith("NVLS"):
        chunk = nvls_chunk(candidate.algorithm, size, at)
        pieces = size / (nvls_ways(at) * chunk * NVLS_DEPTH)
    else:
        pieces = size / running_channels(at) / _chunk(choice, candidate)
    room = max(LEAST_ROOM, MOST_TRANSFERS // (at.n * len(choice.seen.orders)))
    return max(1, min(round(pieces), MOST_SEGMENTS, room))


def _chunk(choice: NcclChoice, candidate: Candidate) -> int:
    """Bytes of a channel that a tree or a chain sends at once: smaller where hops are many (calcCollChunking)."""
    at, of_channel = choice.seen.situation, choice.size / running_channels(choice.seen.situation)
    chunk = CHUNK.get(candidate.protocol) or at.variables.buffsize // SLOTS
    if candidate.algorithm == "Ring":
        return min(chunk, 128 * KiB)  # a quarter of a slot: threads copy on before all of it is there
    if candidate.algorithm == "Tree" and candidate.protocol == "Simple":
        depth = at.per_node - 1 + math.log2(at.nodes)
        for times, least in ((8, 128 * KiB), (4, 64 * KiB), (1, 32 * KiB)):
            while of_channel / chunk < depth * times and chunk > least:
                chunk //= 2
    if candidate.algorithm == "Tree" and candidate.protocol == "LL128":
        steps = (1 + math.log2(at.nodes) + 0.1 * at.per_node) / at.per_node
        for times, least in ((64, 128 * KiB), (16, 32 * KiB)):
            while of_channel / chunk < steps * times and chunk > least:
                chunk //= 2
    return chunk
