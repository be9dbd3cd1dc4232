"""allreduce: who holds what before, and who is owed what after."""

import numpy as np

from ops.collectives import blank_promise, collective
from sim.registry import titled
from sim.schedule import Promise


@collective(busbw=lambda n: 2 * (n - 1) / n, reduces=True, use="The sum of gradients in data parallel training (DDP).")
@titled("all-reduce")
def allreduce(n: int, pieces: int, root: int) -> Promise:
    """Every rank ends with the sum of all ranks' buffers."""
    p = blank_promise("allreduce", n, pieces, pieces, range(pieces), range(pieces))
    p.given[:] = p.owed[:] = np.arange(pieces)
    p.first[:], p.last[:] = 0, n
    return p
