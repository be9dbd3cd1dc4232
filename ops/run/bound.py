"""How fast a work could be at best, and the bytes of its blocks."""

from collections.abc import Sequence

import numpy as np

from ops.run.work import Work
from sim.schedule import Promise, Schedule
from sim.schedule.verify import Proof
from sim.topology import Floats, Topology
from sim.trace import metrics


def lower_bound(topology: Topology, schedule: Schedule, promise: Promise, bytes_of: Floats) -> float:
    """Return the seconds that no schedule with this promise can go below; `bytes_of[b]` are block b's."""
    devices = np.array(topology.ranks[: schedule.n], np.int32)
    return metrics.lower_bound(topology, promise, bytes_of, devices, in_switch=bool(schedule.switches))


def in_pieces(blocks: Sequence[float] | None, work: Work) -> Sequence[float] | None:
    """Sizes of whole blocks as those of the equal pieces that an algorithm cuts each of them into."""
    if blocks is None or work.collective is None or work.schedule.promise is None:
        return blocks
    promise, count = work.schedule.promise, work.collective.whole_blocks(work.schedule.n)
    if len(blocks) != count or promise.blocks < 2 * count:
        return blocks
    weights: list[float] = promise.in_pieces(np.asarray(blocks, np.float64)).tolist()
    return weights


def own_blocks(proof: Proof) -> list[float]:
    """Every block's bytes, read off a schedule that sends blocks one by one with sizes of their own."""
    schedule = proof.schedule
    assert schedule.promise is not None
    assert schedule.fixed_bytes is not None
    weights = np.zeros(schedule.promise.blocks)
    single = proof.carried >= 0
    weights[proof.carried[single]] = schedule.fixed_bytes[schedule.transfer_of[single]]
    return [float(weight) for weight in weights]


def largest_buffer(weights: Sequence[float] | Floats, promise: Promise) -> float:
    """What nccl-tests would call the size of unequal blocks: the bytes of the largest buffer of any rank."""
    padded = np.append(weights, 0.0)  # where NOTHING points
    return float(max(padded[held].sum(axis=1).max() for held in (promise.given, promise.owed)))
