"""What Gloo runs unless it is told otherwise (pytorch/gloo, gloo/allreduce.cc and its neighbours)."""

from ops.libraries import CollectiveCall, Decision, library
from sim.registry import titled


@library
@titled("Gloo")
def gloo(call: CollectiveCall) -> Decision:
    """Gloo's defaults, as PyTorch calls them: rings, binomial trees, pairs of ranks."""
    equal = call.collective if call.collective in ALWAYS else call.collective.removesuffix("v")
    return Decision(f"{call.collective}.{ALWAYS[equal]}")


ALWAYS = {
    "allreduce": "ring", "allgather": "ring", "reduce": "ring_gather", "reduce_scatter": "ring",
    "broadcast": "binomial", "gather": "linear", "scatter": "linear", "alltoall": "pairwise",
    "barrier": "dissemination", "scan": "linear", "exscan": "linear", "sendrecv": "direct",
}  # fmt: skip
"""AllreduceOptions::Algorithm::RING in ProcessGroupGloo.cpp; allgather.cc, allgatherv.cc and reduce.cc go round a ring,
broadcast.cc down a binomial tree, barrier.cc disseminates, alltoall.cc and alltoallv.cc pair ranks at every distance,
gather.cc, gatherv.cc and scatter.cc go straight to and from the root. It has no reduce_scatter of tensors and no scans:
the ring is half of its allreduce, and scans go from rank to rank."""
