"""Which algorithm a call takes: what its library chooses, what a person forces, what is left where that cannot be."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ops.backends import shaped
from ops.libraries import LIBRARIES, CollectiveCall, Decision, Library
from ops.registry import ALGORITHMS
from sim.errors import InputError

Forced = tuple[str, dict[str, Any]]
"""An algorithm's name and its parameters."""
FALL_BACK = ("bruck", "ring", "binomial", "recursive_doubling", "reduce_broadcast", "linear")
"""Tried in this order where the chosen algorithm cannot do this number of ranks, as in the libraries: Open MPI's
recursive doubling falls back to Bruck, its neighbour exchange to the ring."""
ODD = {"neighbor_exchange": "ring", "scatter_doubling_allgather": "scatter_ring_allgather"}
"""What is nearest to the chosen one; tried first."""


class Selection:
    """A library's rule, with forced algorithms where a person wants them.

    `library` is whose; without one every call brings its own. `forced` maps a collective to (algorithm, parameters).
    `shape`, "ring" or "tree", is preferred to the rule where a collective has one. Raises InputError for a library
    there is none of.
    """

    def __init__(self, library: str | None = None, forced: Mapping[str, Forced] | None = None, shape: str = "") -> None:
        if library is not None and library not in LIBRARIES:
            raise InputError("rule.unknown", library=library, libraries=LIBRARIES)
        self.library, self.forced, self.shape = library, dict(forced or {}), shape

    def choose(self, call: CollectiveCall) -> Decision:
        """The algorithm for a call. Raises InputError where a forced one cannot do this number of ranks."""
        forced = self._forced(call)
        if forced is not None:
            ALGORITHMS[forced.algorithm].settle(call.n, root=call.root, **forced.settings)
            return forced
        decision = self._decide(LIBRARIES[self.library or call.library], call)
        return decision if not _refused(decision, call.n) else _instead(decision, call.n)

    def _decide(self, library: Library, call: CollectiveCall) -> Decision:
        """What the library takes; NCCL has rings and trees of its own, like NCCL_ALGO."""
        if library.name == "nccl":
            return library.choose(replace(call, shape=self.shape))
        name = shaped(self.shape, call.collective) if self.shape else ""
        return Decision(name) if name and not _refused(Decision(name), call.n) else library.choose(call)

    def _forced(self, call: CollectiveCall) -> Decision | None:
        """What a person forces; a group of ranks is a host's where nothing else is said."""
        forced = self.forced.get(call.collective) or self._twin(call.collective)
        if forced is None:
            return None
        name, settings = forced
        if ALGORITHMS[name].takes_hosts and not settings.get("group") and call.members.per_host > 1:
            settings = {**settings, "group": call.members.per_host}
        return Decision(name, settings)

    def _twin(self, collective: str) -> Forced | None:
        """Equal blocks are a case of unequal ones: a forced allgather serves allgatherv where there is such a one."""
        other = collective.removesuffix("v") if collective.endswith("v") else collective + "v"
        if other not in self.forced:
            return None
        name, settings = self.forced[other]
        name = f"{collective}.{name.partition('.')[2]}"
        return (name, settings) if name in ALGORITHMS else None


def _refused(decision: Decision, n: int) -> bool:
    entry = ALGORITHMS[decision.algorithm]
    return entry.refuse(n, **entry.defaults | dict(decision.settings)) is not None


def _instead(decision: Decision, n: int) -> Decision:
    collective, _, algorithm = decision.algorithm.partition(".")
    for other in (ODD.get(algorithm, ""), *FALL_BACK):
        name = f"{collective}.{other}"
        if name in ALGORITHMS and not _refused(Decision(name), n):
            return Decision(name)
    raise InputError("ranks.nothing_else", algorithm=decision.algorithm, n=n)
