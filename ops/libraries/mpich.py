"""MPICH's generic rules (pmodels/mpich, maint/tuning/coll/mpir/generic.json)."""

from collections.abc import Callable

from ops.libraries import CollectiveCall, Decision, library
from ops.patterns import power_below
from sim.registry import titled


@library
@titled("MPICH")
def mpich(call: CollectiveCall) -> Decision:
    """The generic rules of MPICH."""
    kind = call.collective.removesuffix("v")
    if kind in RULES:
        return Decision(RULES[kind](call))
    return Decision(f"{call.collective}.{'linear' if call.collective.endswith('v') else ALWAYS[kind]}")


def _broadcast(call: CollectiveCall) -> str:
    if call.n < 8 or call.size <= 12288:
        return "broadcast.binomial"
    doubling = _is_power(call.n) and call.size <= 524288
    return f"broadcast.scatter_{'doubling' if doubling else 'ring'}_allgather"


def _allreduce(call: CollectiveCall) -> str:
    short = call.size <= 8 or not call.builtin or call.count < power_below(call.n)
    return f"allreduce.{'recursive_doubling' if short else 'rabenseifner'}"


def _reduce(call: CollectiveCall) -> str:
    short = call.size <= 2048 or not call.builtin or call.count < power_below(call.n)
    return f"reduce.{'binomial' if short else 'rabenseifner'}"


def _allgather(call: CollectiveCall) -> str:
    power = _is_power(call.n)
    if call.size * call.n >= (524288 if power else 81920):
        return f"{call.collective}.ring"
    return f"{call.collective}.{'recursive_doubling' if power else 'bruck'}"


def _alltoall(call: CollectiveCall) -> str:
    if call.collective == "alltoallv":
        return "alltoallv.linear"
    if call.n >= 8 and call.size <= 256:
        return "alltoall.bruck"
    return f"alltoall.{'linear' if call.size <= 32768 else 'pairwise'}"


def _reduce_scatter(call: CollectiveCall) -> str:
    total = call.size if call.collective.endswith("v") else call.size * call.n
    if not call.commutes:
        return f"{call.collective}.recursive_doubling"
    return f"{call.collective}.{'recursive_halving' if total < 524288 else 'pairwise'}"


def _is_power(n: int) -> bool:
    return n & (n - 1) == 0


RULES: dict[str, Callable[[CollectiveCall], str]] = {
    "broadcast": _broadcast,
    "allreduce": _allreduce,
    "reduce": _reduce,
    "allgather": _allgather,
    "alltoall": _alltoall,
    "reduce_scatter": _reduce_scatter,
}
"""By collective, those with unequal blocks too."""
ALWAYS = {
    "gather": "binomial",
    "scatter": "binomial",
    "barrier": "dissemination",
    "scan": "recursive_doubling",
    "exscan": "recursive_doubling",
}
"""What it takes whatever the size."""
