"""The answer to a what-if: what changed, from what to what, by which factor, why, and what would win it back."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ops.answers.change import change_of
from ops.answers.names import called
from ops.answers.outcome import Outcome
from ops.answers.reason import Reason, shown_link, why_before, why_longer, why_never, why_same
from ops.answers.remedy import remedy
from sim.errors import Message
from sim.units import fmt_share, fmt_time

SAME = 1e-9
"""Share of a time within which two runs take equally long."""
SLIGHT = 1.05
"""Below this factor a difference is given in percent."""
REASONS = ("held", "link", "reason", "rank", "links", "part", "bytes", "messages", "share", "ranks", "first")
"""Places of a reason's text, of which the first that it has shows the reason."""


@dataclass(frozen=True)
class Answered:
    """An answer in parts.

    Parameters
    ----------
    before, after : float
        Seconds; infinite for a run that never ends. Of a single run both are its time.
    sentence : Message
        What changed, from what to what, by which factor.
    reason : Message
        Why.
    remedy : Message or None
        What would win a loss back.
    shows : str
        What shows the reason: `link:SRC>DST`, `rank:N` or `part:NAME`; nothing where no picture does.
    halt : float
        Seconds until nothing moves in a run that never ends.
    """

    before: float
    after: float
    sentence: Message
    reason: Message
    remedy: Message | None = None
    shows: str = ""
    halt: float = math.inf

    @property
    def factor(self) -> float:
        """How many times as long it takes now; infinite where it never ends, 0 where it never did."""
        return math.inf if math.isinf(self.after) else 0.0 if math.isinf(self.before) else self.after / self.before

    @property
    def evidence(self) -> list[tuple[Message, Mapping[str, str]]]:
        """Sentence, reason and remedy, and what shows the words in their places; `t:SECONDS` is an instant."""
        end = self.halt if math.isinf(self.after) else self.after
        times = {"before": f"t:{self.before!r}", "after": f"t:{end!r}", "factor": "why"}
        place = next((name for name in REASONS if name in self.reason.values), "")
        shown = {place: self.shows} if self.shows else {}
        second = self.reason.values.get("second")
        if isinstance(second, Message):  # the links that hold up ranks which wait for each other
            shown["second"] = shown_link(str(second.values["links"]).split(", ")[0])
        parts: list[tuple[Message, Mapping[str, str]]] = [(self.sentence, times), (self.reason, shown)]
        if self.remedy:
            link = self.remedy.values.get("link")
            parts.append((self.remedy, {"link": shown_link(str(link))} if link else {}))
        return parts


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
    change = _change(before, after)
    words: dict[str, object] = {"change": change}
    halt = after.time
    if after.standstill:
        key, why, halt = "answer.never", why_never(after.standstill), after.standstill.time
        words["after"] = fmt_time(halt)
    elif before.standstill:
        key, why = "answer.ends", why_before(why_never(before.standstill))
        words["after"] = fmt_time(after.time)
    else:
        key, words = _timed(change, before.time, after.time)
        why = why_different(before, after)
    lost = remedies and key in ("answer.never", "answer.slower")
    helps = remedy(after) if lost else None
    return Answered(before.time, after.time, Message(key, **words), why.message, helps, why.shows, halt)


def answer_several(outcomes: Sequence[Outcome], names: Sequence[str | Message]) -> Answered:
    """Say which of several runs is the fastest, by how much, and why.

    Parameters
    ----------
    outcomes : sequence of Outcome
        Two runs or more.
    names : sequence of str or Message
        What each of them is called at the beginning of a sentence.

    Returns
    -------
    Answered
        From the time of the second to that of the first.
    """
    order = sorted(range(len(outcomes)), key=lambda k: outcomes[k].time)
    first, second = (outcomes[k] for k in order[:2])
    words: dict[str, object] = {"name": names[order[0]], "count": len(outcomes)}
    if first.standstill:
        why = why_never(first.standstill)
        return Answered(first.time, first.time, Message("answer.won.none", **words), why.message, None, why.shows)
    words |= {"after": fmt_time(first.time), "second": names[order[1]]}
    if second.standstill:
        why = why_never(second.standstill)
        return Answered(second.time, first.time, Message("answer.won.only", **words), why.message, None, why.shows)
    why = why_different(second, first)
    if is_same(second.time, first.time):
        return Answered(second.time, first.time, Message("answer.won.tie", **words), why.message, None, why.shows)
    words["factor"] = factor(second.time / first.time)
    return Answered(second.time, first.time, Message("answer.won", **words), why.message, None, why.shows)


def why_different(before: Outcome, after: Outcome) -> Reason:
    """Return why one run takes longer or shorter than another before it, or just as long."""
    if is_same(before.time, after.time):
        return why_same(before, after)
    worse = after.time > before.time
    return why_longer(*((after, before) if worse else (before, after)), ahead=not worse)


def is_same(before: float, after: float) -> bool:
    """Return whether two times are the same, but for rounding."""
    return abs(after - before) <= SAME * before


def timed(change: Message, before: float, after: float) -> Message:
    """Say of a change from what to what time it leads, s, and by which factor."""
    key, words = _timed(change, before, after)
    return Message(key, **words)


def _timed(change: Message, before: float, after: float) -> tuple[str, dict[str, object]]:
    if is_same(before, after):
        return "answer.same", {"change": change, "after": fmt_time(after)}
    old, new = _times(before, after)
    words = {"change": change, "before": old, "after": new, "factor": factor(max(before, after) / min(before, after))}
    return "answer.slower" if after > before else "answer.faster", words


def _change(before: Outcome, after: Outcome) -> Message:
    """What tells two runs apart: two plans, or where these are unknown the algorithms that ran."""
    if before.plan and after.plan:
        return change_of(before.plan, after.plan)
    new, old = called(after.name, beside=before.name, first=True), called(before.name, beside=after.name)
    return Message("answer.change.algorithm", new=new, old=old)


def _times(before: float, after: float) -> tuple[str, str]:
    """Two times in words, the unit once where both have the same.

    >>> _times(7.341e-3, 13.02e-3), _times(6e-6, 2.624e-3)
    (('7.341', '13.02 ms'), ('6 µs', '2.624 ms'))
    """
    old, new = fmt_time(before), fmt_time(after)
    number, _, unit = old.partition(" ")
    return (number if unit == new.partition(" ")[2] else old), new


def factor(times: float) -> str | Message:
    """How many times as long, or how many percent longer.

    >>> [str(factor(times)) for times in (1.7737, 12.6, 1.032, 1.00001)]
    ['1.8×', '13×', '3.2%', 'less than 0.1%']
    """
    if times >= SLIGHT:
        return f"{float(f'{times:.2g}'):g}×"
    return Message("answer.hardly", factor="0.1%") if times < 1.0005 else fmt_share(times - 1, 1)
