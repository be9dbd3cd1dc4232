"""How many ranks took part: what the list of devices, the counts, the header and the bandwidths say together."""

import math
from typing import NamedTuple

SHARED = ("allgather", "reduce_scatter", "alltoall", "gather", "scatter")
"""Collectives whose busbw is (n-1)/n of algbw; that of an allreduce is twice as much."""
MOST = 65536.0
Factors = list[tuple[float, float]]
"""algbw and busbw of every row, GB/s."""


class Evidence(NamedTuple):
    """What a table says of its ranks, 0 where it says nothing: the list of devices, counts beside sizes, the launcher.

    The ranks are a multiple of `process`, the GPUs of a process by nThread and nGpus of the header.
    """

    listed: int = 0
    counted: int = 0
    launched: int = 0
    process: int = 0


def agreed(evidence: Evidence, collective: str, factors: Factors) -> tuple[int, str]:
    """Return the ranks of a table, and a sentence where what it says contradicts itself.

    The bandwidths decide, as the benchmark reckons busbw with its own number of ranks; then the header does.

    >>> agreed(Evidence(listed=2, process=8), "allreduce", [(206.27, 360.97)])[0]
    8
    """
    low, high = _limits(collective, factors)
    claims = [n for n in evidence[:3] if n]
    first = claims[0] if claims else 0
    fitting = [n for n in claims if low <= n <= high and n % max(evidence.process, 1) == 0]
    if fitting and fitting[0] == first:
        return first, ""
    if not claims:
        return ranks_of(collective, factors, evidence.process), ""
    shown = ranks_of(collective, factors, evidence.process) or ranks_of(collective, factors)
    whole = first if low <= first <= high else 0
    of_process = evidence.process if evidence.process > first and low <= evidence.process <= high else 0
    ranks = next(filter(None, (*fitting[:1], of_process, shown, whole, first)))
    return ranks, _contradiction(evidence, ranks, (low, high), factors)


def _contradiction(evidence: Evidence, ranks: int, limits: tuple[float, float], factors: Factors) -> str:
    """Which of a table's ways of telling its ranks do not agree with the others."""
    words = {
        "the list of devices": evidence.listed,
        "count and size": evidence.counted,
        "the launcher": evidence.launched,
    }
    said = [f"{what} says {n} ranks" for what, n in words.items() if n and n != ranks]
    agree = [f"{what} says {n}" for what, n in words.items() if n == ranks]
    if evidence.process > 1:
        (agree if ranks % evidence.process == 0 else said).append(f"the header says a multiple of {evidence.process}")
    low, high = limits
    if factors and high < MOST:
        span = f"{math.ceil(low)}" if math.floor(high) <= math.ceil(low) else f"{math.ceil(low)} to {math.floor(high)}"
        (agree if low <= ranks <= high else said).append(f"busbw over algbw says {span}")
    if not said:
        return ""
    others = f", but {' and '.join(agree)}" if agree else ""
    return f"{' and '.join(said)}{others}: read as {ranks} ranks"


def ranks_of(collective: str, factors: Factors, process: int = 0) -> int:
    """Return how many ranks make busbw that many times algbw, both printed with two digits; 0 where that is open.

    >>> ranks_of("allreduce", [(99.64, 186.83), (100.55, 188.53)])
    16
    """
    low, high = _limits(collective, factors)
    least, most = math.ceil(low), min(4096, math.floor(high))
    rounded = [-(-least // step) * step for step in ((process,) if process > 1 else (8, 4, 2, 1))]
    return next((n for n in rounded if n <= most), 0) if high < 4 * low else 0


def _limits(collective: str, factors: Factors) -> tuple[float, float]:
    """Between which numbers of ranks busbw over algbw can be what it is."""
    low, high = 2.0, MOST
    if collective != "allreduce" and collective not in SHARED:
        return 1.0, high
    share = 2.0 if collective == "allreduce" else 1.0
    for algbw, busbw in factors:
        if busbw < 1:
            continue
        least, most = (busbw - 0.005) / (algbw + 0.005) / share, (busbw + 0.005) / (algbw - 0.005) / share
        low, high = max(low, 1 / (1 - min(least, 0.99999))), min(high, 1 / (1 - most) if most < 1 else high)
    return low - 1e-6, high + 1e-6
