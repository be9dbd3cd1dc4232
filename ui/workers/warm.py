"""Compiled kernels: made on disk once by a process of their own, then loaded by workers that have nothing to do.

A worker that compiled them itself would keep its first visitor waiting for as long as that takes; until they are there,
small scenes are interpreted.
"""

import os
import subprocess
import sys
from contextlib import suppress

from ops.request import Request
from sim.base.compiled import compiled
from sim.fabric import kernel
from sim.schedule import replay
from ui.workers import tasks
from ui.workers.process import environment

LATER = 10
"""How far the process that compiles stands behind all others for the processor."""


def load() -> None:
    """Have the kernels at hand, from disk where they are there."""
    compiled(kernel)
    compiled(replay)
    tasks.run(Request(machine="switch:ranks=64"), "en")


def made() -> "subprocess.Popen[bytes]":
    """The process that puts them on disk, begun."""
    quiet = subprocess.DEVNULL
    line = [sys.executable, "-m", __name__]
    return subprocess.Popen(line, stdin=quiet, stdout=quiet, stderr=quiet, env=environment())


if __name__ == "__main__":
    with suppress(AttributeError, OSError):
        os.nice(LATER)
    load()
