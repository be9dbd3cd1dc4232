"""reduce_scatter: who holds what before, and who is owed what after."""

import numpy as np

from ops.collectives import blank_promise, block_per_rank, collective, others_share
from sim.registry import titled
from sim.schedule import Promise, every_rank


@collective(
    units=block_per_rank,
    busbw=others_share,
    reduces=True,
    v=True,
    use="Every rank's shard of the gradients' sum (ZeRO, FSDP).",
)
@titled("reduce-scatter")
def reduce_scatter(n: int, pieces: int, root: int) -> Promise:
    """Rank r ends with block r of the sum of all ranks' buffers."""
    p = blank_promise("reduce_scatter", n, n * pieces, n * pieces, range(n * pieces), range(n * pieces))
    rank = every_rank(n).reshape(-1, 1)
    p.given[:] = np.arange(n * pieces)
    blocks = rank * pieces + np.arange(pieces)
    own = (np.arange(len(rank)).reshape(-1, 1), blocks)
    p.owed[own], p.first[own], p.last[own] = blocks, 0, n
    return p
