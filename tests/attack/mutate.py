"""Texts damaged at random: by bits, bytes, words and lines, and with what nobody should write."""

import re
from random import Random

NUMBERS = (
    *("0", "-1", "1", "2", "3", "64", "65535", "65536", "99999", "2147483647", "2147483648", "18446744073709551616"),
    *("1e3", "1e308", "1e999", "1e-999", "nan", "inf", "-inf", "-0", "+5", "0x10", "1_000", "007", ".5", "5.", "1,5"),
    *("²", "½", "٣", "８", "−1", "–1", "", "9" * 30, "9" * 5000, "0" * 5000, "-" + "9" * 400, "1e" + "9" * 30),
    *("1GiB", "2PiB", "1us", "25GBps", "1e18", "0.1", "[]", "{}", "null", "true", "~", '""'),
)
WORDS = (
    *("", " ", "\t", "\n", "\r\n", "\0", "\x1b[31m", "\x0b", "\u200b", "\u202e", "\ufeff", "\ud800", "\U0001f642"),
    *("GPU0", "GPU1", "NV12", "X", "SYS", "rank 0 {", "}", "{", "[", "]", "(", "<", ">", "</", "/>", "&amp;", "&a;"),
    *("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>", "<![CDATA[", "!!python/object:os.system", "&a [*a]"),
    *(
        "*a",
        "- ",
        ": ",
        "? ",
        "|",
        "#",
        "%",
        "@",
        "'",
        '"',
        "\\",
        "../../etc/passwd",
        "/dev/zero",
        "http://127.0.0.1/x",
    ),
    *("a=b", "=", ",", ";", "x" * 2000, "a,b," * 200, "1x1x1x1x1x1x1", "4x4", "yes", "no", "None", "__class__", "%s%n"),
    *("![x](http://127.0.0.1/x.png)", "[a](http://127.0.0.1/x)", ":red[x]", "$x$", "中文", "é" * 300, "<!--"),
    *("background:src=GPU0,dst=GPU1,size=1", "allreduce.ring", "switch:ranks=65536", "dgx1v", "lambda: 1"),
)
OPENING = ("(", "[", "{", "<a>", "- ", '{"a":', "[[", "/*", "'", "a: {", "rank 0 {", "<x ", "!", "&a ")
LARGEST = 200_000
"""Characters of a mutant, about."""
_TOKEN = re.compile(r"[A-Za-z_]+|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def mutated(text: str, draw: Random, others: tuple[str, ...] = ()) -> str:
    """A text after one to a few changes; parts of `others` may get into it."""
    for _ in range(min(8, 1 + int(draw.expovariate(0.7)))):
        change = draw.choice(_CHANGES)
        text = change(text, draw, others)[:LARGEST]
    return text


def _span(text: str, draw: Random, longest: int = 400) -> tuple[int, int]:
    begin = draw.randrange(len(text) + 1)
    return begin, min(len(text), begin + draw.choice((1, 2, 8, 40, longest)))


def _bits(text: str, draw: Random, _: tuple[str, ...]) -> str:
    data = bytearray(text.encode("utf-8", "replace"))
    for _ in range(draw.choice((1, 1, 3, 20)) if data else 0):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return data.decode("utf-8", "replace")


def _cut(text: str, draw: Random, _: tuple[str, ...]) -> str:
    begin, end = _span(text, draw)
    return text[:begin] if draw.random() < 0.3 else text[:begin] + text[end:]


def _double(text: str, draw: Random, _: tuple[str, ...]) -> str:
    begin, end = _span(text, draw)
    times = draw.choice((2, 2, 3, 50, 5000))
    return text[:begin] + text[begin:end] * min(times, 1 + LARGEST // max(1, end - begin)) + text[end:]


def _swap(text: str, draw: Random, _: tuple[str, ...]) -> str:
    tokens = _TOKEN.findall(text)
    for _ in range(draw.choice((1, 2, 5)) if tokens else 0):
        i, j = draw.randrange(len(tokens)), draw.randrange(len(tokens))
        tokens[i], tokens[j] = (tokens[j], tokens[i]) if draw.random() < 0.5 else (tokens[j], tokens[j])
    return "".join(tokens)


def _number(text: str, draw: Random, _: tuple[str, ...]) -> str:
    places = list(_NUMBER.finditer(text))
    if not places:
        return text
    place = draw.choice(places)
    return text[: place.start()] + draw.choice(NUMBERS) + text[place.end() :]


def _word(text: str, draw: Random, _: tuple[str, ...]) -> str:
    begin, end = _span(text, draw)
    return text[:begin] + draw.choice(WORDS) + text[begin if draw.random() < 0.6 else end :]


def _nest(text: str, draw: Random, _: tuple[str, ...]) -> str:
    begin, _ = _span(text, draw)
    return text[:begin] + draw.choice(OPENING) * draw.choice((2, 60, 3000)) + text[begin:]


def _lines(text: str, draw: Random, _: tuple[str, ...]) -> str:
    lines = text.split("\n")
    i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
    how = draw.randrange(4)
    if how == 0:
        del lines[i]
    elif how == 1:
        lines.insert(j, lines[i])
    elif how == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines[i] = draw.choice(("  ", "\t", "> ", "node1: ", "# ", "2026-01-01T00:00:00 ")) + lines[i]
    return "\n".join(lines)


def _splice(text: str, draw: Random, others: tuple[str, ...]) -> str:
    other = draw.choice(others) if others else text
    (begin, end), place = _span(other, draw, 4000), draw.randrange(len(text) + 1)
    return text[:place] + other[begin:end] + text[place:]


_CHANGES = (_bits, _cut, _double, _swap, _number, _number, _number, _word, _word, _nest, _lines, _splice)
