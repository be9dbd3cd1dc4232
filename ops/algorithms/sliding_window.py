"""One-sided: everyone fetches its share from one rank after the other, adds it up, and puts the total everywhere."""

import numpy as np

from ops.collectives import allreduce
from ops.patterns import Segments, Window, runs
from ops.registry import algorithm
from sim.schedule import Steps, copy, reduce


def _cost(n: int, *, window: int, segments: int) -> tuple[float, float, float]:
    return segments * (1 - (1 - n) // window), 2 * (n - 1) / n, (n - 1) / n


@algorithm(
    allreduce,
    ordered=True,
    pieces=lambda n, *, segments, **_: n * segments,
    cost=_cost,
    ids={"ucc": "3"},
    reference="UCC src/components/tl/ucp/allreduce/allreduce_sliding_window.c",
)
def sliding_window(n: int, *, window: Window = 4, segments: Segments = 1) -> Steps:
    """Each rank fetches its share from the ranks after it, `window` at a time, adds up, and puts the total everywhere.

    A share that does not fit the buffers is done in segments, one after the other.
    """
    r = np.arange(n)
    for part in range(segments):
        share = r * segments + part
        for first in range(1, n, window):
            far = np.arange(first, min(first + window, n)).reshape(-1, 1)
            source, width = (r + far) % n, len(far)
            place = np.broadcast_to(n * segments + far - first, source.shape).reshape(-1)
            yield copy(source.reshape(-1), np.tile(r, width), slot=np.tile(share, width), to=place)
            yield reduce(r, r, slot=runs(n * segments, width), to=share.reshape(-1, 1))
        others = (r + np.arange(1, n).reshape(-1, 1)) % n
        yield copy(np.tile(r, n - 1), others.reshape(-1), slot=np.tile(share, n - 1))
