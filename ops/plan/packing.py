"""Texts of many lines as one word of a link."""

import base64
import binascii
import zlib
from collections.abc import Mapping

from sim.errors import InputError

LARGEST = 1 << 20
"""Characters that a word is unpacked to."""


def packed(text: str, examples: Mapping[str, str], longest: int | None = None) -> str:
    """A text as a word, by its name where it is an example; empty where that would be longer than `longest`."""
    name = next((name for name, example in examples.items() if example == text), "")
    word = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode()
    return f"example-{name}" if name else word if longest is None or len(word) <= longest else ""


def unpacked(word: str, examples: Mapping[str, str], what: str) -> str:
    """The text that a word stands for. Raises InputError for a word that is damaged, or names no example."""
    if word.startswith("example-"):
        name = word.removeprefix("example-")
        if name not in examples:
            raise InputError("link.example", what=what, name=name, choices=examples)
        return examples[name]
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(base64.b64decode(word, altchars=b"-_", validate=True), LARGEST).decode()
    except (binascii.Error, zlib.error, ValueError):
        text = ""
    if not unpacker.eof:
        raise InputError("link.damaged", what=what)
    return text
