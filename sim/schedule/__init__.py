"""Who sends which slots to whom, what has to wait for what, and whether the promise is kept."""

from sim.schedule.model import (
    COPY,
    NOTHING,
    REDUCE,
    Promise,
    Schedule,
    Step,
    Steps,
    copy,
    reduce,
    unroll,
)
from sim.schedule.rank_order import in_rank_order

__all__ = [
    "COPY",
    "NOTHING",
    "REDUCE",
    "Promise",
    "Schedule",
    "Step",
    "Steps",
    "copy",
    "in_rank_order",
    "reduce",
    "unroll",
]
