"""What a page needs beside a trace to run it again: who waits for whom, and on which channel each transfer goes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.run.strategies import FEW
from sim.schedule.dependencies import lockstep, waits
from sim.trace import Trace

Array = NDArray[Any]


def can_rerun(trace: Trace) -> bool:
    """Return whether a page can run it again: alone, whole, to its end, at nobody's costs but the machine's."""
    schedule, is_plain = trace.schedule, all(trace.faults) and trace.excerpt is None and trace.stall is None
    return bool(trace.alone and is_plain and schedule.work is None and schedule.transfers <= FEW)


def rerun_columns(trace: Trace) -> dict[str, Array]:
    """Return the columns for `assets/whatif`; none where a page cannot run it again.

    `waiters` counts the rows that wait for each row, shape (rows,): transfers, then the marks between them. `waiter`
    are those rows, end to end, as differences to the row they wait for.
    """
    if trace.alone is None or not can_rerun(trace):
        return {}
    order = lockstep(trace.schedule) if trace.alone.lockstep else waits(trace.schedule)
    often = np.diff(order.start)
    later = order.after - np.repeat(np.arange(order.rows), often)
    waiter = (
        later.astype(np.int32) if later.min(initial=0) < 0 else small(later)
    )  # marks stand behind what waits for them
    return {"channel": small(trace.schedule.channel), "waiters": small(often), "waiter": waiter}


def small(values: Array) -> Array:
    """Return the same whole numbers in the smallest unsigned type that holds them all."""
    top = int(values.max(initial=0))
    return values.astype(np.uint8 if top < 1 << 8 else np.uint16 if top < 1 << 16 else np.uint32)
