"""What would win the lost time back: the best of some changes, each of which is simulated."""

from collections.abc import Iterator
from dataclasses import replace

from ops.answers.change import LISTS
from ops.answers.outcome import Outcome
from ops.answers.phrase import Phrase
from ops.answers.reason import LEAST
from ops.answers.waits import link_waited_for
from ops.plan import Plan
from ops.plan.library_choice import collective_of
from ops.plan.notation import entries, listed
from ops.registry import ALGORITHMS
from sim.errors import InputError, StalledError
from sim.parameters import pairs, written
from sim.units import fmt_time

MOST = 20_000
"""Transfers of a run beside which others are tried."""
WORTH = 0.99
"""A change that takes more than this share of the time is not mentioned."""


def remedy(outcome: Outcome) -> Phrase | None:
    """Return the change that makes a run fastest again; None where none of those that are tried does."""
    plan = replace(outcome.plan, against="")
    if plan.schedule or plan.python or (outcome.run and outcome.run.work.transfers > MOST):
        return None
    tried = [(time, phrase) for other, phrase in _changes(plan, outcome) if (time := _time(other)) is not None]
    algorithms = {other: time for other in _algorithms(plan) if (time := _time(other)) is not None}
    if algorithms:
        best, time = min(algorithms.items(), key=lambda each: each[1])
        count = str(len(algorithms) + (outcome.run is not None))
        values = {"algorithm": best.algorithm, "time": fmt_time(time), "count": count}
        tried.append((time, Phrase("answer.remedy.algorithm", values)))
    time, phrase = min(tried, key=lambda each: each[0], default=(outcome.time, None))
    return phrase if time < WORTH * outcome.time else None


def _changes(plan: Plan, outcome: Outcome) -> Iterator[tuple[Plan, Phrase]]:
    """Changes of the machine: other ways round a dead link, twice the bandwidth where everybody waits."""
    for word in LISTS:
        specs = list(entries(getattr(plan, word)))
        for k, spec in enumerate(specs):
            kind, _, rest = spec.partition(":")
            if kind in LISTS[word] and "reroute" in LISTS[word].parameters(kind) and "reroute" not in pairs(rest):
                specs[k] = f"{kind}:{written(pairs(rest) | {'reroute': 'yes'})}"
        if specs != list(entries(getattr(plan, word))):
            yield _with(plan, word, listed(specs), Phrase("answer.remedy.reroute"))
    link = link_waited_for(outcome) if outcome.run else None
    if link and link.share >= LEAST:
        ends = outcome.topology.links[link.link]
        spec = f"set_link:{written({'src': ends.src, 'dst': ends.dst, 'times': '2'})}"
        phrase = Phrase("answer.remedy.link", {"link": f"{ends.src} → {ends.dst}"}, f"link:{ends.src}>{ends.dst}")
        yield _with(plan, "edits", listed([*entries(plan.edits), spec]), phrase)


def _with(plan: Plan, word: str, value: str, phrase: Phrase) -> tuple[Plan, Phrase]:
    other = replace(plan, **{word: value})  # type: ignore[arg-type]
    time = _time(other)
    return other, Phrase(phrase.id, {**phrase.values, "time": fmt_time(time or 0.0)}, phrase.shows)


def _algorithms(plan: Plan) -> Iterator[Plan]:
    """The other algorithms of the same collective."""
    collective = collective_of(plan.algorithm)
    for name, entry in ALGORITHMS.items():
        if entry.collective.name == collective and name != plan.algorithm and ":" not in name:
            yield replace(plan, algorithm=name, settings="")


def _time(plan: Plan) -> float | None:
    """Return the seconds that a plan takes; None where it cannot be run here, takes too long to try, or never ends."""
    try:
        prepared = plan.prepare()
        return prepared.run().time if prepared.work.transfers <= MOST else None
    except (InputError, StalledError):
        return None
