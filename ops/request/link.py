"""Requests as the query words of a link."""

import base64
import binascii
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ops.request.examples import example_captures, example_schedules
from ops.request.model import Request
from ops.request.words import TEXTS, WORDS, expected, unusual, value_of
from sim.errors import InputError

LONGEST_WORD = 1000
LONGEST = 6000
"""Characters of a packed text that a link may carry; longer ones stay out of it."""


def to_link(request: Request) -> dict[str, str]:
    """Query words that bring the request back; what is as usual is left out."""
    words = {word: text for word, text in unusual(request) if word not in TEXTS}
    if request.capture:
        words.pop("machine", None)
        words["capture"] = _packed(request.capture, example_captures())
    if request.schedule:
        words.pop("algorithm", None)
        words["schedule"] = _packed(request.schedule, example_schedules())
    return {word: text for word, text in words.items() if text}


def from_link(words: Mapping[str, str]) -> Request:
    """The request a link describes. Raises InputError naming the word that is damaged."""
    values: dict[str, Any] = {}
    for word in WORDS:
        if word in words and word not in TEXTS:
            value = value_of(word, words[word][:LONGEST_WORD])
            if value is None:
                text = words[word][:20]
                raise InputError(f"the link's {word}={text!r} is not {expected(word)}: correct the address")
            values[word] = value
    if "capture" in words:
        values["capture"] = _unpacked(words["capture"], example_captures(), "capture")
    if "schedule" in words:
        values["schedule"] = _unpacked(words["schedule"], example_schedules(), "schedule")
    return replace(Request(), **values)


def _packed(text: str, examples: Mapping[str, str]) -> str:
    """A text as a word of a link; empty when it is too long for one."""
    name = next((name for name, example in examples.items() if example == text), "")
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode()
    return f"example-{name}" if name else packed if len(packed) <= LONGEST else ""


def _unpacked(word: str, examples: Mapping[str, str], what: str) -> str:
    if word.startswith("example-"):
        name = word.removeprefix("example-")
        if name not in examples:
            raise InputError(f"the link's {what} {name[:40]!r} is not among {', '.join(examples)}: correct the address")
        return examples[name]
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(base64.b64decode(word, altchars=b"-_", validate=True), 1 << 20).decode()
    except (binascii.Error, zlib.error, ValueError):
        text = ""
    if not unpacker.eof:
        raise InputError(f"the link's {what} is damaged: paste the {what} again")
    return text
