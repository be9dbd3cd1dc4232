"""gather: who holds what before, and who is owed what after."""

import numpy as np

from ops.collectives import blank_promise, block_per_rank, collective, others_share
from sim.schedule import Promise


@collective(units=block_per_rank, busbw=others_share, rooted=True, v=True, use="Results of a validation, at one rank.")
def gather(n: int, pieces: int, root: int) -> Promise:
    """The root ends with every rank's block."""
    p = blank_promise("gather", n, n * pieces, n * pieces, range(n * pieces), range(n * pieces))
    blocks = np.arange(n * pieces)
    p.given[blocks // pieces, blocks] = blocks
    p.owed[root], p.first[root], p.last[root] = blocks, blocks // pieces, blocks // pieces + 1
    return p
