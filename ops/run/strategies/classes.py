"""Ranks of few classes, as in trees, found by refinement: one message of each class is simulated."""

import numpy as np

from ops.run.strategies import FEW, LEAST, Setup, Simulated, strategy
from ops.run.work import WRITTEN
from sim.base.watch import Estimate
from sim.symmetry.classes.run import simulate_kinds
from sim.trace import metrics

PLACE, MESSAGE, MESSAGE_S = 13, 25, 0.4e-6
"""Bytes of a place where a block may lie and of a message that is read; seconds for such a message."""
BLOCKS = 1 << 28
"""Places that a promise may lay out."""


def _cost(setup: Setup) -> Estimate | None:
    """What it takes to read every message once; None for small works, faults, lockstep, and switches that add."""
    work, entry = setup.work, setup.work.algorithm
    if not setup.is_equal or entry is None or work.n < WRITTEN or work.folded is not None:
        return None
    if setup.faults or setup.lockstep or work.in_turn:
        return None
    n, values = work.n, work.settings
    if n * entry.collective.units(n) * entry.cut(n, values) > BLOCKS or entry.switches(n, **values):
        return None
    counts = work.counts
    if counts.transfers < FEW:
        return None
    size = LEAST + PLACE * counts.places + MESSAGE * counts.transfers
    return Estimate(round(counts.transfers), size, MESSAGE_S * counts.transfers)


@strategy(cost=_cost)
def classes(setup: Setup) -> Simulated | None:
    """Simulate one message of each class; None where there are too many classes."""
    entry, needs = setup.work.algorithm, _cost(setup)
    assert entry is not None
    assert needs is not None
    setup.work.expect("classes", needs)
    try:
        reading = setup.work.listing
        timing = None if reading is None else simulate_kinds(setup.topology, *reading, setup.size)
    except MemoryError:
        return None
    return None if timing is None else Simulated(timing, _bound(setup), needs)


def _bound(setup: Setup) -> float:
    """The lower bound, from whole blocks: pieces of a block are owed alike."""
    work, topology = setup.work, setup.topology
    collective, n = work.collective, work.n
    assert collective is not None
    promise = collective.promise(n, 1, work.root)
    weights = np.full(promise.blocks, setup.size / collective.units(n) if collective.sized else 0.0)
    return metrics.lower_bound(topology, promise, weights, np.array(topology.ranks[:n], np.int32))
