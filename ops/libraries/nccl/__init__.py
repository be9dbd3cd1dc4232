"""NCCL: its tuner, the rings it lays, what its ways of sending cost; and its answer to any call.

The answer is the tuner's where it has one, else what NCCL and its users make of sends and receives.
"""

from ops.libraries import CollectiveCall, Decision, library
from ops.libraries.nccl.choice import POINT_TO_POINT, RUNS, choose, decision_of
from ops.libraries.nccl.constants import ABLE
from ops.libraries.nccl.variables import FREE, Variables
from sim.registry import titled

ELEMENT = 4
"""Bytes of the one element that PyTorch sums as a barrier (ProcessGroupNCCL.cpp)."""


@library
@titled("NCCL")
def nccl(call: CollectiveCall) -> Decision:
    """The tuner of NCCL on the rings its search lays; grouped sends and receives for what it has no collective for.

    A barrier is an allreduce of one element. Unequal blocks of an allgather or reduce-scatter travel as broadcasts or
    reductions in one group, round the same rings: so does PyTorch.
    """
    machine, kind = call.members.machine, call.collective
    if kind == "barrier":
        barrier = choose(machine, "allreduce", ELEMENT, options=_options(call, "allreduce"))
        return decision_of(machine, barrier)._replace(size=float(ELEMENT))
    if kind in ABLE or kind in POINT_TO_POINT:
        return decision_of(machine, choose(machine, kind, bytes_of(call), options=_options(call, kind)), root=call.root)
    if kind == "alltoallv":
        return decision_of(machine, choose(machine, "alltoall", bytes_of(call)))._replace(
            algorithm="alltoallv.nccl_p2p"
        )
    if kind in ("allgatherv", "reduce_scatterv"):
        ring = choose(machine, kind.removesuffix("v"), bytes_of(call), options=Variables(algorithm="Ring"))
        return decision_of(machine, ring)._replace(algorithm=f"{kind}.ring")
    return Decision(f"{kind}.linear")


def _options(call: CollectiveCall, collective: str) -> Variables:
    """NCCL_ALGO for a call that prefers a ring or a tree; the tuner is free where NCCL has none for the collective."""
    word = call.shape.title()
    return Variables(algorithm=word) if (collective, word) in RUNS else FREE


def bytes_of(call: CollectiveCall) -> int:
    """What nccl-tests calls the size, at least one byte: all blocks together where a call counts one of them."""
    blocks = call.n if call.collective.removesuffix("v") in ("allgather", "reduce_scatter", "alltoall") else 1
    total = call.size if call.collective == "reduce_scatterv" else call.size * blocks
    return max(1, round(total))
