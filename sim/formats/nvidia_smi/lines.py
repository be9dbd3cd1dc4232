"""The words of every line, whatever a table was pasted through: prefixes, wraps, commas, Markdown, glued columns."""

import csv
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from sim.base.pasted import PastedLine, pasted_lines

TITLES = (
    (re.compile(r"GPU\s{0,9}NUMA\s{0,9}ID"), " @gpu "),
    (re.compile(r"CPU\s{0,9}Affinity"), " @cpu "),
    (re.compile(r"NUMA\s{0,9}Affinity"), " @numa "),
)
"""Titles of affinities, and the word each becomes."""
ONE_DEVICE = re.compile(r"GPU\d+|NIC\d+|mlx\d+_(?:bond_)?\d+")
_RULE = re.compile(r"[-=+:─┼|│]+")
_HEADER_CSV = re.compile(r"GPU\d{1,4}\"?\s{0,9}([,;])\s{0,9}\"?GPU\d")
_SEVERAL = 3
"""Lines of one width that are no chance."""
_CELL = re.compile(r"NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|X(?!\w)")
_DEVICE = re.compile(r"(?!V\d)[A-Za-z][\w.\-]*\d[\w.\-]*")
_WORD = re.compile(
    r"NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|X|N/A|-1|\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*,?|CPU|GPU|NUMA|Affinity|ID"
    r"|(?:GPU|NIC)\d+|mlx\d+_(?:bond_)?\d+"
)
"""What stands in a table: a cell, a list of processors, a word of a title, a name."""
_NARROWEST = 40
"""Narrower terminals wrap nothing that can be told from short lines."""
_BEGINS = re.compile(r"(?:GPU|NIC|mlx)\d|Legend|NIC Legend|```")


class WordLine(NamedTuple):
    """One line of a table: its number, its words, and whether it is one of several that are as wide as any."""

    number: int
    words: list[str]
    full: bool


@lru_cache(maxsize=2)
def word_lines(text: str) -> list[WordLine]:
    """The words of every line; affinity titles become `@cpu`, `@numa`, `@gpu`. Several hosts come one after another."""
    pasted = pasted_lines(text)
    order = {source: at for at, source in enumerate(dict.fromkeys(line.source for line in pasted if line.source))}
    if len(order) > 1:
        pasted = sorted(pasted, key=lambda line: order.get(line.source, -1))
    physical = text.splitlines()
    widest = max(map(_width, physical), default=0)
    joined = list(_unwrapped(pasted, physical, widest if widest >= _NARROWEST else 0))
    separator = next((mark[1] for line in joined if (mark := _HEADER_CSV.search(line.text))), "")
    texts = list(_from_csv(joined, separator)) if separator else [line.text for line in joined]
    full = _full(physical)
    return _unled(
        [WordLine(line.number, _words(text), line.number in full) for line, text in zip(joined, texts, strict=True)]
    )


def _full(physical: list[str]) -> set[int]:
    """The numbers of lines where something may be cut off: several are as wide as any is, with tabs or without."""
    full: set[int] = set()
    for width in (len, _width):
        widths = list(map(width, physical))
        most = max(widths, default=0)
        widest = [number for number, wide in enumerate(widths, 1) if wide == most]
        full |= set(widest) if len(widest) >= _SEVERAL and most >= _NARROWEST else set()
    return full


def _unwrapped(lines: list[PastedLine], physical: list[str], widest: int) -> Iterator[PastedLine]:
    """Lines put together where a terminal broke them inside a word.

    Editors break at blanks and leave them out, terminals wherever their last column is: where one break is inside a
    word, or a blank follows one, no break is an editor's.
    """
    breaks = {i for i in range(len(lines) - 1) if widest and _is_break(lines[i], lines[i + 1], physical, widest)}
    inside = any(
        physical[lines[i + 1].number - 1][0].isspace() or _inside_word(lines[i].text, lines[i + 1].text) for i in breaks
    )
    i = 0
    while i < len(lines):
        line = lines[i]
        while inside and i in breaks and _no_blank(lines[i], lines[i + 1], physical):
            i += 1
            line = line._replace(text=line.text + lines[i].text)
        yield line
        i += 1


def _width(line: str) -> int:
    return len(line.expandtabs())


def _is_break(line: PastedLine, following: PastedLine, physical: list[str], widest: int) -> bool:
    """Whether a line goes on in the next one: it is as wide as can be, and the next begins nothing of its own."""
    words = following.text.split()[:2]
    if following.number != line.number + 1 or not words or _width(physical[line.number - 1]) != widest:
        return False
    row = _DEVICE.fullmatch(words[0]) is not None and len(words) > 1 and _CELL.match(words[1]) is not None
    return not row and not _BEGINS.match(following.text) and not physical[line.number - 1].endswith(("|", "│"))


def _no_blank(line: PastedLine, following: PastedLine, physical: list[str]) -> bool:
    return not physical[line.number - 1][-1].isspace() and not physical[following.number - 1][0].isspace()


def _inside_word(line: str, following: str) -> bool:
    """Whether what a break left on either side is no word of its own, but both together are."""
    before, after = line.split()[-1:], following.split()[:1]
    if not before or not after or (_WORD.fullmatch(before[0]) and _WORD.fullmatch(after[0])):
        return False
    return _WORD.fullmatch(before[0] + after[0]) is not None


def _from_csv(lines: list[PastedLine], separator: str) -> Iterator[str]:
    """Lines of a spreadsheet as if blanks kept their cells apart; CPU lists that nobody quoted are put together."""
    width = 0
    for line in lines:
        cells = next(csv.reader([line.text.replace("\t", " ")], delimiter=separator), [])
        cells = [cell.strip() for cell in cells]
        if not width and _HEADER_CSV.search(line.text):
            width = len(cells) + bool(cells and ONE_DEVICE.fullmatch(cells[0]))
        more = len(cells) - width
        at = next((i for i, cell in enumerate(cells) if i and re.match(r"\d", cell)), 0)
        if width and more > 0 and at and not any(cells[width:]):
            more = 0
        if width and more > 0 and at:
            cells[at : at + more + 1] = [",".join(cells[at : at + more + 1])]
        yield " ".join(cell.replace(", ", ",") for cell in cells)


def _words(line: str) -> list[str]:
    line = line.replace("|", " ").replace("│", " ").replace('"', " ")
    for title, word in TITLES:
        line = title.sub(word, line)
    line = re.sub(r"(?<=\d),\s{1,9}(?=\d)", ",", line.replace("N/A", " N/A ").replace("…", "..."))
    line = re.sub(r"(?<=\d) - (?=\d)", "-", line)
    return [word for word in line.split() if not _RULE.fullmatch(word)]


def _unled(lines: list[WordLine]) -> list[WordLine]:
    """The lines without a word that stands in front of a header and of the row below it: a prefix of a kind unknown."""
    full = [line for line in lines if line.words]
    leads: set[str] = set()
    for line, following in pairwise(full):
        gpu = next((i for i, word in enumerate(line.words) if ONE_DEVICE.match(word) or word[0] == "@"), 0)
        header = not any(_CELL.fullmatch(word) for word in line.words[gpu:])
        if header and line.words[:gpu] == following.words[:gpu]:
            leads |= set(line.words[:gpu])
    if not leads:
        return lines
    return [line._replace(words=line.words[_led(line.words, leads) :]) for line in lines]


def _led(words: list[str], leads: set[str]) -> int:
    return next((i for i, word in enumerate(words) if word not in leads), len(words))
