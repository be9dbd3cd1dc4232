"""How much every rank sends, how long, and how little would do."""

from typing import NamedTuple

import numpy as np

from sim.topology import Floats, Ints
from sim.trace import Trace
from sim.trace.metrics import least_sent


class Sending(NamedTuple):
    """What ranks send in a run.

    `least` is the share of the run in which the rank that sends least has a message on its way, `mean` the number of
    ranks that have one at a time, on average. `fewest` and `most` bytes leave a rank; the one that sends most cannot
    send fewer than `minimum`, 0 where that is unknown.
    """

    least: float
    mean: float
    fewest: float
    most: float
    minimum: float


def sending_of(trace: Trace) -> Sending | None:
    """Return what ranks send in a run; None where nothing takes any time."""
    if trace.time <= 0:
        return None
    n, schedule = trace.schedule.n, trace.schedule
    away = (schedule.src != schedule.dst) & (schedule.src < n)
    shares = _spans(schedule.src[away], trace.left[away], trace.end[away], n) / trace.time
    sent = np.bincount(schedule.src[away], trace.bytes[away], n)
    return Sending(float(shares.min()), float(shares.sum()), float(sent.min()), float(sent.max()), least(trace))


def least(trace: Trace) -> float:
    """Bytes that the rank which sends most cannot send less than; 0 where blocks differ or nothing is promised."""
    schedule = trace.schedule
    share = trace.size * schedule.unit_share
    blocks = np.diff(schedule.moves)
    if schedule.promise is None or not share or not np.allclose(trace.bytes, blocks * share, rtol=1e-9):
        return 0.0
    weights = np.full(schedule.promise.blocks, share)
    return least_sent(schedule.promise, weights, in_switch=bool(schedule.switches))


def _spans(whose: Ints, begin: Floats, end: Floats, count: int) -> Floats:
    """Seconds that the stretches of each owner cover; where several overlap, once.

    >>> _spans(np.array([0, 0, 1]), np.array([0.0, 1.0, 5.0]), np.array([2.0, 3.0, 6.0]), 3).tolist()
    [3.0, 1.0, 0.0]
    """
    if not len(whose):
        return np.zeros(count)
    order = np.lexsort((begin, whose))
    owner = whose[order]
    apart = owner * 2 * (end.max() - begin.min())  # owners follow each other, none overlaps the next
    begins, ends = begin[order] - begin.min() + apart, end[order] - begin.min() + apart
    until = np.maximum.accumulate(ends)
    before = np.concatenate(([-np.inf], until[:-1]))
    return np.bincount(owner, np.maximum(0.0, ends - np.maximum(begins, before)), count).astype(np.float64)
