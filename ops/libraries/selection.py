"""Which algorithm a library would take for a call: fixed rules of Open MPI, MPICH and NCCL, or a forced choice.

A rule answers with the name of an algorithm and its parameters. Where the library itself falls back because the
number of ranks or elements does not fit, so does the rule.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ops.libraries import mpich, nccl_rule, openmpi
from ops.libraries.call import Choice, Load, equal_nodes
from ops.registry import ALGORITHMS
from sim.errors import InputError

LIBRARIES: dict[str, Callable[[Load], Choice]] = {
    "openmpi": openmpi.choose,
    "mpich": mpich.choose,
    "nccl": nccl_rule.choose,
}

FALL_BACK = ("bruck", "ring", "binomial", "recursive_doubling", "reduce_broadcast", "linear")
"""Tried in this order where the chosen algorithm cannot do this number of ranks, as in the libraries: Open MPI's
recursive doubling falls back to Bruck, its neighbour exchange to the ring."""
ODD = {"neighbor_exchange": "ring", "scatter_doubling_allgather": "scatter_ring_allgather"}
"""What is nearest to the chosen one; tried first."""


class Selection:
    """A library's rule, with forced algorithms where a person wants them.

    `forced` maps a collective to (algorithm, parameters). Raises InputError for names there are none of.
    """

    def __init__(self, library: str | None = None, forced: Mapping[str, Choice] | None = None) -> None:
        if library is not None and library not in LIBRARIES:
            raise InputError(f"no rule is called {library[:40]!r}: choose from {', '.join(LIBRARIES)}")
        self.library, self.forced = library, dict(forced or {})

    def choose(self, load: Load) -> Choice:
        """The algorithm for a call. Raises InputError where a forced one cannot do this number of ranks."""
        forced = self.forced.get(load.collective) or self._twin(load.collective)
        if forced is not None:
            name, given = forced
            if "group" in ALGORITHMS[name].params and not given.get("group") and equal_nodes(load) > 1:
                given = {**given, "group": equal_nodes(load)}
            ALGORITHMS[name].settle(load.n, root=load.root, **given)
            return name, given
        name, given = LIBRARIES[self.library or load.library](load)
        return (name, given) if not _refused(name, load.n, given) else _instead(name, load.n)

    def _twin(self, collective: str) -> Choice | None:
        """Equal blocks are a case of unequal ones: a forced allgather serves allgatherv where there is such a one."""
        other = collective.removesuffix("v") if collective.endswith("v") else collective + "v"
        if other not in self.forced:
            return None
        name, given = self.forced[other]
        name = f"{collective}.{name.partition('.')[2]}"
        return (name, given) if name in ALGORITHMS else None


def _refused(name: str, n: int, given: Mapping[str, Any]) -> bool:
    entry = ALGORITHMS[name]
    return entry.refuse(n, **entry.defaults | dict(given)) is not None


def _instead(name: str, n: int) -> Choice:
    collective, _, algorithm = name.partition(".")
    for other in (ODD.get(algorithm, ""), *FALL_BACK):
        there = f"{collective}.{other}"
        if there in ALGORITHMS and not _refused(there, n, {}):
            return there, {}
    raise InputError(f"{name} cannot do {n} ranks, and nothing else can: force another algorithm")
