"""Compiled kernels: made on disk once by a process of their own; then workers are copies of one that has loaded them.

Whoever compiled them first would keep the first visitor waiting for as long as that takes. Until they are on disk
workers begin without, small plans are interpreted, and a worker loads them at its first large run after that.
"""

import hashlib
import os
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from ops.plan import Plan
from sim.base.compiled import compiled
from sim.fabric import kernel, links
from sim.schedule import replay
from ui.workers import tasks
from ui.workers.process import environment

LATER = 15
"""How far the process that compiles stands behind all others for the processor."""


RUNS = (
    Plan(machine="switch:ranks=64"),
    Plan(machine="switch:ranks=64", fault="slow_link:src=GPU0,dst=SW,share=0.5,start=1us,end=2us"),
    Plan(
        algorithm="allreduce.hierarchical_2d",
        machine="nodes:nodes=2,gpus=2,nics=2",
        fault="lost_nic:nic=H0.NIC1,start=1us,reroute=true",
    ),
)
"""What takes every kernel that pages need, in each form: alike ranks, a link that changes, messages on another way."""


def load() -> None:
    """Have the kernels at hand, from disk where they are there."""
    for module in (kernel, links, replay):
        compiled(module)
    for plan in RUNS:
        tasks.run(plan, "en")


def are_made() -> bool:
    """Whether kernels of these very sources are on disk, as far as a note beside them tells."""
    return _note().is_file()


def make() -> "subprocess.Popen[bytes]":
    """The process that puts them there, begun."""
    quiet = subprocess.DEVNULL
    line = [sys.executable, "-m", __name__]
    return subprocess.Popen(line, stdin=quiet, stdout=quiet, stderr=quiet, env=environment())


def _note() -> Path:
    room = Path(kernel.__file__).parents[1]
    sources = hashlib.sha256(f"{sys.version} {version('numba')}".encode())
    for file in sorted(room.rglob("*.py")):
        sources.update(file.read_bytes())
    return Path(kernel.__file__).parent / "__pycache__" / f"kernels-{sources.hexdigest()[:16]}"


if __name__ == "__main__" and not are_made():
    with suppress(AttributeError, OSError):
        os.nice(LATER)
    load()
    with suppress(OSError):  # where it cannot be written, this is done at every start
        _note().touch()
