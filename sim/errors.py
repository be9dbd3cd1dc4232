"""What can go wrong, told in one sentence that names the place and the mend."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

LONGEST = 400
"""Characters of a message: names of files may be of any length, a sentence may not."""


Sentence = str
"""What an error says or a part of it; the strings of a function that returns one have words in every language."""


def first_few(words: Sequence[object], most: int) -> Sentence:
    """Words in a sentence, the first of many.

    >>> first_few([3, 5, 6], 2), first_few("ab", 2)
    ('3, 5 and 1 more', 'a, b')
    """
    listed = ", ".join(map(str, words[:most]))
    return f"{listed} and {len(words) - most} more" if len(words) > most else listed


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


def _shortened(message: str) -> str:
    """The beginning and the end of a message that is too long.

    >>> _shortened("choose from " + ", ".join(str(number) for number in range(1000, 1200)))[258:302]
    '1041, 1042, 1043, … 140 more …, 1184, 1185, '
    """
    begin, end = message.rfind(", ", 0, LONGEST - 120), message.find(", ", len(message) - 100)
    left_out = message[begin + 2 : end].split(", ")
    if 0 < begin < end and all(0 < len(entry) <= 60 and ": " not in entry for entry in left_out):
        return f"{message[:begin]}, … {len(left_out)} more …{message[end:]}"
    return f"{message[: LONGEST - 101]}…{message[-100:]}"


class InputError(ValueError):
    """Something a person typed, pasted or passed cannot be used.

    Parameters
    ----------
    message : str
        What is wrong, where, and what to do. One that is too long loses its middle; of a list there it says how many
        entries are left out.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message if len(message) <= LONGEST else _shortened(message))

    status = 2
    """What a program that could not go on ends with: 2 for bad input, 1 where it was good and the answer is no."""
    trace: Any = None
    """The Trace of what had happened until nothing moved any more, where a run began. Traces raise these errors."""


class KindError(InputError, TypeError):
    """A value is of a kind that a function does not take; the message names the argument and what it takes."""


class UnreachableError(InputError):
    """Nothing connects two devices that must talk; the message names them."""

    status = 1


class StalledError(RuntimeError):
    """A collective can never finish; the message names the waiting transfers and the dead link."""

    status = 1
    trace: Any = None
    """As an InputError's."""
