"""barrier: who holds what before, and who is owed what after."""

from ops.collectives import blank_promise, collective
from sim.schedule import Promise


@collective(reduces=True, sized=False, use="Waiting for the rank that downloads or writes a file.")
def barrier(n: int, pieces: int, root: int) -> Promise:
    """No rank leaves before every rank has arrived.

    Slot 0 is the token: who has been heard of. Hearing twice of a rank does no harm.
    """
    p = blank_promise("barrier", n, 1, 1, range(1), range(1), union=True)
    p.given[:] = p.owed[:] = 0
    p.first[:], p.last[:] = 0, n
    return p
