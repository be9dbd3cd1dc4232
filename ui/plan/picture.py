"""What a plan looks like run; and that as a file."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ops import answers
from ops.answers import Outcome, of_ended, of_run, of_stall
from ops.answers.contradiction import contradiction, posting
from ops.answers.outcome import until_it_stalls
from ops.lab.crossovers import crossovers
from ops.plan import Plan
from ops.run import Run
from ops.run.part import FULL, shown
from sim.errors import InputError, StalledError
from sim.trace import Trace
from sim.units import fmt_bandwidth, fmt_share, fmt_size, fmt_time
from ui.export.exports import Shot, render
from ui.layout.algorithm_layout import MOST
from ui.player.answer import answer_beside
from ui.player.payload import has_rows, pack
from ui.player.titles import heading
from ui.text import speaking, worded

STALLED = "stalled"
"""The verdict of a run that never ends."""
MOST_CROSSED = 20_000
"""Runs of more transfers take too long to be tried at many sizes."""


@dataclass(frozen=True)
class Picture:
    """What a run of a plan shows: the player's payload and the numbers beside it.

    `shaped` is how many places the shape of its algorithm has, 0 where it has none to be drawn; `messages` in a row and
    `outcome` is what its answer needs to know of it,
    `parts` are what its time is made of, `factor` is that of the bus bandwidth, `worst` what crossed the bottleneck.
    """

    title: str
    machine: str
    collective: str
    shaped: int
    payload: dict[str, Any]
    time: str
    algbw: str
    busbw: str
    bound: str
    near: float
    bottleneck: str
    worst: Mapping[str, str]
    size: str
    factor: float
    verdict: str
    reason: str
    transfers: int
    seconds: float
    messages: int
    parts: Mapping[str, float]
    outcome: Outcome


def run(plan: Plan, language: str) -> Picture:
    """Simulate and prove the plan; one that stalls is shown up to there. Raises InputError."""
    try:
        outcome = carried_out(plan)
    except (InputError, StalledError) as error:
        if error.trace is None:
            raise
        return _stalled(plan, error.trace, language)
    trace, bound, worst = shown(outcome), outcome.bound, outcome.bottleneck
    collective, why = outcome.work.collective, outcome.breakdown
    return Picture(
        title=heading(trace, language),
        machine=trace.topology.name,
        shaped=_shaped(trace),
        collective=collective.name if collective else "",
        payload={"packed": _noted(pack(trace, language, why, plan), plan, outcome, language), "full": has_rows(trace)},
        time=fmt_time(trace.time),
        algbw=fmt_bandwidth(outcome.algbw),
        busbw=fmt_bandwidth(outcome.busbw),
        bound=fmt_time(bound) if bound else "",
        near=bound / trace.time if trace.time > 0 else 1.0,
        bottleneck=f"{worst.src} → {worst.dst}, {fmt_share(worst.share)}" if worst else "",
        worst=_carried(outcome),
        size=fmt_size(trace.size),
        factor=collective.busbw(outcome.timing.ranks) if collective else 1.0,
        verdict=trace.verdict.verdict,
        reason=trace.verdict.reason,
        transfers=outcome.timing.messages,
        seconds=trace.time,
        messages=why.messages,
        parts=why.parts,
        outcome=of_run(outcome, replace(plan, against="")),
    )


def _noted(packed: dict[str, Any], plan: Plan, outcome: Run, language: str) -> dict[str, Any]:
    """A packed run that says, too, how it contradicts its library's tuner and whether NICs wait for CPUs."""
    with speaking(language):
        notes = [worded(message) for message in (contradiction(plan, outcome), posting(plan, outcome)) if message]
    return packed | {
        "note": " · ".join(filter(None, [packed["note"], *(note[:1].upper() + note[1:] for note in notes)]))
    }


def _carried(outcome: Run) -> dict[str, str]:
    """What crossed the link nearest to being full, in words: its `bytes`, its `rate` and its `share` of the run."""
    use = outcome.bottleneck
    if use is None:
        return {}
    return {"bytes": fmt_size(use.bytes), "rate": fmt_bandwidth(use.bandwidth), "share": fmt_share(use.share)}


def _stalled(plan: Plan, trace: Trace, language: str) -> Picture:
    """A deadlocked run: its trace until nothing moves, and a short explanation.

    Who waits for whom is told by the picture's own last sentence, beside what is lit there.
    """
    return Picture(
        title=heading(trace, language),
        machine=trace.topology.name,
        shaped=_shaped(trace),
        collective="",
        payload={"packed": pack(trace, language, plan=plan), "full": has_rows(trace)},
        time=fmt_time(trace.time),
        algbw="",
        busbw="",
        bound="",
        near=0.0,
        bottleneck="",
        worst={},
        size=fmt_size(trace.size),
        factor=1.0,
        verdict=STALLED,
        reason="",
        transfers=trace.schedule.messages,
        seconds=math.inf,
        messages=0,
        parts={},
        outcome=of_stall(trace, replace(plan, against="")),
    )


def _shaped(trace: Trace) -> int:
    places = trace.schedule.places
    return places if places <= MOST and has_rows(trace) and trace.excerpt is None else 0


def crossings(plan: Plan, runs: tuple[Plan, ...]) -> list[tuple[str, str, str]]:
    """At which size one algorithm overtakes another on the plan's machine, as `below, above, size`."""
    topology = plan.topology()
    works = {run.algorithm: run.work(topology) for run in runs}
    if max(work.transfers for work in works.values()) > MOST_CROSSED or not works[plan.algorithm].sized:
        return []
    prepared = {run.algorithm: run.prepare(topology) for run in runs}
    return [(c.below, c.above, fmt_size(c.size)) for c in crossovers(prepared)]


def file_name(plan: Plan) -> str:
    """What a file of this plan is called, without its ending."""
    words = ("schedule" if plan.schedule else plan.algorithm, "capture" if plan.capture else plan.machine)
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(words)).strip("-")[:60]


def carried_out(plan: Plan) -> Run:
    """The plan's run, whatever stands beside it, with its history where it is not too long. Raises InputError."""
    return until_it_stalls(_run, plan)


def _run(plan: Plan) -> Run:
    if plan.is_kept:
        return plan.run()
    prepared = plan.prepare()
    return prepared.run(history=prepared.work.transfers <= FULL, written=FULL)


def export(plan: Plan, ending: str, shot: Shot) -> bytes:
    """The plan's run as a file; one that never ends up to where it stands still. Raises InputError."""
    ended = answers.carried_out(plan, _run)
    answer = answer_beside(of_ended(ended, plan), plan, plan.others(), shot.language)
    return render(shown(ended) if isinstance(ended, Run) else ended, ending, replace(shot, plan=plan, answer=answer))
