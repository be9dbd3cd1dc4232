"""Open MPI's fixed decisions: ompi/mca/coll/tuned/coll_tuned_decision_fixed.c of versions 4.1 and 5.

A row is for communicators of fewer ranks than its number: algorithm ids, each up to the bytes that follow it.
"""

from collections.abc import Callable
from typing import Any

from ops.libraries import CollectiveCall, Decision, library
from ops.patterns import power_below
from sim.registry import titled

_MORE = 1 << 30
K, M = 1 << 10, 1 << 20
Rows = dict[int, tuple[int, ...]]

ALLREDUCE: Rows = {
    4: (4, 8, 3, 4 * K, 4, 8 * K, 3, 16 * K, 4, 64 * K, 5, 256 * K, 6),
    8: (4, 16, 3, 8 * K, 6),
    16: (3, 8 * K, 6),
    32: (5, 64, 3, 4 * K, 6),
    64: (5, 128, 6),
    128: (3, 256 * K, 6),
    256: (2, 128 * K, 3, 256 * K, 6),
    512: (2, 4 * K, 6),
    2048: (2, 2 * K, 3, 16 * K, 6),
    4096: (2, 2 * K, 5, 4 * K, 3, 16 * K, 6),
    _MORE: (2, 2 * K, 5, 16 * K, 3, 32 * K, 6),
}
ALLREDUCE_IN_ORDER: Rows = {
    4: (3, 128 * K, 1),
    8: (3,),
    16: (3, M, 2),
    128: (3,),
    256: (2, 128 * K, 3, 512 * K, 2),
    512: (2, 4 * K, 3, 512 * K, 2),
    _MORE: (2, 2 * K, 3),
}
ALLTOALL: Rows = {
    3: (2, 2, 5, 4, 2, 16, 5, 64, 2, 256, 5, 4 * K, 2, 32 * K, 4, 256 * K, 5, M, 2),
    8: (4, 8 * K, 1, 16 * K, 4, 64 * K, 1, 512 * K, 2, M, 1),
    16: (4, 256 * K, 1),
    32: (4, 4, 3, 512, 4, 8 * K, 1, 32 * K, 4, 256 * K, 1, 512 * K, 4),
    64: (3, 512, 1, 512 * K, 4),
    128: (3, K, 1, 2 * K, 4, 4 * K, 1, 256 * K, 2),
    256: (3, K, 4, 2 * K, 1, 256 * K, 2),
    512: (3, K, 4, 8 * K, 1, 32 * K, 2),
    1024: (3, 512, 4, 8 * K, 1, 16 * K, 4, 128 * K, 1, 256 * K, 2),
    2048: (3, 512, 4, K, 1, 2 * K, 4, 16 * K, 1, 256 * K, 4),
    4096: (3, K, 4, 4 * K, 1, 8 * K, 4, 128 * K, 1),
    _MORE: (3, 2 * K, 4, 8 * K, 1, 16 * K, 4, 32 * K, 1, 64 * K, 4),
}
ALLTOALLV: Rows = {4: (2,), 64: (1,), 128: (2,), 256: (1,), 1024: (2,), _MORE: (1,)}
BARRIER: Rows = {4: (3,), 8: (1,), 64: (3,), 256: (4,), 512: (6,), 1024: (4,), 4096: (6,), _MORE: (4,)}
BROADCAST: Rows = {
    4: (3, 32, 5, 256, 3, 512, 7, K, 1, 32 * K, 5, 128 * K, 2, 256 * K, 1, 512 * K, 6, M, 5),
    8: (5, 64, 6, 128, 5, 2 * K, 6, 8 * K, 1, M, 2),
    16: (7, 8, 5, 64, 7, 4 * K, 5, 16 * K, 6, 32 * K, 1),
    32: (7, 4 * K, 6, M, 8),
    64: (6, 2 * K, 7),
    128: (7,),
    256: (6, 2, 5, 16 * K, 1, 32 * K, 5, 64 * K, 7),
    1024: (7, 16 * K, 4, 32 * K, 7),
    2048: (7, 512 * K, 8),
    4096: (7, 256 * K, 8),
    _MORE: (7, 8 * K, 5, 16 * K, 7, 256 * K, 8),
}
REDUCE: Rows = {
    4: (7, 8, 4, 16, 3, 32, 1, 256 * K, 3, 512 * K, 2, M, 3),
    8: (4, 4 * K, 2, 64 * K, 5, 256 * K, 1, 512 * K, 5, M, 1),
    16: (4, 8 * K, 5),
    32: (4, 4 * K, 5),
    256: (5,),
    512: (5, 8 * K, 6, 16 * K, 5),
    2048: (5,),
    4096: (5, 512, 6, K, 5, 8 * K, 6, 16 * K, 5),
    _MORE: (5, 16, 6, 32, 5, K, 6, 2 * K, 5, 8 * K, 6, 16 * K, 5),
}
REDUCE_IN_ORDER: Rows = {
    4: (6, 8, 1),
    8: (1,),
    16: (6, K, 1, 8 * K, 6, 16 * K, 1, 256 * K, 6),
    128: (6,),
    256: (6, 512, 1, K, 6),
    _MORE: (6,),
}
REDUCE_SCATTER: Rows = {
    4: (3, 64 * K, 4, 128 * K, 3),
    8: (1, 8, 2, 256 * K, 3),
    32: (2, 256 * K, 3),
    64: (1, 64, 2, 2 * K, 4, 512 * K, 3),
    128: (1, 256, 2, 512, 4, 2 * K, 2, 4 * K, 4),
    256: (1, 256, 2, 512, 4),
    512: (1, 256, 2, K, 4),
    1024: (1, 512, 2, 2 * K, 4, 8 * K, 2, 16 * K, 4),
    2048: (1, 512, 2, 4 * K, 4, 16 * K, 2, 32 * K, 4),
    4096: (1, 512, 2, 4 * K, 4),
    _MORE: (1, K, 2, 8 * K, 4),
}
REDUCE_SCATTER_BLOCK: Rows = {
    4: (2, 4, 4, 8, 3, 16, 4, 128, 3, 256, 4, 4 * K, 3, 8 * K, 4, 128 * K, 1),
    8: (3, 8, 2, 32, 4, 256, 3, 8 * K, 4, 16 * K, 3, M, 1),
    16: (1, 4, 3, 32, 4, 128, 3, 512 * K, 1, 4 * M, 4),
    32: (1, 32, 3, 512 * K, 1, 2 * M, 3, 4 * M, 4),
    _MORE: (3, 4, 1, 16, 4, 64 * K, 1, 256 * K, 4),
}
ALLGATHER: Rows = {
    3: (6,),
    32: (3,),
    64: (3, K, 5, 64 * K, 4),
    128: (3, 512, 5, 64 * K, 4),
    256: (3, 512, 5, 128 * K, 4, 512 * K, 5, M, 4),
    512: (3, 32, 2, 128, 3, K, 5, 128 * K, 4, 512 * K, 5, M, 4),
    1024: (3, 64, 2, 256, 3, 2 * K, 5),
    2048: (3, 4, 2, 8, 3, 16, 2, 32, 3, 256, 2, 512, 3, 4 * K, 5),
    4096: (2, 32, 3, 128, 2, 512, 3, 4 * K, 5),
    _MORE: (3, 2, 2, 8, 3, 16, 2, 512, 3, 4 * K, 5),
}
ALLGATHERV: Rows = {
    3: (3, 2 * K, 5, 4 * K, 3, 8 * K, 5),
    8: (1, 256, 4, 4 * K, 3, 8 * K, 4, 16 * K, 2, 256 * K, 4),
    16: (1, K, 2),
    32: (1, 128, 2, 256 * K, 3),
    64: (1, 256, 2, 8 * K, 3),
    128: (1, 256, 2, 4 * K, 3),
    256: (2, K, 4, 64 * K, 3),
    512: (2, K, 3),
    1024: (2, 512, 1, K, 2, 4 * K, 4, M, 3),
    _MORE: (2, 4 * K, 4),
}
GATHER: Rows = {
    4: (3, 2, 1, 4, 2, 32 * K, 1, 64 * K, 2, 128 * K, 3),
    8: (2, K, 1, 8 * K, 2, 32 * K, 1, 256 * K, 3),
    256: (2,),
    512: (2, 2 * K, 1, 8 * K, 2),
    _MORE: (2,),
}
SCATTER: Rows = {
    4: (3, 2, 1, 128 * K, 3, 256 * K, 1),
    8: (2, 2 * K, 1, 4 * K, 2, 8 * K, 1, 32 * K, 3, M, 1),
    16: (2, 16 * K, 3, M, 1),
    32: (2, 16 * K, 1, 32 * K, 3),
    64: (2, 512, 3, 8 * K, 2, 16 * K, 3),
    _MORE: (2, 512, 3),
}
FIRST: Rows = {_MORE: (1,)}
"""What coll/basic does where coll/tuned has no decision of its own."""

