"""What NCCL would run here, and that as a work to carry out: schedule, costs of the protocol, orders of the ranks."""

import math
from dataclasses import dataclass
from typing import Any

from ops.collectives import COLLECTIVES
from ops.nccl.constants import ABLE, Protocol
from ops.nccl.machine import Seen, look, rooted_orders
from ops.nccl.pace import Pace, costs, family_of, hop
from ops.nccl.stripes import striped
from ops.nccl.tuner import Candidate, candidates
from ops.registry import ALGORITHMS as REGISTERED
from ops.work import Work
from sim.errors import InputError
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


def choose(
    topology: Topology,
    collective: str,
    size: int,
    n: int = 0,
    *,
    algorithms: tuple[str, ...] = (),
    protocols: tuple[str, ...] = (),
) -> Choice:
    """NCCL's choice for so many bytes on the first n ranks, all where n is 0.

    `algorithms` and `protocols` are those that NCCL_ALGO and NCCL_PROTO would leave. Raises InputError for a
    collective NCCL has not, or where nothing is left.
    """
    seen = look(topology, n or topology.n)
    if collective in POINT_TO_POINT:
        protocol: Protocol = "LL" if size / seen.situation.n <= 16 * KiB and not protocols else "Simple"
        only = Candidate("SendRecv", protocol, 0.0, math.inf, 0.0)
        return Choice(collective, size, (only,), seen)
    if collective not in ABLE:
        able = ", ".join((*ABLE, *POINT_TO_POINT))
        raise InputError(f"nccl has no {collective[:40]}: choose from {able}")
    everything = candidates(collective, size, seen.situation, allowed=algorithms)
    left = [c for c in everything if (not protocols or c.protocol in protocols) and _runs(collective, c, seen)]
    if not left:
        raise InputError(f"NCCL has no {'/'.join(protocols)} for {collective} here: leave it to choose")
    return Choice(collective, size, tuple(left), seen)


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
    n = seen.situation.n
    if choice.collective in POINT_TO_POINT or one.algorithm in ("NVLS", "NVLSTree", "PAT"):
        schedule = entry.schedule(n, root=root, **settings)
    else:
        orders = rooted_orders(seen, root) if COLLECTIVES[choice.collective].rooted else seen.orders
        schedule = striped(entry, orders, root=root, **settings)
    way = "Ring" if one.algorithm == "SendRecv" else one.algorithm
    told = {"nccl": one.algorithm, "protocol": one.protocol, "channels": seen.situation.channels} | settings
    return Work(schedule, entry.collective, entry, told, costs(topology, seen, way, one.protocol, pace))


def _segments(choice: Choice, one: Candidate, pace: Pace) -> int:
    """Into how many pieces a pipeline is best cut: √(hops · flowing / hop), as many as there are chunks at most.

    NCCL's own slots overlap what a hop costs with what follows, which blocking ranks do not.
    """
    at = choice.seen.situation
    chunks = choice.size // (at.channels * CHUNK[one.protocol])
    kind = "NET" if at.nodes > 1 else at.kind
    cost = hop(one.algorithm, one.protocol, kind, pace) / (4 if one.algorithm == "NVLS" else 1)
    hops = {"Ring": at.n, "NVLS": 4, "NVLSTree": 4 + 2 * math.log2(at.nodes)}.get(
        one.algorithm, 2 * (at.per_node - 1 + math.log2(at.nodes))
    )
    flowing = choice.size / one.bandwidth
    best = math.sqrt(hops * flowing / cost) if cost else MOST_SEGMENTS
    return max(1, min(MOST_SEGMENTS, chunks, round(best)))
