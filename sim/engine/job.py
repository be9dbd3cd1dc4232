"""A schedule under way in a cluster, and the bytes of its transfers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.base.arrays import Floats, Ints, blank
from sim.errors import InputError, Message
from sim.faults.model import HeldBack
from sim.schedule import Schedule
from sim.schedule.verify import Proof
from sim.units import LARGEST_SIZE


@dataclass(frozen=True, eq=False)
class Job:
    """Rows `first .. stop - 1` of the fabric's memory; as many of them as the schedule has transfers are real ones.

    `size` is what nccl-tests would call it, in bytes; `event` happens when all have ended; `devices[r]` plays rank r.
    """

    schedule: Schedule
    size: float
    proof: Proof
    first: int
    stop: int
    started: float
    event: Any  # simpy.Event, which only the engine imports
    devices: Ints
    held: HeldBack
    background: bool


def check_size(name: str, unit_share: float, size: float) -> None:
    """Raise InputError for bytes that a schedule of equal blocks cannot be run with; see `Schedule.unit_share`."""
    if unit_share > 0 and not (1 <= size <= LARGEST_SIZE):
        raise InputError("job.size", name=name, size=size)
    if unit_share > 0 and size * unit_share < 1:
        least = math.ceil(1 / unit_share)
        raise InputError("job.blocks", name=name, size=size, least=least)


def transfer_bytes(schedule: Schedule, size: float, blocks: Sequence[float] | Floats | None, proof: Proof) -> Floats:
    """Bytes of every transfer. A message weighs what it carries: equal slots, the blocks' own sizes, or its own.

    Raises InputError for a size that is not positive, leaves a block under one byte, or block sizes that do
    not fit the schedule.
    """
    if schedule.fixed_bytes is not None and blocks is None:
        return schedule.fixed_bytes.copy()
    if blocks is None:
        unit = size * schedule.unit_share
        check_size(schedule.name, schedule.unit_share, size)
        equal: Floats = blank(schedule.transfers, np.float64)
        if schedule.single:
            equal.fill(unit)
        else:
            np.multiply(np.diff(schedule.moves), unit, out=equal)
        return equal
    weights = np.asarray(blocks, dtype=np.float64)
    promise = schedule.promise
    if promise is None or weights.shape != (promise.blocks,):
        owed = Message("job.no_blocks") if promise is None else Message("job.has_blocks", count=promise.blocks)
        raise InputError("job.sizes", schedule=schedule.name, blocks=owed, count=weights.size)
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() > LARGEST_SIZE:
        raise InputError("job.block_sizes", schedule=schedule.name)
    carried = np.where(proof.carried >= 0, weights[np.maximum(proof.carried, 0)], 0.0)
    if schedule.single:
        return carried
    slots = np.diff(schedule.moves)
    total = np.zeros(len(slots))
    total[slots > 0] = np.add.reduceat(carried, schedule.moves[:-1][slots > 0]) if len(carried) else 0.0
    return total
