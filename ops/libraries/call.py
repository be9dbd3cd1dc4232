"""A call of a collective as a library's rule sees it, and what such a rule answers with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Choice = tuple[str, dict[str, Any]]
"""An algorithm's name and its parameters."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a call brings: `size` bytes, `count` elements, for n ranks on `hosts`.

    `collective` is the registry's name. `size` is the whole buffer of a broadcast or reduction, the total of a
    reduce_scatterv, and one block otherwise (the mean one of a v collective): so Open MPI and MPICH count.
    """

    collective: str
    n: int
    size: float
    count: float
    hosts: Sequence[int]
    root: int = 0
    commutes: bool = True
    builtin: bool = True
    """Is the reduction one of the library's own?"""
    sized: bool = True
    library: str = "openmpi"
    """Whose rule is taken unless a person asks for another."""


def equal_nodes(load: Load) -> int:
    """Ranks per host when hosts hold runs of ranks of one length, or 1 when they do not."""
    runs: list[list[int]] = []
    for host in load.hosts:
        if runs and runs[-1][0] == host:
            runs[-1][1] += 1
        else:
            runs.append([host, 1])
    lengths = {length for _, length in runs}
    return lengths.pop() if len(lengths) == 1 and len({host for host, _ in runs}) == len(runs) else 1
