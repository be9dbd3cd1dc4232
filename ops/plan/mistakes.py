"""Checks of the words of a plan, and the line that shows them."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral

from ops.plan.notation import size_word
from sim.errors import KindError, expect_kind, nearest_first

ALWAYS = ("algorithm", "machine", "size")
"""Words that a plan shows even where they are as usual."""
LONG, LINE = 40, 170
"""Characters of a word and of all words in the line that shows a plan."""


def check_words(owner: str, words: Iterable[str], names: Sequence[str]) -> None:
    """Raise KindError for a keyword that is not among those a call knows, the nearest ones named first."""
    for word in words:
        if word not in names:
            raise KindError("call.keyword", owner=owner, word=word, choices=nearest_first(word, names))


def check_kind(word: str, value: object, kind: type) -> None:
    """Raise KindError for a value of a plan that is no text, whole number or truth."""
    objects = "or pass objects and numbers to `run`, which takes them"
    if kind is str:
        example = repr(size_word(value)) if word == "size" and type(value) is int and value > 0 else "a text"
        expect_kind(value, str, f"Plan: {word}", f"write {example}, {objects}")
    elif kind is bool:
        expect_kind(value, bool, f"Plan: {word}", "write True or False")
    elif isinstance(value, bool) or not isinstance(value, Integral):
        raise KindError("call.whole", word=word, value=value, kind=type(value).__name__)


def one_line(words: Mapping[str, object], usual: Mapping[str, object]) -> str:
    """Return the words that differ from the usual ones in one line, long ones cut."""
    shown = ((word, repr(value)) for word, value in words.items() if word in ALWAYS or value != usual[word])
    said = ", ".join(f"{word}={text if len(text) <= LONG else text[:LONG] + '…'}" for word, text in shown)
    return f"Plan({said})" if len(said) < LINE else f"Plan({said[:LINE]}…)"
