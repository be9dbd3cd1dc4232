"""sendrecv: who holds what before, and who is owed what after."""

import numpy as np

from ops.collectives import blank_promise, collective
from sim.registry import titled
from sim.schedule import Promise, every_rank


@collective(use="Activations and their gradients between the stages of a pipeline.")
@titled("send and receive")
def sendrecv(n: int, pieces: int, root: int) -> Promise:
    """Rank r sends its buffer to rank r + 1 and receives that of rank r - 1.

    Input slots are the first `pieces`, output slots the next.
    """
    p = blank_promise("sendrecv", n, 2 * pieces, pieces, range(pieces), range(pieces, 2 * pieces))
    before = (every_rank(n).reshape(-1, 1) - 1) % n
    p.given[:, :pieces] = p.owed[:, pieces:] = np.arange(pieces)
    p.first[:, pieces:], p.last[:, pieces:] = before, before + 1
    return p
