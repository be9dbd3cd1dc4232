"""reduce: who holds what before, and who is owed what after."""

import numpy as np

from ops.collectives import blank_promise, collective
from sim.schedule import Promise


@collective(
    rooted=True, reduces=True, use="A loss or a metric, at one rank; each gradient at the rank that keeps its shard."
)
def reduce(n: int, pieces: int, root: int) -> Promise:
    """The root ends with the sum of all ranks' buffers."""
    p = blank_promise("reduce", n, pieces, pieces, range(pieces), range(pieces))
    p.given[:] = p.owed[root] = np.arange(pieces)
    p.first[root], p.last[root] = 0, n
    return p
