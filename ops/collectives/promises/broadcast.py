"""broadcast: who holds what before, and who is owed what after."""

import numpy as np

from ops.collectives import blank_promise, collective
from sim.schedule import Promise


@collective(rooted=True, use="The first parameters and settings, from rank 0 to all.")
def broadcast(n: int, pieces: int, root: int) -> Promise:
    """Every rank ends with the root's buffer."""
    p = blank_promise("broadcast", n, pieces, pieces, range(pieces), range(pieces))
    p.given[root] = p.owed[:] = np.arange(pieces)
    p.first[:], p.last[:] = root, root + 1
    return p
