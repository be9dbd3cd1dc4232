"""An outcome as plain data: what every command that runs something answers as JSON."""

from typing import Any

import numpy as np

from ops.work import Outcome
from sim import metrics
from sim.trace import Trace


def facts(outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain data."""
    work, trace, worst = outcome.work, outcome.trace, outcome.bottleneck
    return {
        "collective": work.collective.name if work.collective else "custom",
        "algorithm": work.name,
        "parameters": dict(work.settings),
        "machine": trace.topology.name,
        "ranks": work.schedule.n,
        "size_bytes": int(trace.size),
        "time_s": trace.time,
        "algbw_Bps": metrics.algbw(trace),
        "busbw_Bps": outcome.busbw,
        "bound_s": outcome.bound,
        "transfers": work.schedule.messages,
        "steps": work.schedule.steps,
        "instants": trace.instants,
        "verified": trace.verdict.verdict == "ok",
        "verdict": trace.verdict.verdict,
        "troubles": _troubles(trace),
        "bottleneck": worst
        and {"src": worst[1].src, "dst": worst[1].dst, "bytes": worst[0].bytes, "share": worst[0].share},
    }


def above(time: float, bound: float) -> str:
    """How near a time came to its bound, in words.

    >>> above(3.0, 2.0), above(2.0000001, 2.0)
    ('this took 1.5 times that', 'this took just that')
    """
    times = f"{time / bound:.3g}"
    return "this took just that" if times == "1" else f"this took {times} times that"


def _troubles(trace: Trace) -> list[dict[str, Any]]:
    """On how many transfers each trouble bore, and for how long at most."""
    rows = []
    for number, spec in enumerate(trace.troubles):
        if not spec:  # what a library's way of sending costs
            continue
        hits = trace.hits.trouble == number
        longest = float(trace.hits.seconds[hits].max(initial=0.0))
        rows.append({"trouble": spec, "transfers": int(np.count_nonzero(hits)), "longest_s": longest})
    return rows
