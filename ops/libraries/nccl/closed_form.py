"""What the simulation of NCCL comes to on one host whose GPUs are alike, all on one switch: a sum, in microseconds.

Fits try thousands of paces, for which carrying out a schedule each time is long. Tests hold the two together.
"""

from functools import lru_cache

import numpy as np

from ops.libraries.nccl.choice import NcclChoice, decision_of
from ops.libraries.nccl.own.pace import Pace
from ops.libraries.nccl.protocol_cost import Way, hop
from ops.libraries.nccl.tuner import steps
from sim.topology import Topology

RINGS = ("allreduce", "allgather", "reduce_scatter")


def closed_form(topology: Topology, choice: NcclChoice, pace: Pace) -> float | None:
    """Seconds of what NCCL takes; None on other machines, and for what has no such sum."""
    candidate, seen = choice.chosen, choice.seen
    rate = _switched(topology, seen.situation.n)
    ring = candidate.algorithm == "Ring" and choice.collective in RINGS
    has_form = ring or candidate.algorithm in ("NVLS", "SendRecv")
    if not rate or not has_form or choice.collective == "sendrecv":
        return None
    n, size = seen.situation.n, max(choice.size, seen.situation.n)
    segments = decision_of(topology, choice).settings.get("segments", 1)
    way = Way(seen, choice.collective, candidate.algorithm, candidate.protocol, choice.size, pace)
    inner, _ = way.shares()
    block, links = np.array([size / n]), rate * inner
    if ring:
        count = steps(choice.collective, n)
        step, ends = float(way.steps(block, np.array([False]))[0]), float(way.ends(block)[0])
        return float(way.start + ends + count * (step + size / n / links))
    if candidate.algorithm == "SendRecv":
        return float(way.start + hop("Ring", "LL", seen.situation.kind, pace) + (n - 1) * size / n / links)
    if choice.collective != "allreduce":
        return None
    # four stages, of which two carry a share of the others; all but the first and last two moments carry all of them
    return float(way.start + size / segments / links * (4 + (segments - 1) * (1 + 1 / n)))


@lru_cache(maxsize=64)
def _switched(topology: Topology, n: int) -> float:
    """B/s of a GPU's way to the one switch that joins the first n ranks of a host; 0 where they are not so joined."""
    devices = list(topology.ranks[:n])
    if len({topology.devices[device].host for device in devices}) > 1 and not _one_domain(topology, devices):
        return 0.0
    routes = topology.routes(devices, devices[1:] + devices[:1])
    rates = {topology.links[i].bandwidth for i in routes.links}
    kinds = {topology.links[i].kind for i in routes.links}
    uplinks = {topology.links[routes.links[k]].dst for k in routes.offsets[:-1]}
    if len(routes.links) != 2 * n or kinds != {"NVL"} or len(rates) > 1 or len(uplinks) > 1:
        return 0.0
    return float(rates.pop())


def _one_domain(topology: Topology, devices: list[int]) -> bool:
    """Whether NVLinks join GPUs of several hosts."""
    routes = topology.routes(devices[:-1], devices[1:])
    return all(topology.links[i].kind == "NVL" for i in routes.links)
