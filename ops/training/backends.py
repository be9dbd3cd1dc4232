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


RINGS = tuple(f"{name}.ring" for name in ("allreduce", "allgather", "allgatherv", "reduce_scatter", "reduce_scatterv"))
PLAIN = (*RINGS, "broadcast.chain", "reduce.chain", "alltoall.nccl_p2p", "alltoallv.nccl_p2p", "barrier.dissemination")
"""Rings and chains in the order of the ranks, messages straight to their receivers."""
BACKENDS = {
    "ideal": Backend("nccl", forced=PLAIN),
    "nccl": Backend("nccl", launch=8 * us),
    "gloo": Backend("nccl", 15 * us, 1 / (5 * GBps), 30 * us, PLAIN),
    "mpi": Backend("openmpi", 1 * us, 1 / (10 * GBps), 2 * us),
}
"""`ideal` is rings in the order of the ranks, at no cost of their own. `nccl` takes what NCCL's tuner takes, on the
rings it would lay, and pays a launch: base latencies in NVIDIA/nccl src/graph/tuning.cc are 6.6 to 8.4 µs. `gloo` runs
rings on processors over TCP sockets: tens of µs per message, and sums in host memory at a few GB/s per core. `mpi` is a
tuned MPI on processors: a µs per message (OSU micro-benchmarks over InfiniBand), sums at 10 GB/s."""

BackendName = Annotated[str, Choice(tuple(BACKENDS))]


def world_of(topology: Topology, ranks: int, backend: str, interference: float = 0.0) -> World:
    """So many ranks of a machine that communicate through this library."""
    costs = BACKENDS[backend]
    burdened = replace(topology, overhead=topology.overhead + costs.overhead, gamma=topology.gamma + costs.gamma)
    forced = {name.partition(".")[0]: (name, dict[str, Any]()) for name in costs.forced}
    return World(burdened, ranks, library=costs.library, forced=forced, launch=costs.launch, interference=interference)
