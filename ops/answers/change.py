"""What tells two plans apart, as a phrase: a fault more, another algorithm, another size."""

from collections.abc import Iterator

from ops.plan import Plan
from ops.plan.notation import CHANGEABLE, entries
from sim.errors import Message, english_texts
from sim.faults.edits import EDITS
from sim.faults.kinds import FAULTS
from sim.parameters import pairs
from sim.units import fmt_share, fmt_time, parse_time

LISTS = {"fault": FAULTS, "edits": EDITS}
"""Words of a plan that are lists, and the kinds of their entries."""
CHOICES = {
    "straggler": ("slower", "late"),
    "set_link": ("times", "bandwidth", "latency"),
    "set_class": ("times", "bandwidth", "latency"),
}
"""Kinds that do one of several things: the parameters that say which."""


def changed_words(before: Plan, after: Plan) -> list[str]:
    """Return the words in which two plans differ."""
    return [word for word in CHANGEABLE if getattr(before, word) != getattr(after, word)]


def change_of(before: Plan, after: Plan) -> Message:
    """Return what `after` does otherwise than `before`."""
    phrases = [phrase for word in changed_words(before, after) for phrase in _changes(word, before, after)]
    if not phrases:
        return Message("answer.change.nothing")
    joined = phrases[0]
    for phrase in phrases[1:]:
        joined = Message("answer.and", first=joined, second=phrase)
    return joined


def _changes(word: str, before: Plan, after: Plan) -> Iterator[Message]:
    old, new = getattr(before, word), getattr(after, word)
    if word in LISTS:
        yield from (described(word, spec) for spec in entries(new) if spec not in entries(old))
        for spec in entries(old):
            if spec not in entries(new):
                yield Message("answer.change.without", change=described(word, spec))
    elif word in ("capture", "rates"):
        yield Message("answer.change.capture")
    else:
        key = f"answer.change.{word}" if old and new else f"answer.change.{word}.{'new' if new else 'none'}"
        yield Message(key, old=str(old), new=str(new))


def described(word: str, spec: str) -> Message:
    """Return what an entry of a list of a plan does, in few words."""
    kind, _, rest = spec.partition(":")
    if kind not in LISTS[word]:
        return Message(spec)
    usual = {key: str(parameter.default) for key, parameter in LISTS[word].parameters(kind).items()}
    stated = pairs(rest)
    values = usual | stated
    choice = next((key for key in CHOICES.get(kind, ()) if key in stated), "")
    for share in ("share", "times", "slower"):
        if share in values:
            values[share] = _ratio(values[share])
    key = f"answer.change.{kind}.{choice}".rstrip(".")
    change = Message(key if key in english_texts() else spec, **values)
    begin = parse_time(stated["start"], spec) if "start" in stated else 0.0
    return Message("answer.change.from", change=change, time=fmt_time(begin)) if begin else change


def _ratio(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:g}×" if number >= 1 else fmt_share(number)
