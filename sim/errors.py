"""Errors that are reported in one sentence: what is wrong, where, and what to do, by the id of the text.

English texts are in `base/messages.json`, which is read when the first error is shown. Other languages have
catalogues of their own with the same ids and places.
"""

import json
import string
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from numbers import Number
from pathlib import Path
from types import MappingProxyType
from typing import Any

LONGEST = 400
"""Characters of a message: names of files may be of any length, a sentence may not."""
QUOTED = 40
"""Characters that `{name:q}` quotes of a value where it does not say how many."""
_NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class Message:
    """A sentence that can be rendered in every language: the id of its text, and the values that fill its places.

    A value is a number, a text that stays as it is, another message, an error (its message counts), or several of
    these. A place of a text has a format of Python's; `{name:q}` and `{name:q20}` quote the beginning of a value, and
    any other format of several values is what separates them: `{names:, }`, or `{names}` for the same.

    Parameters
    ----------
    text : str
        The id of a text; one that no catalogue has is the sentence itself.
    """

    __slots__ = ("text", "values")

    def __init__(self, text: str, /, **values: object) -> None:
        self.text, self.values = text, {name: _portable(value) for name, value in values.items()}

    def render(self, texts: Mapping[str, str] = _NO_TEXTS) -> str:
        """Return the sentence with the texts of a language by id; English stands in for a text that is missing.

        >>> Message("file.empty", file="a.xml", titles="a topology").render({"file.empty": "{file} 是空的"})
        'a.xml 是空的'
        """
        sentence = self._filled(texts)
        return sentence if len(sentence) <= LONGEST else _shortened(sentence, texts)

    def _filled(self, texts: Mapping[str, str]) -> str:
        english = english_texts().get(self.text)
        if english is None:
            return self.text
        try:
            return _Places(texts).vformat(texts.get(self.text, english), (), self.values)
        except (LookupError, ValueError, AttributeError):
            return _Places(texts).vformat(english, (), self.values)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return repr(str(self))


class Title(Message):
    """What people call a thing, inside a sentence: a language's own text of an id, else its English name.

    >>> Title("name.algorithm.ring", "ring").render({"name.algorithm.ring": "环"})
    '环'
    """

    __slots__ = ()

    def __init__(self, text: str, english: str) -> None:
        super().__init__(text, english=english)

    def _filled(self, texts: Mapping[str, str]) -> str:
        return texts.get(self.text, str(self.values["english"]))


class _Places(string.Formatter):
    """Fills the places of a text; values that are messages are rendered with the texts of a language."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Message):
            value = value._filled(self._texts)
        if isinstance(value, list):
            return (format_spec or ", ").join(self.format_field(each, "") for each in value)
        if format_spec.startswith("q"):
            most = int(format_spec[1:] or QUOTED)
            return repr(value[:most]) if isinstance(value, str) else str(value)[:most]
        return format(value, format_spec)


@cache
def english_texts() -> Mapping[str, str]:
    """Return the English texts of all messages by id."""
    texts: dict[str, str] = json.loads((Path(__file__).parent / "base" / "messages.json").read_text(encoding="utf-8"))
    return texts


def _portable(value: object) -> object:
    """A value as plain data, which every process can pickle and every language can render."""
    if isinstance(value, BaseException):
        return value.args[0] if isinstance(value, ReportedError) else str(value)
    if value is None or isinstance(value, str | Number | Message):
        return value
    return [_portable(each) for each in value] if isinstance(value, Iterable) else str(value)


def first_few(words: Sequence[object], most: int) -> Message:
    """Return the first of many words or messages, and how many more there are.

    >>> first_few([3, 5, 6], 2), first_few("ab", 2)
    ('3, 5 and 1 more', 'a, b')
    """
    more = len(words) - most
    return Message("list.more" if more > 0 else "list.all", words=[*words[:most]], count=more)


def nearest_first(word: str, names: Sequence[str]) -> list[str]:
    """Names to choose from, those that a word may have meant in front.

    >>> nearest_first("h100", ["a100", "dgx_h100", "switch"]), nearest_first("swich", ["ring", "switch"])
    (['dgx_h100', 'a100', 'switch'], ['switch', 'ring'])
    """
    within = [name for name in names if word and (word in name or name in word)]
    return list(dict.fromkeys([*within, *get_close_matches(word[:60], names), *names]))


def expect_kind(value: object, kinds: type | tuple[type, ...], what: str, remedy: str) -> None:
    """Raise KindError unless a value is of one of these kinds; `remedy` says what to pass instead.

    >>> expect_kind(67108864, str, "size", "write '64MiB'")
    Traceback (most recent call last):
    sim.errors.KindError: size is 67108864, of type int: write '64MiB'
    """
    if not isinstance(value, kinds):
        shown = f" {value!r}," if isinstance(value, str | int | float | None) else ""
        raise KindError(f"{what} is{shown[:60]} of type {type(value).__name__}: {remedy}")


def _shortened(message: str, texts: Mapping[str, str]) -> str:
    """The beginning and the end of a message that is too long.

    >>> _shortened("choose from " + ", ".join(str(number) for number in range(1000, 1200)), {})[258:302]
    '1041, 1042, 1043, … 140 more …, 1184, 1185, '
    """
    begin, end = message.rfind(", ", 0, LONGEST - 120), message.find(", ", len(message) - 100)
    left_out = message[begin + 2 : end].split(", ")
    if 0 < begin < end and all(0 < len(entry) <= 60 and ": " not in entry for entry in left_out):
        return f"{message[:begin]}, … {Message('list.between', count=len(left_out))._filled(texts)} …{message[end:]}"
    return f"{message[: LONGEST - 101]}…{message[-100:]}"


class ReportedError(Exception):
    """What is reported in one sentence instead of a traceback."""

    def __init__(self, text: str | Message | BaseException = "", /, **values: object) -> None:
        super().__init__(Message(text, **values) if isinstance(text, str) else _portable(text))

    status = 2
    """What a program that could not go on ends with: 2 for bad input, 1 where it was good and the answer is no."""
    trace: Any = None
    """The Trace of what had happened until nothing moved any more, where a run began. Traces raise these errors."""

    def __reduce__(self) -> tuple[object, ...]:
        return _remade, (type(self), self.args), self.__dict__

    @property
    def message(self) -> Message:
        """The sentence, to be rendered in any language."""
        message = self.args[0]
        return message if isinstance(message, Message) else Message(str(message))


def _remade(kind: type[ReportedError], args: tuple[object, ...]) -> ReportedError:
    """An error as it was in another process, whatever its own class is made of."""
    return kind.__new__(kind, *args)


class InputError(ReportedError, ValueError):
    """An input that cannot be used.

    Parameters
    ----------
    text : str, Message or Exception
        The id of a text, or a sentence of one's own: what is wrong, where, and what to do. One that is too long loses
        its middle; of a list there it says how many entries are left out.
    **values : object
        Values for the places of the text.
    """


class KindError(InputError, TypeError):
    """A value is of a kind that a function does not take; the message names the argument and what it takes."""


class UnreachableError(InputError):
    """Nothing connects two devices that must talk; the message names them."""

    status = 1


class StalledError(ReportedError, RuntimeError):
    """A collective can never finish; the message names the waiting transfers and the dead link."""

    status = 1
