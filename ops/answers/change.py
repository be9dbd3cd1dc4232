"""What tells two plans apart, as a phrase: a fault more, another algorithm, another size."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ops.answers.names import called, machine_called
from ops.plan import Plan
from ops.plan.notation import CHANGEABLE, entries
from sim.errors import InputError, Message, english_texts
from sim.faults.edits import EDITS
from sim.faults.edits.cables import ALL
from sim.faults.kinds import FAULTS
from sim.parameters import pairs
from sim.units import fmt_bandwidth, fmt_share, fmt_size, fmt_time, parse_bandwidth, parse_size, parse_time

LISTS = {"fault": FAULTS, "edits": EDITS}
"""Words of a plan that are lists, and the kinds of their entries."""
CHOICES = {
    "straggler": ("slower", "late"),
    "set_link": ("times", "bandwidth", "latency"),
    "set_class": ("times", "bandwidth", "latency"),
}
"""Kinds that do one of several things: the parameters that say which."""
WITHOUT = "answer.change.without"
"""The text of an entry that a plan has no more."""
PLAIN = {0.5: "half", 2.0: "twice"}
"""Shares and factors that have a word of their own."""


class Difference(NamedTuple):
    """A word of a plan that differs, what it says more (or of a size, what it was), and that as a phrase."""

    word: str
    spec: str
    phrase: Message


def changed_words(before: Plan | None, after: Plan | None) -> list[str]:
    """Return the words in which two plans differ; none where one is unknown."""
    if before is None or after is None:
        return []
    return [word for word in CHANGEABLE if getattr(before, word) != getattr(after, word)]


def baseline(plan: Plan) -> Plan | None:
    """Return a plan without its faults and edits; None where it has none, or runs of its own beside it."""
    return replace(plan, fault="", edits="") if (plan.fault or plan.edits) and not plan.against else None


def change_of(before: Plan, after: Plan) -> Message:
    """Return what `after` does otherwise than `before`."""
    phrases = [phrase for _, _, phrase in changes(before, after)]
    if not phrases:
        return Message("answer.change.nothing")
    joined = phrases[0]
    if joined.text == WITHOUT:  # a sentence begins with it
        joined = Message(f"{WITHOUT}.first", **joined.values)
    for phrase in phrases[1:]:
        joined = Message("answer.and", first=joined, second=phrase)
    return joined


def changes(before: Plan, after: Plan) -> list[Difference]:
    """Return what `after` does otherwise than `before`, one by one."""
    return [change for word in changed_words(before, after) for change in _changes(word, before, after)]


def added_faults(before: Plan | None, after: Plan | None) -> list[tuple[str, dict[str, str]]]:
    """Return the faults that one plan has more than another: the kind and the values of each."""
    if before is None or after is None:
        return []
    old = entries(before.fault)
    added = [spec.partition(":") for spec in entries(after.fault) if spec not in old]
    return [(kind, pairs(rest)) for kind, _, rest in added]


def _changes(word: str, before: Plan, after: Plan) -> Iterator[Difference]:
    old, new = getattr(before, word), getattr(after, word)
    if word in LISTS:
        yield from (Difference(word, spec, described(word, spec)) for spec in entries(new) if spec not in entries(old))
        for spec in entries(old):
            if spec not in entries(new):
                yield Difference(word, "", Message(WITHOUT, change=described(word, spec)))
    elif word in ("capture", "rates"):
        yield Difference(word, "", Message("answer.change.capture"))
    elif word == "algorithm":
        names = {"new": called(new, beside=old, first=True), "old": called(old, beside=new)}
        yield Difference(word, "", Message("answer.change.algorithm", **names))
    elif word == "machine":
        yield Difference(word, "", Message("answer.change.machine", new=machine_called(new), old=machine_called(old)))
    elif word == "size":
        was, now = (fmt_size(parse_size(size)) for size in (old, new))
        yield Difference(word, was, Message("answer.change.size", old=was, new=now))
    else:
        key = f"answer.change.{word}" if old and new else f"answer.change.{word}.{'new' if new else 'none'}"
        yield Difference(word, "", Message(key, old=str(old), new=str(new)))


def described(word: str, spec: str) -> Message:
    """Return what an entry of a list of a plan does, in few words."""
    kind, _, rest = spec.partition(":")
    if kind not in LISTS[word]:
        return Message(spec)
    usual = {key: str(parameter.default) for key, parameter in LISTS[word].parameters(kind).items()}
    stated = pairs(rest)
    values: dict[str, object] = {key: _shown(key, value) for key, value in (usual | stated).items()}
    if kind == "set_class":
        values["links"] = Message(
            f"answer.change.links.{'all' if values['kind'] == ALL else 'kind'}", kind=values["kind"]
        )
    choice = next((key for key in CHOICES.get(kind, ()) if key in stated), "")
    share = choice if choice in ("times", "slower") else "share"
    number = _read(float, stated.get(share, usual.get(share, ""))) or 0.0
    special = PLAIN.get(number, "less" if number < 1 else "")
    keys = (f"answer.change.{kind}{'.' * bool(choice)}{choice}{end}" for end in (f".{special}", ""))
    key = next((key for key in keys if key in english_texts()), spec)
    begin = _read(parse_time, stated.get("start", "0"))
    change = Message(key, **values)
    return Message("answer.change.from", change=change, time=fmt_time(begin)) if begin else change


def _shown(key: str, text: str) -> str:
    """A value of a fault or an edit as people read it: a share or a factor, a bandwidth, a time."""
    if key in ("share", "times", "slower"):
        number = _read(float, text)
        return text if number is None else f"{number:g}×" if number >= 1 else fmt_share(number)
    reads: dict[str, tuple[Callable[..., float], Callable[[float], str]]] = {
        "bandwidth": (parse_bandwidth, fmt_bandwidth),
        **dict.fromkeys(("latency", "late", "mean"), (parse_time, fmt_time)),
    }
    if key not in reads:
        return text
    read, shown = reads[key]
    value = _read(read, text)
    return text if value is None else shown(value)


def _read(read: Callable[..., float], text: str) -> Any:
    """Read a value; None where it is none, which a run refuses in its own words."""
    try:
        return read(text)
    except (InputError, ValueError):
        return None
