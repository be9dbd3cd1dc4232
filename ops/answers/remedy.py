"""What would win the lost time back: the best of some changes, each of which is simulated."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ops.answers.change import LISTS
from ops.answers.names import called
from ops.answers.outcome import Outcome
from ops.answers.reason import LEAST
from ops.plan import Plan
from ops.plan.library_choice import collective_of
from ops.plan.notation import entries, listed
from ops.registry import ALGORITHMS
from sim.errors import InputError, Message, StalledError
from sim.parameters import pairs, written
from sim.units import fmt_time

MOST = 20_000
"""Transfers of a run beside which others are tried."""
WORTH = 0.99
"""A change that takes more than this share of the time is not mentioned."""


def remedy(outcome: Outcome) -> Message | None:
    """Return the change that makes a run fastest again; where none of those that are tried does, how many were."""
    if not outcome.plan:
        return None
    plan = replace(outcome.plan, against="")
    if plan.schedule or plan.python or outcome.transfers > MOST:
        return None
    tried = [*_rerouted_all(plan), *faster_links(plan, outcome)]
    best = fastest(plan)
    count = best.compared if best else 0
    if best and best.algorithm != plan.algorithm:
        words: dict[str, object] = {
            "algorithm": called(best.algorithm, beside=plan.algorithm, first=True),
            "time": fmt_time(best.time),
            "count": str(count),
        }
        tried.append((best.time, Message("answer.remedy.algorithm", **words)))
    time, message = min(tried, key=lambda each: each[0], default=(math.inf, None))
    if time < WORTH * outcome.time:
        return message
    return Message("answer.remedy.none", count=count) if count > 1 else None


def _rerouted_all(plan: Plan) -> Iterator[tuple[float, Message]]:
    """Other ways round a dead link: the seconds that a run takes then, and how that is said."""
    for word in LISTS:
        before = entries(getattr(plan, word))
        rerouted = tuple(_rerouted(word, spec) for spec in before)
        if rerouted != before and (time := _time(replace(plan, **{word: listed(rerouted)}))) is not None:  # type: ignore[arg-type]
            yield time, Message("answer.remedy.reroute", time=fmt_time(time))


def faster_links(plan: Plan, outcome: Outcome) -> Iterator[tuple[float, Message]]:
    """Twice the bandwidth on the link that is waited for: the seconds that a run takes then, and how that is said."""
    if outcome.link and outcome.link.share >= LEAST:
        src, dst = outcome.links.names[outcome.link.link].split(" → ")
        spec = f"set_link:{written({'src': src, 'dst': dst, 'times': '2'})}"
        if (time := _time(replace(plan, edits=listed([*entries(plan.edits), spec])))) is not None:
            yield time, Message("answer.remedy.link", link=f"{src} ↔ {dst}", time=fmt_time(time))


def _rerouted(word: str, spec: str) -> str:
    """Return an entry with other ways round, where its kind can be told to find them."""
    kind, _, rest = spec.partition(":")
    if kind not in LISTS[word] or "reroute" not in LISTS[word].parameters(kind):
        return spec
    return f"{kind}:{written(pairs(rest) | {'reroute': 'yes'})}"


class Fastest(NamedTuple):
    """The fastest of `compared` algorithms of a collective, and its time, s; some of them may be unable to run."""

    algorithm: str
    time: float
    compared: int


def fastest(plan: Plan) -> Fastest | None:
    """Return the fastest algorithm for a plan's collective, machine, size and faults; None where none can run.

    The plan's own parameters are kept for its own algorithm; the others run with their defaults.
    """
    collective = collective_of(plan.algorithm)
    others = [
        replace(plan, algorithm=name, settings="")
        for name, entry in ALGORITHMS.items()
        if entry.collective.name == collective and name != plan.algorithm and ":" not in name
    ]
    times = {each.algorithm: time for each in (plan, *others) if (time := _time(each)) is not None}
    best = min(times, key=times.__getitem__, default=None)
    return Fastest(best, times[best], len(others) + 1) if best else None


def _time(plan: Plan) -> float | None:
    """Return the seconds that a plan takes; None where it cannot be run here, takes too long to try, or never ends."""
    try:
        prepared = plan.prepare()
        return prepared.run().time if prepared.work.transfers <= MOST else None
    except (InputError, StalledError):
        return None
