"""An outcome as plain data, what every command that runs something answers as JSON; and where its time went."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ops.answers import Answered, answer, answer_alone, of_ended, outcome_of
from ops.answers.change import baseline
from ops.libraries.nccl.own.band import band_of
from ops.plan import Plan
from ops.run import Run
from sim.errors import Message
from sim.placement import placement_of
from sim.trace import Timing, Trace
from sim.trace.breakdown import PARTS, shared_link
from sim.units import TimeScale, fmt_bandwidth, fmt_size


def facts(outcome: Run) -> dict[str, Any]:
    """An outcome as plain data."""
    work, timing, worst = outcome.work, outcome.timing, outcome.bottleneck
    return {
        "collective": work.collective.name if work.collective else "custom",
        "algorithm": work.name,
        "parameters": dict(work.settings),
        **origin(outcome),
        "size_bytes": int(timing.size),
        "time_s": timing.time,
        "algbw_Bps": outcome.algbw,
        "busbw_Bps": outcome.busbw,
        "bound_s": outcome.bound,
        "transfers": timing.messages,
        "classes": timing.simulated,
        "steps": timing.steps,
        "instants": timing.instants,
        "verified": timing.verdict.verdict == "ok",
        "verdict": timing.verdict.verdict,
        "faults": _faults(timing),
        "bottleneck": worst and {"src": worst.src, "dst": worst.dst, "bytes": worst.bytes, "share": worst.share},
    }


def facts_of(ended: Run | Trace) -> dict[str, Any]:
    """A run as plain data, or one that never ends."""
    return facts(ended) if isinstance(ended, Run) else stalled(ended)


def stalled(trace: Trace) -> dict[str, Any]:
    """A run that never ends as plain data: what it is, and when it stands still."""
    return {
        "algorithm": trace.schedule.name,
        "machine": trace.topology.name,
        "ranks": trace.schedule.n,
        "size_bytes": int(trace.size),
        "time_s": None,
        "stands_still_s": trace.time,
        "verified": False,
        "faults": [{"fault": spec} for spec in trace.faults if spec],
    }


def said(data: dict[str, Any], answered: Answered) -> str:
    """Add an answer to what a command answers as JSON; returns it as text."""
    text = opened(data, [answered.sentence, answered.reason], answered.remedy)
    numbers = {"before_s": answered.before, "after_s": answered.after, "factor": answered.factor}
    data["answer"] |= {key: finite(number) for key, number in numbers.items()}
    data["answer"]["shows"] = answered.shows or None
    return text


def finite(number: float) -> float | None:
    """Return a number, or None for infinity, which JSON does not have."""
    return float(number) if math.isfinite(number) else None


def opened(data: dict[str, Any], messages: Sequence[Message], remedy: Message | None = None, mark: str = "") -> str:
    """Add sentences, the answer before its reasons, to what a command answers as JSON.

    Returns them as text, with a mark before each line.
    """
    sentence, *reasons = map(str, messages)
    helps = str(remedy) if remedy else None
    data["answer"] = {"sentence": sentence, "reason": " ".join(reasons) or None, "remedy": helps}
    return "\n".join(f"{mark}{line}" for line in (sentence, *reasons, helps) if line)


def change_said(data: dict[str, Any], plan: Plan, ended: Run | Trace) -> list[str]:
    """Add what the faults and edits of a plan did to its run, and why one never ends; returns it as lines."""
    before, outcome = baseline(plan), of_ended(ended, plan)
    if before:
        return [said(data, answer(outcome_of(before), outcome, remedies=False))]
    return [said(data, answer_alone(outcome))] if outcome.standstill else []


def title_of(row: dict[str, Any]) -> str:
    """What ran, in one line."""
    load = f", {fmt_size(row['size_bytes'])}" if row["size_bytes"] else ""
    faults = "".join(f", {hit['fault']}" for hit in row["faults"])
    return f"{row['algorithm']} on {row['machine']}: {row['ranks']} ranks{load}{faults}"


def origin(outcome: Run) -> dict[str, Any]:
    """Where it ran, on how many ranks, by which release of NCCL, and how far off such times are."""
    work, timing = outcome.work, outcome.timing
    return {
        "machine": timing.topology.name,
        "ranks": timing.ranks,
        "placement": placement_of(timing.topology, timing.ranks) or None,
        "nccl": work.settings.get("release"),
        "expected_error": band_of(timing.topology, work.settings, timing.size, timing.faults, timing.ranks),
    }


def above(time: float, bound: float) -> str:
    """How near a time came to its bound, in words.

    >>> above(3.0, 2.0), above(2.0000001, 2.0)
    ('this took 1.5 times that', 'this took just that')
    """
    times = f"{time / bound:.3g}"
    return "this took just that" if times == "1" else f"this took {times} times that"


def _faults(timing: Timing) -> list[dict[str, Any]]:
    """On how many transfers each fault bore, and for how long at most."""
    rows = []
    for number, spec in enumerate(timing.faults):
        if not spec:  # what a library's way of sending costs
            continue
        hits = timing.hits.fault == number
        longest = float(timing.hits.seconds[hits].max(initial=0.0))
        rows.append({"fault": spec, "transfers": int(np.count_nonzero(hits)), "longest_s": longest})
    return rows


def parts(run: Run) -> dict[str, Any]:
    """A run's breakdown as what commands answer as JSON."""
    why = run.breakdown
    link = shared_link(run.path, why, run.link_use)
    ends = None if link is None else run.topology.links[link]
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
