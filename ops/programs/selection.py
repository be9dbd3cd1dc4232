"""Which algorithm a library would take for a call: fixed rules of Open MPI, MPICH and NCCL, or a forced choice.

A rule answers with the name of an algorithm and its parameters. Where the library itself falls back because the
number of ranks or elements does not fit, so does the rule.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.programs import openmpi
from ops.registry import ALGORITHMS
from ops.shapes import power_below
from sim.errors import InputError

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


def mpich(load: Load) -> Choice:
    """MPICH's generic rules (pmodels/mpich, maint/tuning/coll/mpir/generic.json)."""
    n, size = load.n, load.size
    power = n & (n - 1) == 0
    below = power_below(n)
    kind = load.collective.removesuffix("v")
    if kind == "broadcast":
        short = n < 8 or size <= 12288
        long = "scatter_doubling_allgather" if power and size <= 524288 else "scatter_ring_allgather"
        return f"broadcast.{'binomial' if short else long}", {}
    if kind == "allreduce":
        short = size <= 8 or not load.builtin or load.count < below
        return f"allreduce.{'recursive_doubling' if short else 'rabenseifner'}", {}
    if kind == "reduce":
        short = size <= 2048 or not load.builtin or load.count < below
        return f"reduce.{'binomial' if short else 'rabenseifner'}", {}
    if kind == "allgather":
        total = size * n
        if total >= (524288 if power else 81920):
            return f"{load.collective}.ring", {}
        return f"{load.collective}.{'recursive_doubling' if power else 'bruck'}", {}
    if kind == "alltoall":
        if load.collective == "alltoallv":
            return "alltoallv.linear", {}
        if n >= 8 and size <= 256:
            return "alltoall.bruck", {}
        return f"alltoall.{'linear' if size <= 32768 else 'pairwise'}", {}
    if kind == "reduce_scatter":
        total = size if load.collective.endswith("v") else size * n
        if not load.commutes:
            return f"{load.collective}.recursive_doubling", {}
        return f"{load.collective}.{'recursive_halving' if total < 524288 else 'pairwise'}", {}
    rest = {"gather": "binomial", "scatter": "binomial", "barrier": "dissemination", "scan": "recursive_doubling",
            "exscan": "recursive_doubling"}[kind]  # fmt: skip
    return f"{load.collective}.{'linear' if load.collective.endswith('v') else rest}", {}


NCCL_TREE = 4 * 1024 * 1024
"""Bytes per node below which trees win between nodes. NCCL's own figures (src/graph/tuning.cc, Hopper, 8 GPUs a
node) have rings overtake between 1 and 16 MiB on two nodes, and between 16 and 256 MiB on four."""


def nccl(load: Load) -> Choice:
    """NCCL's repertoire: rings, trees between nodes, all else as grouped sends and receives."""
    kind, group = load.collective, equal_nodes(load)
    if kind == "allreduce" and load.n > group and load.size < NCCL_TREE * load.n / group:
        return "allreduce.nccl_tree", {"group": group}
    if kind in ("allreduce", "allgather", "allgatherv", "reduce_scatter", "reduce_scatterv"):
        return f"{kind}.ring", {}
    if kind in ("alltoall", "alltoallv"):
        return f"{kind}.nccl_p2p", {"group": group}
    return f"{kind}.{ {'broadcast': 'chain', 'reduce': 'chain', 'barrier': 'dissemination'}.get(kind, 'linear') }", {}


LIBRARIES: dict[str, Callable[[Load], Choice]] = {"openmpi": openmpi.choose, "mpich": mpich, "nccl": nccl}

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
