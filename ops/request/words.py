"""What files and links share: the words of a request that are not as usual, and what a word may be."""

from collections.abc import Iterator
from dataclasses import fields

from ops.request.model import Request
from sim.base.numbers import whole

TEXTS = ("capture", "schedule")
"""Words that are texts of many lines."""
APART = ("python", "seed", "capture_name", "schedule_name")
"""Words that stay where the request was made."""
MACHINE = ("machine", "capture", "rates")
"""Words that tell the machine."""
WORDS = tuple(field.name for field in fields(Request) if field.name not in APART)
USUAL = Request()
LARGEST = 10**7
"""A number of a request is smaller."""


def unusual(request: Request) -> Iterator[tuple[str, str]]:
    """The words that are not as usual, as text."""
    for word in WORDS:
        value = getattr(request, word)
        if value != getattr(USUAL, word):
            yield word, ("yes" if value else "no") if isinstance(value, bool) else str(value)


def is_number(word: str) -> bool:
    """Whether a word is a whole number."""
    return type(getattr(USUAL, word)) is int


def value_of(word: str, text: str) -> str | int | bool | None:
    """A word's value; None for a text that cannot be one."""
    kind = type(getattr(USUAL, word))
    if kind is int:
        number = whole(text)
        return number if number is not None and 0 <= number < LARGEST else None
    if kind is bool:
        return {"yes": True, "no": False}.get(text)
    return text
