"""allgather: who holds what before, and who is owed what after."""

import numpy as np

from ops.collectives import blank_promise, block_per_rank, collective, others_share
from sim.registry import titled
from sim.schedule import Promise, every_rank


@collective(
    units=block_per_rank,
    busbw=others_share,
    v=True,
    use="Shards of parameters before they are needed (ZeRO, FSDP); a global batch of features for a contrastive loss.",
)
@titled("all-gather")
def allgather(n: int, pieces: int, root: int) -> Promise:
    """Every rank ends with every rank's block."""
    p = blank_promise("allgather", n, n * pieces, n * pieces, range(n * pieces), range(n * pieces))
    rank, blocks = every_rank(n).reshape(-1, 1), np.arange(n * pieces)
    own = rank * pieces + np.arange(pieces)
    p.given[np.arange(len(rank)).reshape(-1, 1), own] = own
    p.owed[:], p.first[:], p.last[:] = blocks, blocks // pieces, blocks // pieces + 1
    return p
