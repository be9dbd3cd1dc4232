"""What a communication library adds to a machine: costs per message, per byte and per collective."""

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from ops.training.world import World
from sim.parameters import Choice
from sim.topology import Topology
from sim.units import GBps, us


class Backend(NamedTuple):
    """`overhead` per message and `gamma` per byte reduced are added to the machine's; `launch` is per collective."""

    library: str
    overhead: float = 0.0
    gamma: float = 0.0
    launch: float = 0.0
    forced: tuple[str, ...] = ()
    """Algorithms it takes whatever the library's rule says."""
    tuned: bool = False
    """Does NCCL's tuner choose, and its search lay the rings?"""


RINGS = ("allreduce.ring", "allgather.ring", "reduce_scatter.ring")
BACKENDS = {
    "ideal": Backend("nccl", forced=RINGS),
    "nccl": Backend("nccl", launch=8 * us, tuned=True),
    "gloo": Backend("nccl", 15 * us, 1 / (5 * GBps), 30 * us, RINGS),
    "mpi": Backend("openmpi", 1 * us, 1 / (10 * GBps), 2 * us),
}
"""`ideal` is rings in the order of the ranks, at no cost of their own. `nccl` takes what NCCL's tuner takes, on the
rings it would lay, and pays a launch: base latencies in NVIDIA/nccl src/graph/tuning.cc are 6.6 to 8.4 µs. `gloo` runs
rings on processors over TCP sockets: tens of µs per message, and sums in host memory at a few GB/s per core. `mpi` is a
tuned MPI on processors: a µs per message (OSU micro-benchmarks over InfiniBand), sums at 10 GB/s."""

BackendName = Annotated[str, Choice(tuple(BACKENDS))]


def world(topology: Topology, ranks: int, backend: str, interference: float = 0.0) -> World:
    """So many ranks of a machine that talk through this library."""
    known = BACKENDS[backend]
    burdened = replace(topology, overhead=topology.overhead + known.overhead, gamma=topology.gamma + known.gamma)
    forced = {name.partition(".")[0]: (name, dict[str, Any]()) for name in known.forced}
    return World(
        burdened,
        ranks,
        library=known.library,
        forced=forced,
        launch=known.launch,
        interference=interference,
        tuned=known.tuned,
    )
