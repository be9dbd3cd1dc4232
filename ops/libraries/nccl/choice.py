"""What NCCL would run here, and that as a work to carry out: schedule, costs of the protocol, orders of the ranks."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from ops.collectives import COLLECTIVES
from ops.libraries.nccl.channels import striped
from ops.libraries.nccl.constants import ABLE, ALGORITHMS, PROTOCOLS, Kind, Protocol
from ops.libraries.nccl.protocol_cost import Pace, costs, family_of, hop
from ops.libraries.nccl.topology_search import Seen, look, rooted_orders
from ops.libraries.nccl.tuner import Candidate, candidates
from ops.registry import ALGORITHMS as REGISTERED
from ops.work import Work
from sim.errors import InputError
from sim.parameters import Choice as Words
from sim.schedule import Schedule
from sim.topology import Topology
from sim.units import KiB

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

    algorithm: Annotated[str, Words(("", *ALGORITHMS))] = ""
    protocol: Annotated[str, Words(("", *PROTOCOLS))] = ""


FREE = NcclOptions()


@dataclass(frozen=True)
class Choice:
    """Everything NCCL could run, fastest first by its own reckoning, and what it saw of the machine."""

    collective: str
    size: int
    candidates: tuple[Candidate, ...]
    seen: Seen

    @property
    def chosen(self) -> Candidate:
        """What it takes."""
        return self.candidates[0]


def choose(topology: Topology, collective: str, size: int, n: int = 0, *, options: NcclOptions = FREE) -> Choice:
    """NCCL's choice for so many bytes on the first n ranks, all where n is 0.

    Raises InputError for a collective NCCL has not, or where the options leave nothing.
    """
    seen = look(topology, n or topology.n)
    if collective in POINT_TO_POINT:
        usual: Protocol = "LL" if size / seen.situation.n <= 16 * KiB else "Simple"
        protocol = next((p for p in PROTOCOLS if p == options.protocol), usual)
        return Choice(collective, size, (Candidate("SendRecv", protocol, 0.0, math.inf, 0.0),), seen)
    if collective not in ABLE:
        raise InputError(f"nccl has no {collective[:40]!r}: choose from {', '.join((*ABLE, *POINT_TO_POINT))}")
    everything = candidates(collective, size, seen.situation)
    left = [c for c in everything if _runs(collective, c, seen)]
    wanted = [c for c in left if options.algorithm in ("", c.algorithm) and options.protocol in ("", c.protocol)]
    if not wanted:
        able = ", ".join(sorted({f"{c.algorithm}/{c.protocol}" for c in left}))
        asked = "/".join(filter(None, (options.algorithm, options.protocol)))
        raise InputError(f"NCCL has no {asked} for {collective} here: choose from {able}")
    return Choice(collective, size, tuple(wanted), seen)


def _runs(collective: str, one: Candidate, seen: Seen) -> bool:
    """Can it be carried out here? Trees need nodes of one size."""
    return (collective, one.algorithm) in RUNS and (seen.even or one.algorithm == "Ring")


def work_of(
    topology: Topology, choice: Choice, *, root: int = 0, pace: Pace | None = None, taken: Candidate | None = None
) -> Work:
    """What NCCL takes, or another of the candidates, ready to be carried out.

    `pace` is that of the machine's family unless given, NCCL's own constants where it has none.
    """
    one, seen = taken or choice.chosen, choice.seen
    family = family_of(topology)
    pace = pace or (family.pace if family else Pace())
    entry = REGISTERED[RUNS[choice.collective, one.algorithm]]
    settings: dict[str, Any] = {}
    if "group" in entry.params:
        settings["group"] = len(seen.nodes[0])
    if "segments" in entry.params:
        settings["segments"] = _segments(choice, one, pace)
    plain = choice.collective in POINT_TO_POINT or one.algorithm in ("NVLS", "NVLSTree", "PAT")
    orders = rooted_orders(seen, root) if COLLECTIVES[choice.collective].rooted else seen.orders
    schedule = _schedule(entry.name, seen.situation.n, () if plain else orders, root, tuple(settings.items()))
    told = {"nccl": one.algorithm, "protocol": one.protocol, "channels": seen.situation.channels} | settings
    return Work(
        schedule, entry.collective, entry, told, costs(topology, seen, one.algorithm, one.protocol, choice.size, pace)
    )


@lru_cache(maxsize=64)
def _schedule(
    name: str, n: int, orders: tuple[tuple[int, ...], ...], root: int, settings: tuple[tuple[str, int], ...]
) -> Schedule:
    """Kept, as neighbouring sizes run the same."""
    entry = REGISTERED[name]
    if not orders:
        return entry.schedule(n, root=root, **dict(settings))
    return striped(entry, orders, root=root, **dict(settings))


def _segments(choice: Choice, one: Candidate, pace: Pace) -> int:
    """Into how many pieces a pipeline is best cut: √(hops · flowing / hop), as many as there are chunks at most.

    NCCL's own slots overlap what a hop costs with what follows, which blocking ranks do not.
    """
    at = choice.seen.situation
    chunks = choice.size // (at.channels * CHUNK[one.protocol])
    kind: Kind = "NET" if at.nodes > 1 else at.kind
    cost = hop(one.algorithm, one.protocol, kind, pace) / (4 if one.algorithm == "NVLS" else 1)
    hops = {"Ring": at.n, "NVLS": 4, "NVLSTree": 4 + 2 * math.log2(at.nodes)}.get(
        one.algorithm, 2 * (at.per_node - 1 + math.log2(at.nodes))
    )
    flowing = choice.size / one.bandwidth
    best = math.sqrt(hops * flowing / cost) if cost else MOST_SEGMENTS
    return max(1, min(MOST_SEGMENTS, chunks, round(best)))
