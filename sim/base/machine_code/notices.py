"""What is said about compiling, once by a process."""

import os

from sim.base.files.locks import notice

QUIET = "RINGSIDE_QUIET"
"""Set, this environment variable leaves these notices out."""
COMPILING = "compiling the simulator's kernels, once: this takes about a minute of the processor"
COLD = "the simulator's kernels are not compiled yet: the first process that needs them takes a minute for that, once"
WAITING = "another process is compiling the simulator's kernels: waiting for it"
KEPT_NOWHERE = "the simulator's kernels are compiled by every process, as no folder can keep them: set NUMBA_CACHE_DIR"
_SAID: set[str] = set()


def say_once(sentence: str) -> None:
    """Write a notice to standard error, unless this process has written it before."""
    if sentence not in _SAID and not os.environ.get(QUIET):
        _SAID.add(sentence)
        notice(sentence)
