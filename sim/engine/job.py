"""A schedule under way in a cluster."""

from dataclasses import dataclass
from typing import Any

from sim.base.arrays import Ints
from sim.faults.model import HeldBack
from sim.schedule import Schedule
from sim.schedule.verify import Proof


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
