"""Requests as the query words of a link."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ops.request.examples import example_captures, example_schedules
from ops.request.model import Request
from ops.request.packing import packed, unpacked
from ops.request.words import TEXTS, WORDS, unusual, value_of, wrong
from sim.errors import InputError

LONGEST = 6000
"""Characters of a packed text that a link may carry; longer ones stay out of it."""
LONGEST_OF = {"against": 4 * LONGEST}
"""Characters of a word that may hold packed texts; others are no longer than one."""

PLACE = ("t", "view", "camera", "window", "chosen", "brush")
"""Words beside those of the request: where in its runs a page stands."""


def to_link(request: Request) -> dict[str, str]:
    """Query words that bring the request back; what is as usual is left out."""
    words = {word: text for word, text in unusual(request) if word not in TEXTS}
    if request.capture:
        words.pop("machine", None)
        words["capture"] = packed(request.capture, example_captures(), LONGEST)
    if request.schedule:
        words.pop("algorithm", None)
        words["schedule"] = packed(request.schedule, example_schedules(), LONGEST)
    return {word: text for word, text in words.items() if text}


def from_link(words: Mapping[str, str]) -> Request:
    """The request a link describes. Raises InputError naming the word that is damaged."""
    values: dict[str, Any] = {}
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
    return replace(Request(), **values)
