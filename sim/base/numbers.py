"""Numbers in texts, whoever wrote them: the one place that knows signs, digits of other scripts and what is too long.

A digit is a decimal digit of any script, so `８` and `٨` are 8, while `²` and `½` are no digits. A sign is `+`, `-` or
what word processors make of these. Underscores may stand between digits. Hexadecimal, NaN and infinity are no numbers.
"""

import math
import re
from decimal import Decimal

LONGEST = 64
"""Characters of a number; no quantity of a machine needs more."""
MOST_DIGITS = 18
"""Of a whole number, so that it fits 64 bits."""

_PLAIN = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-") | {"\uff0b": "+"})
_DIGITS = r"\d+(?:_\d+)*"
_WHOLE = re.compile(rf"[+-]?{_DIGITS}")
_REAL = re.compile(rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?\d+)?")
_NO_NUMBER = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE)
_NO_UNIT = re.compile(r"[\d\s]|^[._]")


def whole(text: str) -> int | None:
    """The whole number that a text says, with spaces around it; None where it says none, or one of over 18 digits.

    >>> whole(" 8 "), whole("−1"), whole("1_024"), whole("²"), whole("1e3"), whole("9" * 5000)
    (8, -1, 1024, None, None, None)
    """
    if text.isascii() and text.isdigit():  # as nearly all are
        return int(text) if len(text) <= MOST_DIGITS else None
    plain = _plain(text)
    return int(plain) if _WHOLE.fullmatch(plain) and sum(map(str.isdecimal, plain)) <= MOST_DIGITS else None


def real(text: str) -> float | None:
    """The finite number that a text says, with spaces around it; None where it says none.

    >>> real("1.5e-6"), real("–2"), real("nan"), real("1e999"), real("0x10")
    (1.5e-06, -2.0, None, None, None)
    """
    plain = _plain(text)
    value = float(plain) if _REAL.fullmatch(plain) else math.inf
    return value if math.isfinite(value) else None


def with_unit(text: str) -> tuple[Decimal, str] | None:
    """A number, exact, and the word behind it; None where a text does not begin with a number.

    The number is infinite where it is beyond floating point, or where a text says so.

    >>> with_unit("1.5 us"), with_unit("64"), with_unit("MiB")
    ((Decimal('1.5'), 'us'), (Decimal('64'), ''), None)
    """
    plain = _plain(text)
    match = _REAL.match(plain) or _NO_NUMBER.match(plain)
    if match is None:
        return None
    digits, unit = match[0].replace("_", ""), plain[match.end() :].lstrip()
    if _NO_UNIT.search(unit):
        return None
    near = float(digits)  # knows every exponent, as Decimal does not
    return Decimal(digits if near and math.isfinite(near) else abs(near) if near == near else "inf"), unit


def _plain(text: str) -> str:
    """A text with plain signs and without the spaces around it; nothing for one that is too long."""
    return text.strip().translate(_PLAIN) if len(text) <= LONGEST else ""
