"""The answer to a what-if: what changed, from what to what, by which factor, why, and what would win it back."""

import math
from dataclasses import dataclass

from ops.answers.change import change_of
from ops.answers.outcome import Outcome
from ops.answers.reason import why_longer, why_never, why_same
from ops.answers.remedy import remedy
from sim.errors import Message
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
    sentence : Message
        The sentence.
    remedy : Message or None
        What would win the time back, as a second sentence.
    shows : str
        What shows the reason: `link:SRC>DST`, `rank:N` or `part:NAME`; nothing where no picture does.
    """

    before: float
    after: float
    sentence: Message
    remedy: Message | None = None
    shows: str = ""

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
    change, words = change_of(before.plan, after.plan), dict[str, object]()
    if after.stalled:
        key, why = "answer.never", why_never(after.stalled)
    elif before.stalled:
        key, words, why = "answer.ends", {"after": fmt_time(after.time)}, why_never(before.stalled)
    elif abs(after.time - before.time) <= SAME * before.time:
        key, words, why = "answer.same", {"after": fmt_time(after.time)}, why_same(before, after)
    else:
        worse = after.time > before.time
        slower, faster = (after, before) if worse else (before, after)
        old, new = _times(before.time, after.time)
        words = {"before": old, "after": new, "factor": _factor(slower.time / faster.time)}
        key, why = "answer.slower" if worse else "answer.faster", why_longer(slower, faster, ahead=not worse)
    sentence = Message(key, change=change, why=why.message, **words)
    lost = remedies and key in ("answer.never", "answer.slower")
    return Answered(before.time, after.time, sentence, remedy(after) if lost else None, why.shows)


def _times(before: float, after: float) -> tuple[str, str]:
    """Two times in words, the unit once where both have the same.

    >>> _times(7.341e-3, 13.02e-3), _times(6e-6, 2.624e-3)
    (('7.341', '13.02 ms'), ('6 µs', '2.624 ms'))
    """
    old, new = fmt_time(before), fmt_time(after)
    number, _, unit = old.partition(" ")
    return (number if unit == new.partition(" ")[2] else old), new


def _factor(factor: float) -> str | Message:
    """How many times as long, or how many percent longer.

    >>> [str(_factor(factor)) for factor in (1.7737, 12.6, 1.032, 1.00001)]
    ['1.8×', '13×', '3.2%', 'less than 0.1%']
    """
    if factor >= SLIGHT:
        return f"{float(f'{factor:.2g}'):g}×"
    return Message("answer.hardly", factor="0.1%") if factor < 1.0005 else fmt_share(factor - 1, 1)
