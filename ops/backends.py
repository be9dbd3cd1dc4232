"""Backends: whose rule chooses algorithms, what its way of sending costs, and which algorithms are rings and trees."""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from sim.topology import Topology
from sim.units import GBps, us


class Backend(NamedTuple):
    """`overhead` per message and `gamma` per byte reduced are added to the machine's, s; `launch` is per collective."""

    library: str
    overhead: float = 0.0
    gamma: float = 0.0
    launch: float = 0.0
    forced: tuple[str, ...] = ()
    """Algorithms it takes whatever the library's rule says."""


SHAPES: dict[str, tuple[str, ...]] = {
    "ring": (
        *("allreduce.ring", "allgather.ring", "allgatherv.ring", "reduce_scatter.ring", "reduce_scatterv.ring"),
        *("broadcast.chain", "reduce.chain", "barrier.double_ring"),
    ),
    "tree": (
        *("allreduce.double_binary_tree", "broadcast.binomial", "reduce.binomial", "gather.binomial"),
        *("gatherv.binomial", "scatter.binomial", "scatterv.binomial", "barrier.tree"),
    ),
}
"""What a person may prefer to a backend's own choice, and the algorithms that are meant by it. NCCL has rings and trees
of its own, `ops.libraries.nccl.choice`."""
PLAIN = (*SHAPES["ring"][:-1], "alltoall.nccl_p2p", "alltoallv.nccl_p2p", "barrier.dissemination")
"""Rings and chains in the order of the ranks, messages straight to their receivers."""
BACKENDS = {
    "ideal": Backend("nccl", forced=PLAIN),
    "nccl": Backend("nccl", launch=8 * us),
    "gloo": Backend("gloo", 15 * us, 1 / (5 * GBps), 30 * us),
    "mpi": Backend("openmpi", 1 * us, 1 / (10 * GBps), 2 * us),
    "mpich": Backend("mpich", 1 * us, 1 / (10 * GBps), 2 * us),
}
"""`ideal` is rings in the order of the ranks, at no cost of their own. `nccl` takes what NCCL's tuner takes, on the
rings it would lay, and pays a launch: base latencies in NVIDIA/nccl src/graph/tuning.cc are 6.6 to 8.4 µs. `gloo` runs
on processors over TCP sockets: tens of µs per message, and sums in host memory at a few GB/s per core. `mpi` and
`mpich` are a tuned MPI on processors: a µs per message (OSU micro-benchmarks over InfiniBand), sums at 10 GB/s."""


AUTO = "auto"
"""The backend's own choice."""


def costs_of(library: str) -> Backend | None:
    """The backend that tells what a library's own processors take; nothing where none does.

    >>> costs_of("gloo") == BACKENDS["gloo"], costs_of("openmpi") == BACKENDS["mpi"]
    (True, True)
    """
    of_library = (backend for backend in BACKENDS.values() if backend.library == library)
    return next((backend for backend in of_library if backend.launch), None)


@lru_cache(maxsize=8)
def burdened(topology: Topology, backend: Backend) -> Topology:
    """The machine with a backend's costs; one for all who ask, as what is found out about it is kept by it."""
    return replace(topology, overhead=topology.overhead + backend.overhead, gamma=topology.gamma + backend.gamma)


def shape_of(algorithm: str) -> str:
    """Whether an algorithm is a ring or a tree; neither is nothing.

    >>> shape_of("allreduce.nccl_tree"), shape_of("alltoall.linear")
    ('tree', '')
    """
    if algorithm in ("allreduce.nccl_tree", "allreduce.nvls_tree"):
        return "tree"
    return next((shape for shape, names in SHAPES.items() if algorithm in names), "")


def shaped(shape: str, collective: str) -> str:
    """The ring or the tree for a collective; nothing where there is none.

    >>> shaped("tree", "broadcast"), shaped("tree", "allgather")
    ('broadcast.binomial', '')
    """
    return next((name for name in SHAPES[shape] if name.partition(".")[0] == collective), "")
