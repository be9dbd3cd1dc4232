"""alltoall: who holds what before, and who is owed what after."""

import numpy as np

from ops.collectives import blank_promise, block_per_rank, collective, others_share
from sim.registry import titled
from sim.schedule import Promise, every_rank


@collective(
    units=block_per_rank,
    busbw=others_share,
    pairwise=True,
    v=True,
    use="Tokens to their experts and back (MoE); heads and sequences of attention.",
)
@titled("all-to-all")
def alltoall(n: int, pieces: int, root: int) -> Promise:
    """Rank r sends its block d to rank d and ends with one block from every rank.

    Input slot `d * pieces + j` is meant for rank d; output slot `(n + s) * pieces + j` comes from rank s.
    """
    half = n * pieces
    p = blank_promise("alltoall", n, 2 * half, n * half, range(half), range(half, 2 * half))
    rank, slot = every_rank(n).reshape(-1, 1), np.arange(half).reshape(1, -1)
    other, piece = slot // pieces, slot % pieces
    p.given[:, :half] = rank * half + slot
    p.owed[:, half:] = other * half + rank * pieces + piece
    p.first[:, half:], p.last[:, half:] = other, other + 1
    return p
