"""scatter: who holds what before, and who is owed what after."""

import numpy as np

from ops.collectives import blank_promise, block_per_rank, collective, others_share
from sim.schedule import Promise


@collective(
    units=block_per_rank, busbw=others_share, rooted=True, v=True, use="A batch that one rank has read, cut up for all."
)
def scatter(n: int, pieces: int, root: int) -> Promise:
    """Rank r ends with block r of the root's buffer."""
    p = blank_promise("scatter", n, n * pieces, n * pieces, range(n * pieces), range(n * pieces))
    blocks = np.arange(n * pieces)
    p.given[root] = blocks
    own = (blocks // pieces, blocks)
    p.owed[own], p.first[own], p.last[own] = blocks, root, root + 1
    return p
