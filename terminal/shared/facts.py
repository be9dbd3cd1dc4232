"""An outcome as plain data, what every command that runs something answers as JSON; and where its time went."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ops.libraries.nccl.layers import expected_error
from ops.work import FoldedOutcome, Outcome
from sim import metrics
from sim.breakdown import PARTS, Breakdown, shared_link
from sim.fold.outcome import SymmetricTrace
from sim.kinds.run import KindsTrace
from sim.placement import placement_of
from sim.trace import Trace
from sim.units import TimeScale, fmt_bandwidth, fmt_size


def facts(outcome: Outcome | FoldedOutcome) -> dict[str, Any]:
    """An outcome as plain data."""
    work, trace, worst = outcome.work, outcome.trace, outcome.bottleneck
    return {
        "collective": work.collective.name if work.collective else "custom",
        "algorithm": work.name,
        "parameters": dict(work.settings),
        **origin(outcome),
        "size_bytes": int(trace.size),
        "time_s": trace.time,
        "algbw_Bps": metrics.algbw(trace),
        "busbw_Bps": outcome.busbw,
        "bound_s": outcome.bound,
        "transfers": work.schedule.messages,
        "classes": outcome.simulated,
        "steps": work.schedule.steps,
        "instants": trace.instants,
        "verified": trace.verdict.verdict == "ok",
        "verdict": trace.verdict.verdict,
        "troubles": _troubles(trace),
        "bottleneck": worst
        and {"src": worst[1].src, "dst": worst[1].dst, "bytes": worst[0].bytes, "share": worst[0].share},
    }


def origin(outcome: Outcome | FoldedOutcome) -> dict[str, Any]:
    """Where it ran, on how many ranks, by which release of NCCL, and how far off such times are."""
    work, trace = outcome.work, outcome.trace
    return {
        "machine": trace.topology.name,
        "ranks": work.schedule.n,
        "placement": placement_of(trace.topology, work.schedule.n) or None,
        "nccl": work.settings.get("release"),
        "expected_error": expected_error(trace.topology, work.settings, trace.size),
    }


def above(time: float, bound: float) -> str:
    """How near a time came to its bound, in words.

    >>> above(3.0, 2.0), above(2.0000001, 2.0)
    ('this took 1.5 times that', 'this took just that')
    """
    times = f"{time / bound:.3g}"
    return "this took just that" if times == "1" else f"this took {times} times that"


def _troubles(trace: Trace | SymmetricTrace | KindsTrace) -> list[dict[str, Any]]:
    """On how many transfers each trouble bore, and for how long at most."""
    rows = []
    for number, spec in enumerate(trace.troubles):
        if not spec:  # what a library's way of sending costs
            continue
        hits = trace.hits.trouble == number
        longest = float(trace.hits.seconds[hits].max(initial=0.0))
        rows.append({"trouble": spec, "transfers": int(np.count_nonzero(hits)), "longest_s": longest})
    return rows


def parts(trace: Trace, why: Breakdown) -> dict[str, Any]:
    """A run's breakdown as what commands answer as JSON."""
    link = shared_link(trace, why)
    ends = None if link is None else trace.topology.links[link]
    counts = np.count_nonzero(why.seconds > 0, axis=0).tolist()
    return {
        "messages_in_a_row": why.messages,
        "bytes_in_a_row": why.bytes,
        "why": {
            part: {"time_s": why.parts[part], "messages": count} for part, count in zip(PARTS, counts, strict=True)
        },
        "shared_link": ends and {"src": ends.src, "dst": ends.dst},
    }


def parts_table(runs: Sequence[dict[str, Any]]) -> list[str]:
    """The parts of one run, or of two and what lies between them; the figures of a column add up to its last."""
    times = [[run["why"][part]["time_s"] for part in PARTS] for run in runs]
    scale = TimeScale.of(max(sum(column) for column in times))
    columns = [scale.counts(column) for column in times]
    if len(columns) > 1:
        columns.append([second - first for first, second in zip(*columns, strict=True)])
    notes = _notes(runs[0]) if len(runs) == 1 else {}
    rows = [(part, row, notes.get(part, "")) for part, *row in zip(PARTS, *columns, strict=True) if any(row)]
    rows.append(("time", [sum(column) for column in columns], ""))
    words = [[scale.text(count) for count in row] for _, row, _ in rows]
    for row in words:
        row[2:] = [text if text.startswith("-") else f"+{text}" for text in row[2:]]
    wide = max(len(text) for row in words for text in row)
    return [
        f"  {name:9} {'  '.join(f'{text:>{wide}}' for text in row)}  {note}".rstrip()
        for (name, _, note), row in zip(rows, words, strict=True)
    ]


def _notes(run: dict[str, Any]) -> dict[str, str]:
    """What stands behind some parts of a run."""
    flowing, link = run["why"]["bytes"]["time_s"], run["shared_link"]
    rate = f" at {fmt_bandwidth(run['bytes_in_a_row'] / flowing)}" if flowing else ""
    return {
        "latency": f"{run['messages_in_a_row']} messages in a row",
        "bytes": f"{fmt_size(run['bytes_in_a_row'])}{rate}",
        "waiting": "for ranks that are late, delays, and a library's way of sending",
        "sharing": f"{link['src']} -> {link['dst']} with others" if link else "",
    }
