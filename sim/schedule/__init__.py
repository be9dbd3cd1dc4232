"""Who sends which slots to whom, what has to wait for what, and whether the promise is kept."""

from sim.schedule.model import Promise, Schedule, Via, unroll
from sim.schedule.rank_order import in_rank_order
from sim.schedule.senders import around, every_rank, in_turn
from sim.schedule.steps import COPY, NOTHING, REDUCE, Step, Steps, copy, reduce

__all__ = [
    "COPY",
    "NOTHING",
    "REDUCE",
    "Promise",
    "Schedule",
    "Step",
    "Steps",
    "Via",
    "around",
    "copy",
    "every_rank",
    "in_rank_order",
    "in_turn",
    "reduce",
    "unroll",
]
