"""A cell that kills its process. Every process that runs it imports this file, and none of what the tests import."""

import os
import signal

from ops.lab.cells import Row, rows
from ops.plan import Plan

DEADLY = ("allreduce.ring", "switch:ranks=8", 4096)


def deadly(cells: list[Plan]) -> list[Row]:
    """`rows`, were one of them to take all the memory there is."""
    if any((cell.algorithm, cell.machine, cell.bytes) == DEADLY for cell in cells):
        os.kill(os.getpid(), signal.SIGKILL)
    return rows(cells)
