"""Words and breakpoints of a scene as a person types them into two fields, and back."""

import re
from collections.abc import Sequence

from sim.errors import InputError, Message
from sim.units import exact_time, parse_time
from ui.talk import LONGEST_LINE, MOST_LINES, MOST_STOPS, StageLine

_AT = re.compile(r"\[\s*([^\]]*?)\s*\]\s*(.*)")


def lines_of(text: str) -> tuple[StageLine, ...]:
    r"""The words of a field, a line each, those behind `[8ms]` from that instant on. Raises InputError.

    >>> lines_of("first\n[8ms] then")
    (StageLine(text='first', at=0.0), StageLine(text='then', at=0.008))
    """
    lines = [_line(line.strip()) for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        raise InputError("talk.notation_lines", count=len(lines), most_lines=MOST_LINES)
    for line, before in zip(lines[1:], lines, strict=False):
        if line.at <= before.at:
            raise InputError("talk.not_after", text=line.text)
    return tuple(lines)


def _line(text: str) -> StageLine:
    match = _AT.fullmatch(text)
    at, words = (parse_time(match[1], Message("the instant")), match[2]) if match else (0.0, text)
    if not words:
        raise InputError("talk.no_words", text=text)
    if len(words) > LONGEST_LINE:
        raise InputError("talk.line_long", count=len(words), most=LONGEST_LINE)
    return StageLine(words, at)


def in_lines(lines: Sequence[StageLine]) -> str:
    """Words as `lines_of` reads them."""
    return "\n".join(f"[{exact_time(line.at)}] {line.text}" if line.at else line.text for line in lines)


def stops_of(text: str) -> tuple[float, ...]:
    """The breakpoints of a field, with commas or spaces between. Raises InputError.

    >>> stops_of("20us, 1ms")
    (1.9999999999999998e-05, 0.001)
    """
    stops = tuple(parse_time(word, Message("a breakpoint")) for word in re.split(r"[,;，、\s]+", text.strip()) if word)
    if len(stops) > MOST_STOPS:
        raise InputError("talk.breakpoints", count=len(stops), most=MOST_STOPS)
    return tuple(sorted(set(stops)))


def in_words(stops: Sequence[float]) -> str:
    """Breakpoints as `stops_of` reads them."""
    return ", ".join(map(exact_time, stops))