TABLES: dict[str, Rows] = {
    "allreduce": ALLREDUCE, "alltoall": ALLTOALL, "alltoallv": ALLTOALLV, "barrier": BARRIER, "broadcast": BROADCAST,
    "reduce": REDUCE, "reduce_scatter": REDUCE_SCATTER_BLOCK, "reduce_scatterv": REDUCE_SCATTER,
    "allgather": ALLGATHER, "allgatherv": ALLGATHERV, "gather": GATHER, "scatter": SCATTER,
    "gatherv": FIRST, "scatterv": FIRST, "scan": FIRST, "exscan": FIRST,
}  # fmt: skip

BUTTERFLY, HALVING = "butterfly", "recursive_halving"
NAMES: dict[str, tuple[str, ...]] = {
    "allreduce": ("linear", "reduce_broadcast", "recursive_doubling", "ring", "segmented_ring", "rabenseifner"),
    "alltoall": ("linear", "pairwise", "bruck", "linear_window", "two_rank"),
    "alltoallv": ("linear", "pairwise"),
    "barrier": ("linear", "double_ring", "recursive_doubling", "dissemination", "two_rank", "tree"),
    "broadcast": ("linear", "chain", "chain", "split_binary_tree", "binary_tree", "binomial", "knomial",
                  "scatter_doubling_allgather", "scatter_ring_allgather"),
    "reduce": ("linear", "chain", "chain", "binary_tree", "binomial", "in_order_binary_tree", "rabenseifner"),
    "reduce_scatter": ("reduce_then_scatter", "recursive_doubling", HALVING, BUTTERFLY),
    "reduce_scatterv": ("reduce_then_scatter", HALVING, "ring", BUTTERFLY),
    "allgather": ("gather_broadcast", "bruck", "recursive_doubling", "ring", "neighbor_exchange", "two_rank"),
    "allgatherv": ("gather_broadcast", "bruck", "ring", "neighbor_exchange", "two_rank"),
    "gather": ("linear", "binomial", "linear_sync"),
    "scatter": ("linear", "binomial", "linear"),
    "gatherv": ("linear",), "scatterv": ("linear",), "scan": ("linear",), "exscan": ("linear",),
}  # fmt: skip
"""Our names for ids 1, 2, 3 …. The decisions ask for a chain of fan-out zero, which is forced to one: a pipeline."""

