"""Plans as the query words of a link."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ops.plan.examples import example_captures, example_schedules
from ops.plan.model import Plan
from ops.plan.notation import renamed
from ops.plan.packing import packed, unpacked
from ops.plan.words import TEXTS, WORDS, unusual, value_of, wrong
from sim.errors import InputError

LONGEST = 6000
"""Characters of a packed text that a link may carry; longer ones stay out of it."""
LONGEST_OF = {"against": 4 * LONGEST}
"""Characters of a word that may hold packed texts; others are no longer than one."""

PLACE = ("t", "view", "camera", "window", "chosen", "brush")
"""Words beside those of the plan: where in its runs a page stands."""


def to_link(plan: Plan) -> dict[str, str]:
    """Query words that bring the plan back; what is as usual is left out."""
    words = {word: text for word, text in unusual(plan) if word not in TEXTS}
    if plan.capture:
        words.pop("machine", None)
        words["capture"] = packed(plan.capture, example_captures(), LONGEST)
    if plan.schedule:
        words.pop("algorithm", None)
        words["schedule"] = packed(plan.schedule, example_schedules(), LONGEST)
    return {word: text for word, text in words.items() if text}


def from_link(words: Mapping[str, str]) -> Plan:
    """The plan a link describes. Raises InputError naming the word that is damaged."""
    words, values = renamed(words), dict[str, Any]()
    for word in WORDS:
        if word in words and word not in TEXTS:
            most = LONGEST_OF.get(word, LONGEST)
            if len(words[word]) > most:
                raise InputError("link.too_long", word=word, most=most)
            value = value_of(word, words[word])
            if value is None:
                raise InputError("link.wrong", what=wrong(word, words[word][:20]))
            values[word] = value
    if "capture" in words:
        values["capture"] = unpacked(words["capture"], example_captures(), "capture")
    if "schedule" in words:
        values["schedule"] = unpacked(words["schedule"], example_schedules(), "schedule")
    return replace(Plan(), **values)
