"""Registered algorithms that state no renaming of their ranks, which are of few kinds all the same: trees, say."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ops.budget import counted
from ops.registry import Algorithm
from ops.work import FEW, LEAST, FoldedOutcome, FoldedWork, settled
from sim import metrics
from sim.base import watch
from sim.base.watch import Estimate
from sim.kinds.listing import listed
from sim.kinds.run import simulate_kinds
from sim.topology import Topology

PLACE, MESSAGE, MESSAGE_S = 13, 25, 0.4e-6
"""Bytes of a place where a block may lie and of a message that is read; seconds for such a message."""
BLOCKS = 1 << 28
"""Places that a promise may lay out."""
RANKS = 1 << 10
"""Of fewer there are not so many messages that it matters."""


def carry_out_kinds(
    topology: Topology, entry: Algorithm, n: int, size: float, settings: Mapping[str, Any], root: int = 0
) -> FoldedOutcome | None:
    """Prove an algorithm and run it alone on the first n ranks, one message of each kind for all that are like it.

    None where there are too many kinds, and where it is small enough to be written out. Raises InputError and
    StalledError as `carry_out` does.
    """
    if n < RANKS:
        return None
    values = settled(entry, n, root, topology, settings)
    cut = entry.cut(n, values)
    if n * entry.collective.units(n) * cut > BLOCKS or entry.switches(n, **values):
        return None
    counts = counted(entry, n, values, root)
    if counts is None or counts.transfers < FEW:
        return None
    needs = Estimate(
        round(counts.transfers),
        LEAST + PLACE * counts.places + MESSAGE * counts.transfers,
        MESSAGE_S * counts.transfers,
    )
    watch.expect(entry.name, needs)
    try:
        return _carried_out(topology, entry, n, size, values, root, needs)
    except MemoryError:
        return None


def _carried_out(
    topology: Topology,
    entry: Algorithm,
    n: int,
    size: float,
    values: Mapping[str, Any],
    root: int,
    needs: Estimate,
) -> FoldedOutcome | None:
    began = time.perf_counter()
    rooted = {"root": root} if entry.collective.rooted else {}
    reading = listed(
        entry.steps(n, **rooted, **values),
        entry.collective.promise(n, entry.cut(n, values), root),
        name=entry.name,
        unit_share=entry.unit_share(n, values),
        ordered=entry.ordered,
    )
    if reading is None:
        return None
    listing, verdict = reading
    built = time.perf_counter()
    trace = simulate_kinds(topology, listing, verdict, size)
    if trace is None:
        return None
    real = {"build_s": built - began, "verify_s": 0.0}  # both at once
    real |= {"estimated_s": needs.seconds, "estimated_bytes": round(needs.bytes)}
    return FoldedOutcome(FoldedWork(listing, entry, values), trace, _bound(topology, entry, n, size, root), real)


def _bound(topology: Topology, entry: Algorithm, n: int, size: float, root: int) -> float:
    """What `carry_out` tells, from whole blocks: pieces of a block are owed alike."""
    promise = entry.collective.promise(n, 1, root)
    weights = np.full(promise.blocks, size / entry.collective.units(n) if entry.collective.sized else 0.0)
    return metrics.lower_bound(topology, promise, weights, np.array(topology.ranks[:n], np.int32))
