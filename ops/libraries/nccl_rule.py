"""NCCL's choice by a rule of thumb, where no machine is at hand that its own tuner could look at."""

from ops.libraries.call import Choice, Load, equal_nodes

NCCL_TREE = 4 * 1024 * 1024
"""Bytes per node below which trees win between nodes. NCCL's own figures (src/graph/tuning.cc, Hopper, 8 GPUs a
node) have rings overtake between 1 and 16 MiB on two nodes, and between 16 and 256 MiB on four."""


def choose(load: Load) -> Choice:
    """NCCL's repertoire: rings, trees between nodes, all else as grouped sends and receives."""
    kind, group = load.collective, equal_nodes(load)
    if kind == "allreduce" and load.n > group and load.size < NCCL_TREE * load.n / group:
        return "allreduce.nccl_tree", {"group": group}
    if kind in ("allreduce", "allgather", "allgatherv", "reduce_scatter", "reduce_scatterv"):
        return f"{kind}.ring", {}
    if kind in ("alltoall", "alltoallv"):
        return f"{kind}.nccl_p2p", {"group": group}
    return f"{kind}.{ {'broadcast': 'chain', 'reduce': 'chain', 'barrier': 'dissemination'}.get(kind, 'linear') }", {}
