"""exscan: who holds what before, and who is owed what after."""

from ops.collectives import collective
from ops.collectives.promises.scan import prefix
from sim.registry import titled
from sim.schedule import Promise


@collective(reduces=True, use="Where the blocks of unequal size begin.")
@titled("exclusive scan")
def exscan(n: int, pieces: int, root: int) -> Promise:
    """Rank r ends with the sum of the buffers of ranks 0 to r - 1; rank 0 is owed nothing.

    Input slots are the first `pieces`, output slots the next.
    """
    return prefix("exscan", n, pieces, inclusive=0)
