"""What others predict for a row: NCCL's own tuner, a ring of αs and βs, the cost model of meta-pytorch/autoparallel.

All are told what NCCL's search finds of the machine; None stands where a model has no answer.
"""

from dataclasses import replace

import numpy as np

from ops.libraries.nccl.choice import POINT_TO_POINT, choose
from ops.libraries.nccl.tuner import Situation, candidates, steps
from sim.errors import InputError
from sim.topology import Topology
from sim.units import GBps, us

ALPHA = 0.7 * us
"""What a step of the plain ring costs: a byte's way over NVLink (microsoft/taccl, NDv2 and DGX-2 profiles)."""

POINTS = (2, 4, 8)
NVSWITCH: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "allgather": ((8.0, 17.0, 30.0), (537.0, 434.0, 394.0)),
    "reduce_scatter": ((8.0, 17.0, 30.0), (537.0, 434.0, 394.0)),
    "allreduce": ((10.0, 15.0, 31.0), (324.0, 236.0, 267.0)),
}
"""µs and GB/s of the size on 2, 4 and 8 H100 behind NVSwitches, between which autoparallel interpolates."""
COPY_ENGINES = {"Hopper": 380.0, "Blackwell": 675.0}
"""GB/s of an alltoall there, after 50 µs."""
AMPERE_BUS, AMPERE_CHANNELS = 87.7, 12
"""GB/s that it grants an A100 in all, and its channels."""


def tuner(topology: Topology, collective: str, ranks: int, size: int) -> float | None:
    """Seconds that NCCL's tuner reckons with for what it takes."""
    if collective in POINT_TO_POINT:
        return None
    return choose(topology, collective, size, ranks).chosen.time


def plain_ring(topology: Topology, collective: str, ranks: int, size: int) -> float | None:
    """A ring of steps that cost α and a block each, over the links that NCCL's rings find; an alltoall likewise."""
    at = choose(topology, collective, size, ranks).seen.situation
    rate = at.channels * at.bw_intra * GBps
    count = steps("allgather" if collective == "alltoall" else collective, at.n)
    blocks = 1 if collective in ("broadcast", "reduce", "sendrecv") else at.n
    moved = size if blocks == 1 else count * size / blocks
    return count * ALPHA + moved / rate


def autoparallel(topology: Topology, collective: str, ranks: int, size: int) -> float | None:
    """The cost model of meta-pytorch/autoparallel on one host: NCCL's tuner, and points measured on H100."""
    seen = choose(topology, collective, size, ranks).seen
    at = seen.situation
    if at.nodes > 1 or seen.amd or at.kind != "NVLINK" or collective not in (*NVSWITCH, "alltoall"):
        return None
    switched = at.nvls_channels > 0
    twice = 2.0 if at.generation == "Blackwell" else 1.0
    if switched and collective == "alltoall":
        return 50 * us + size / (COPY_ENGINES[at.generation] * GBps)
    if switched:
        wait, rate = (float(np.interp(at.n, POINTS, column)) for column in NVSWITCH[collective])
        return wait * us + size / (rate * twice * GBps)
    plain = _granted(at)
    if collective == "alltoall":
        return (8.4 + at.n * 3.4) * us + size / (0.7 * AMPERE_BUS * GBps)
    return min(one.time for one in candidates(collective, size, plain) if one.algorithm in ("Ring", "Tree"))


def _granted(at: Situation) -> Situation:
    rate = AMPERE_BUS / AMPERE_CHANNELS
    return replace(at, channels=AMPERE_CHANNELS, bw_intra=rate, bw_inter=rate, bw_tree=0.0, ll128=True)


RIVALS = {"NCCL's tuner": tuner, "α-β ring": plain_ring, "autoparallel": autoparallel}


def rivals(topology: Topology, collective: str, ranks: int, size: int) -> dict[str, float | None]:
    """What each of them predicts, s."""
    answers: dict[str, float | None] = {}
    for name, predict in RIVALS.items():
        try:
            answers[name] = predict(topology, collective, ranks, size)
        except InputError:
            answers[name] = None
    return answers
