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
    in_rank_order,
    reduce,
    unroll,
)

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