SHORT: dict[str, tuple[str, Callable[[int], int]]] = {
    "allreduce.ring": ("recursive_doubling", lambda n: n),
    "allreduce.segmented_ring": ("recursive_doubling", lambda n: n),
    "allreduce.rabenseifner": ("linear", power_below),
    "reduce.rabenseifner": ("linear", power_below),
    "broadcast.scatter_doubling_allgather": ("linear", lambda n: n),
    "broadcast.split_binary_tree": ("chain", lambda n: 2),
}
"""What they fall back to with fewer elements than that (coll_base_allreduce.c, _reduce.c, _bcast.c)."""

WHOLE: dict[str, dict[str, Any]] = {
    "chain": {"segments": 1}, "binary_tree": {"segments": 1}, "in_order_binary_tree": {"segments": 1},
    "split_binary_tree": {"segments": 1}, "segmented_ring": {"phases": 1},
}  # fmt: skip
"""The decisions ask for no segmentation."""


@library
@titled("Open MPI")
def openmpi(call: CollectiveCall) -> Decision:
    """The fixed decisions of Open MPI's coll/tuned.

    `call.size` is counted as there: a rank's own bytes, or its block's; for v collectives, the mean block's.
    """
    table = TABLES[call.collective]
    if not call.commutes:
        table = {"allreduce": ALLREDUCE_IN_ORDER, "reduce": REDUCE_IN_ORDER}.get(call.collective, table)
        table = FIRST if call.collective.startswith("reduce_scatter") else table
    row = next(row for ranks, row in table.items() if call.n < ranks)
    number = next((row[i] for i in range(0, len(row) - 1, 2) if call.size < row[i + 1]), row[-1])
    name = f"{call.collective}.{NAMES[call.collective][number - 1]}"
    if name in SHORT and call.count < SHORT[name][1](call.n):
        name = f"{call.collective}.{SHORT[name][0]}"
    algorithm = name.partition(".")[2]
    if algorithm == "linear_window":
        return Decision(name, {"window": max(1, call.n - 1)})
    return Decision(name, dict(WHOLE.get(algorithm, {})))
