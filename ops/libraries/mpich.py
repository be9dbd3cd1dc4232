"""MPICH's generic rules (pmodels/mpich, maint/tuning/coll/mpir/generic.json)."""

from ops.libraries.call import Choice, Load
from ops.patterns import power_below


def choose(load: Load) -> Choice:
    """The algorithm and parameters that MPICH takes for a call."""
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
