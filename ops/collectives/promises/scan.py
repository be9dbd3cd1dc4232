"""scan: who holds what before, and who is owed what after."""

import numpy as np

from ops.collectives import blank_promise, collective
from sim.schedule import Promise


@collective(reduces=True, use="Running totals over the ranks, like places in one long file.")
def scan(n: int, pieces: int, root: int) -> Promise:
    """Rank r ends with the sum of the buffers of ranks 0 to r.

    Input slots are the first `pieces`, output slots the next.
    """
    return prefix("scan", n, pieces, inclusive=1)


def prefix(name: str, n: int, pieces: int, *, inclusive: int) -> Promise:
    """Rank r is owed what ranks 0 to r hold, its own included if `inclusive` is 1, not if it is 0."""
    p = blank_promise(name, n, 2 * pieces, pieces, range(pieces), range(pieces, 2 * pieces))
    p.given[:, :pieces] = np.arange(pieces)
    owing = slice(1 - inclusive, n)
    p.owed[owing, pieces:] = np.arange(pieces)
    p.first[owing, pieces:] = 0
    p.last[owing, pieces:] = np.arange(n)[owing].reshape(-1, 1) + inclusive
    return p
