"""The answer to a what-if: what changed, from what to what, by which factor, why, and what would win it back."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ops.answers.change import change_of
from ops.answers.outcome import Outcome
from ops.answers.phrase import Phrase
from ops.answers.reason import why_longer, why_never, why_same
from ops.answers.remedy import remedy
from sim.units import fmt_share, fmt_time

SAME = 1e-9
"""Share of a time within which two runs take equally long."""
SLIGHT = 1.05
"""Below this factor a difference is given in percent."""


@dataclass(frozen=True)
class Answered:
    """An answer in parts.

    Parameters
    ----------
    before, after : float
        Seconds; infinite for a run that never ends.
    sentence : Phrase
        The sentence.
    remedy : Phrase or None
        What would win the time back, as a second sentence.
    """

    before: float
    after: float
    sentence: Phrase
    remedy: Phrase | None = None

    @property
    def factor(self) -> float:
        """How many times as long it takes now; infinite where it never ends, 0 where it never did."""
        return math.inf if math.isinf(self.after) else 0.0 if math.isinf(self.before) else self.after / self.before


def answer(before: Outcome, after: Outcome, *, remedies: bool = True) -> Answered:
    """Say what a change did to a run.

    Parameters
    ----------
    before : Outcome
        The plan without the change, and how it ended.
    after : Outcome
        The plan with it.
    remedies : bool
        Whether to look for what wins a loss back, which takes more runs.

    Returns
    -------
    Answered
        The sentence, and the numbers in it.
    """
    key, values = "", {"change": change_of(before.plan, after.plan)}
    worse = after.time > before.time * (1 + SAME) or after.run is None
    if after.stalled:
        key = "answer.never"
        values |= {"why": why_never(after.stalled)}
    elif before.stalled:
        key = "answer.ends"
        values |= {"after": fmt_time(after.time), "why": why_never(before.stalled)}
    elif worse or after.time < before.time * (1 - SAME):
        slower, faster = (after, before) if worse else (before, after)
        old, new = _times(before.time, after.time)
        key = "answer.slower" if worse else "answer.faster"
        values |= {
            "before": old,
            "after": new,
            "factor": _factor(slower.time / faster.time),
            "why": why_longer(slower, faster, ahead=not worse),
        }
    else:
        key = "answer.same"
        values |= {"after": fmt_time(after.time), "why": why_same(before, after)}
    return Answered(before.time, after.time, Phrase(key, values), remedy(after) if worse and remedies else None)


def _times(before: float, after: float) -> tuple[str, str]:
    """Two times in words, the unit once where both have the same.

    >>> _times(7.341e-3, 13.02e-3), _times(6e-6, 2.624e-3)
    (('7.341', '13.02 ms'), ('6 µs', '2.624 ms'))
    """
    old, new = fmt_time(before), fmt_time(after)
    number, _, unit = old.partition(" ")
    return (number if unit == new.partition(" ")[2] else old), new


def _factor(factor: float) -> Phrase:
    """How many times as long, or how many percent longer.

    >>> _factor(1.7737).values, _factor(12.6).values, _factor(1.032).values, _factor(1.00001).values
    ({'factor': '1.8×'}, {'factor': '13×'}, {'factor': '3.2%'}, {'factor': '0.1%'})
    """
    if factor >= SLIGHT:
        return Phrase("answer.times", {"factor": f"{float(f'{factor:.2g}'):g}×"})
    if factor < 1.0005:
        return Phrase("answer.hardly", {"factor": fmt_share(0.001, 1)})
    return Phrase("answer.percent", {"factor": fmt_share(factor - 1, 1)})


def parts(phrase: Phrase) -> Iterator[Phrase]:
    """Return a phrase and all phrases in it."""
    yield phrase
    for value in phrase.values.values():
        if isinstance(value, Phrase):
            yield from parts(value)
