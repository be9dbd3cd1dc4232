"""Lines as people paste them, without what launchers, logs, terminals, mail and editors put in front of each.

Every pattern is tried where the line begins and gives nothing back (possessive quantifiers, bounded repeats), and each
round takes a prefix off: the time is linear in the text, whatever it holds.
"""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

MOST_PREFIXES = 12
"""More in front of one line are no prefixes."""

_ESCAPE = re.compile(r"(?:\x1b|␛|\^\[|\\e|\\x1b|\\033|\\u001b)\[[0-?]*+[ -/]*+[@-~]|\[\d{1,2}(?:;\d{1,2}){0,4}m")
_LETTERS = str.maketrans(
    dict.fromkeys("‐‑‒–—―−﹣－", "-")
    | dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\ufffd*`\\")
    | dict.fromkeys("\u00a0\u2007\u202f\u3000", " ")
    | dict.fromkeys("×✕✖", "X")
    | {chr(ord(letter) + 0xFEE0): letter for letter in map(chr, range(0x21, 0x7F))}
)
"""Dashes, blanks, crosses and wide letters that editors put for plain ones; what Markdown, terminals and byte order
marks leave behind."""
_STRING = re.compile(
    r"""\s{0,80}(?:-\s{1,8})?(?:["']?[\w.@/-]{1,80}["']?\s?[:=]\s?)?"""
    r"""b?(?:"((?:[^"\\]|\\.)*+)"|'((?:[^'\\]|\\.)*+)')\s{0,8}[,)\]};]?\s{0,8}\\?\s*+$"""
)
"""A string as JSON, YAML or Python writes it, perhaps under a name."""
_ENDS = frozenset("\"',)]};\\")
_OPENING = re.compile(
    r"""\s{0,80}(?:[\w.*:, \[\]()-]{0,80}[=:(,]\s{0,8}|return\s{1,8})?[rRbBfFuU]{0,2}(`(?!`)|\"{3}|'{3})"""
)
"""Where source code begins a string of several lines, as Go and Python write it."""
_CLOSING = re.compile(r"[\s,;)\]}+]*+$")
_CONTINUED = re.compile(r'(?:[^"\\]{0,80}")?+((?:[^"\\]|\\.)*+)$')
"""A line of a string of C that goes on in the next line."""
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")
_CONTROLS = {"n": "\n", "r": "", "t": "\t", "e": "\x1b"}
_MESSAGES = ("log", "message", "MESSAGE", "msg", "text", "textPayload", "stdout", "line")
"""What loggers call a message in an object of JSON."""
_BREAK = re.compile(r"<(?:br\s?/?|/p|/tr|/div|/li|/pre)>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:p|br|tr|td|th|thead|tbody|table|div|span|pre|code|tt|samp|kbd|b|i|u|em|strong|font|li|ul|ol|a)"
    r"(?:\s[^<>]{0,200})?/?>|</stdout>",
    re.IGNORECASE,
)
_MARGIN = re.compile(r"(?:[\s>#|│┃]|//|[-+•](?=\s))++")
"""Blanks, quotes, comments, bars, lists and the marks of a diff."""

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_NO_DEVICE = r"(?!GPU[\d\[]|NIC\d|mlx\d)"
_WORD = r"[A-Za-z_][\w.@/~+=-]*+"
_PREFIXES = {
    "<": (r"<(?:stdout|stderr)[^<>]{0,80}>:?",),
    "[": (
        # Open MPI --tag-output, PRRTE
        r"(?P<source>\[[^\[\]<>\s]{1,200}\](?:\[[^\[\]<>\s]{1,200}\])?)<std(?:out|err|diag)[^<>]{0,40}>:?",
        # torchrun, kubectl logs --prefix
        r"(?P<source>\[(?:rank|default|trainer|worker|pod/)[^\[\]\s]{0,200}\])(?::|(?=[\s#]))",
        r"\[[^\[\]]{1,120}\](?::|(?=[\s#]))",
    ),
    ":": (r":[a-z]{2,16}:",),  # roles of reStructuredText
    "(": (r"(?P<source>\([^()=]{1,80}=[^()]{0,160}\))(?=[\s\[])",),  # SkyPilot, Ray
    "0": (
        r"\d{4}[-/]\d{2}[-/]\d{2}(?:[T ]\s?\d{2}:\d{2}(?::\d{2})?(?:[.,]\d{1,9})?(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2}))?)?"
        r"(?=[\s:,|\[(]|$)[:,]?",
        r"\d{8}T\d{6}Z?(?=\s)",
        r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:\s[AP]M)?(?=[\s,|\[(]|:(?!\d)|$)[:,]?",
        r"\d{9,10}\.\d{1,9}(?=\s)",
        # srun -l, grep -n, numbered lists; never the domain of a PCI address
        r"\d{1,7}(?:\.\d{1,4}(?=:))?(?:[:)](?![0-9a-fA-F]{2}(?::[0-9a-fA-F]{2})?\.)|\.(?=\s)|-(?!\d))",
    ),
    "a": (
        # ctime, syslog
        rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\s{{1,2}})?{_MONTH}\s{{1,2}}\d{{1,2}}\s\d{{2}}:\d{{2}}:\d{{2}}"
        r"(?:[.,]\d{1,9})?(?:\s(?:[A-Z]{3,4}\s)?(?:19|20)\d{2}(?![\d/-]))?:?",
        r"[IWEF]\d{4}\s\d{2}:\d{2}:\d{2}\.\d{1,9}\s{1,8}\d{1,8}\s[^\s\]]{1,120}\]",  # glog
        r"(?P<source>[\w.-]{1,120}+\s[\w./()-]{1,120}+\[\d{1,8}\]:)(?=\s|$)",  # journalctl
        r"[\w./~+-]{0,200}[./][\w~+-]{1,80}:\d{1,7}(?::(?![0-9a-fA-F]{2}(?::[0-9a-fA-F]{2})?\.)|-(?!\d))",  # grep -Hn
        r"[\w/~+-]{1,200}+\.(?:txt|log|out|md)[:-]",
        # pdsh, clush
        rf"(?P<source>{_NO_DEVICE}{_WORD}(?:\[[\w,.-]{{0,80}}\])?+)(?::\d{{1,7}}){{0,2}}+:(?=[\s#]|$)",
    ),
    "|": (
        rf"(?P<source>{_NO_DEVICE}{_WORD})\s{{0,40}}+[|│](?=\s{{1,80}}\S)",
        r"\d{1,7}\s{0,8}+[|│](?=\s{1,80}\S)",
    ),  # docker compose, bat
}
"""What may stand in front, by the character it begins with: `0` any digit, `a` any letter, `|` where there is but one
bar. `source` is the part that tells who wrote the line."""
_COMPILED = {begin: tuple(re.compile(pattern) for pattern in patterns) for begin, patterns in _PREFIXES.items()}
_SEVERAL = 3
"""Lines that begin with one word and a colon because a launcher wrote it there; fewer may be keys."""
_QUOTED = re.compile(r">(?: ?>){0,9}")
_OPENS, _CLOSES, _AROUND = ("{", "["), ("}", "]"), "\ufeff \t\r\n"
_LEVELS = {"INFO", "WARN", "WARNING", "ERROR", "DEBUG", "NOTICE", "STDOUT", "STDERR", "OUT", "ERR"}
NO_WORDS = {"N/A", "NAN", "INF", "-", "X"}
"""What stands for a number, or for none, in a table of numbers whose rows are numbered too."""
_COUNTER = re.compile(r"(\d{1,6})(?:\s|$)")


class PastedLine(NamedTuple):
    """One line: its number from 1 on, who wrote it where a launcher told (a host, a rank), and what was written."""

    number: int
    source: str
    text: str


def pasted_lines(text: str) -> list[PastedLine]:
    r"""The lines of a text without what stands in front of them, whoever put it there.

    Page breaks and entities of HTML, escape codes, dashes and blanks of word processors become what they stand for.

    >>> [line.text for line in pasted_lines("[1,0]<stdout>:  8  2\n2025-09-01T10:11:12Z node7: 8  2\n> &nbsp;8<br>2")]
    ['8  2', '8  2', '8', '2']
    """
    lines = [PastedLine(number, *(_unprefixed(_plain(part)) if part else ("", ""))) for number, part in _parts(text)]
    return _uncounted(lines)


def bare_json(text: str) -> str:
    r"""Return a document of JSON without what stands in front of its lines and around it; its lines keep their numbers.

    >>> bare_json("here it is:\n> {\n>   \"a\": 1\n> }\nBye")
    '\n{\n"a": 1\n}'
    """
    plain = text.strip(_AROUND)
    if plain[:1] in _OPENS and plain[-1:] in _CLOSES and _prefix(plain[:400], 0, one_bar=False) is None:
        return text.lstrip("\ufeff")
    lines = [_unprefixed(line)[1] for line in text.lstrip("\ufeff").splitlines()]
    first = next((i for i, line in enumerate(lines) if line[:1] in _OPENS), 0)
    last = max((i for i, line in enumerate(lines) if line.rstrip(",")[-1:] in _CLOSES), default=len(lines))
    return "\n" * first + "\n".join(lines[first : last + 1])


def bare_lines(text: str) -> str:
    r"""Return a text whose indentation matters without a mail's or a log's marks on every line, and out of a fence.

    Lines keep their numbers. What only some lines begin with is left, as it may be the text's own.

    >>> bare_lines("> ```yaml\n> a:\n>   b: 1\n> ```")
    '\na:\n  b: 1\n'
    """
    lines = text.lstrip("\ufeff").split("\n")
    for _ in range(MOST_PREFIXES):
        marks = _marks(lines)
        if not marks:
            break
        lines = [line[mark:].removeprefix(" ") for line, mark in zip(lines, marks, strict=True)]
    fences = [i for i, line in enumerate(lines) if line[:3] in ("```", "~~~")]
    if len(fences) > 1:
        lines = [line if fences[0] < i < fences[1] else "" for i, line in enumerate(lines[: fences[1] + 1])]
    return "\n".join(lines)


def _marks(lines: list[str]) -> list[int]:
    """Where each line goes on behind what all lines have in front; nothing where one has nothing, or another word."""
    ends, words = [], set()
    for line in lines:
        if not line.strip():
            ends.append(len(line))
            continue
        mark = _QUOTED.match(line) or _prefix(line, 0, one_bar=False)
        if mark is None:
            return []
        words.add(re.sub(r"\d", "0", mark[0]) if mark[0][0].isalpha() else "")
        if len(words) > 1:
            return []
        ends.append(mark.end())
    few = sum(map(bool, map(str.strip, lines))) < _SEVERAL
    return ends if words and not (few and words != {""}) else []


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Physical lines, and those that tags of a page make of one."""
    page = "<" in text or "&" in text
    for number, line in _said(text):
        if not page:
            yield number, line
            continue
        for part in _BREAK.split(unescape(line) if "&" in line else line):
            yield number, _TAG.sub(" ", part) if "<" in part else part


def _said(text: str) -> Iterator[tuple[int, str]]:
    """Physical lines, and those of strings that a log or a program wrote down as such."""
    lines = _in_source(text.splitlines())
    shown = len(lines) > 1 and all(line.endswith("$") for line in lines)  # as `cat -A` does
    for number, line in enumerate(lines, 1):
        string = _STRING.match(line) if line.rstrip()[-1:] in _ENDS else None
        if string:
            for part in _unescaped(string[1] or string[2] or "").splitlines() or [""]:
                yield number, part
        elif line.lstrip()[:1] == "{" and (message := _message(line)) is not None:
            for part in message.splitlines() or [""]:
                yield number, part
        else:
            line = line.removesuffix("$").removesuffix("^M") if shown else line
            if line.endswith("\\n\\") and (continued := _CONTINUED.match(line[:-3])):
                line = _unescaped(continued[1])
            yield number, line.replace("^I", "\t") if "^I" in line else line


def _in_source(lines: list[str]) -> list[str]:
    """The lines without the code around strings of several lines."""
    last = {mark: max((i for i, line in enumerate(lines) if mark in line), default=-1) for mark in ("`", '"""', "'''")}
    if max(last.values()) < 1:
        return lines
    plain, closing = list(lines), ""
    for i, line in enumerate(lines):
        opening = None if closing else _OPENING.match(line)
        if opening and i < last[opening[1]] and opening[1] not in line[opening.end() :]:
            closing, plain[i] = opening[1], line[opening.end() :]
        elif closing and closing in line:
            inside, _, behind = line.partition(closing)
            plain[i] = inside if _CLOSING.match(behind) else line
            closing = ""
    return plain


def _message(line: str) -> str | None:
    """What a logger's object of JSON says."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return next((entry[key] for key in _MESSAGES if isinstance(entry.get(key), str)), None)


def _unescaped(string: str) -> str:
    def plain(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2]
        return chr(int(code, 16)) if code else _CONTROLS.get(escape[3], escape[3])

    return _ESCAPED.sub(plain, string) if "\\" in string else string


def _plain(line: str) -> str:
    """A line in the letters that tools print."""
    if "[" in line:
        line = _ESCAPE.sub("", line)
    return line if line.isascii() and not any(mark in line for mark in "*`\\") else line.translate(_LETTERS)


def _unprefixed(line: str) -> tuple[str, str]:
    """Who wrote a line, and the line without its prefixes."""
    sources: list[str] = []
    at, bars = 0, line.count("|") + line.count("│")
    for _ in range(MOST_PREFIXES):
        margin = _MARGIN.match(line, at)
        at = margin.end() if margin else at
        prefix = _prefix(line, at, one_bar=bars - line.count("|", 0, at) - line.count("│", 0, at) == 1)
        if prefix is None:
            break
        source = prefix.groupdict().get("source") or ""
        at = prefix.end()
        if source and source.upper() not in _LEVELS and line[at:].strip():
            sources.append(source)
    return " ".join(sources), line[at:].rstrip()


def _prefix(line: str, at: int, *, one_bar: bool) -> re.Match[str] | None:
    """What stands in front from a place on, if anything does."""
    first = line[at : at + 1]
    if not first:
        return None
    kind = "0" if first.isdecimal() else "a" if first.isalpha() or first == "_" else first
    kinds = (*_COMPILED.get(kind, ()), *(_COMPILED["|"] if one_bar and kind in "0a" else ()))
    return next((match for pattern in kinds if (match := pattern.match(line, at))), None)


def _uncounted(lines: list[PastedLine]) -> list[PastedLine]:
    """The lines without the bare numbers that count them, as `cat -n` and `nl` print."""
    uncounted = list(lines)
    full = [i for i, line in enumerate(lines) if line.text]
    counters = [_COUNTER.match(lines[i].text) for i in full]
    begin = 0
    while begin < len(full):
        end = begin + 1
        while end < len(full) and _follows(lines, full[end - 1], counters[end - 1], full[end], counters[end]):
            end += 1
        if end - begin > 1 and _numbered([lines[i].text for i in full[max(0, begin - 1) : end]], headed=begin > 0):
            for i in full[begin:end]:
                source, text = _unprefixed(_COUNTER.sub("", lines[i].text, count=1))
                uncounted[i] = PastedLine(lines[i].number, " ".join(filter(None, (lines[i].source, source))), text)
        begin = end
    return uncounted


def _numbered(texts: list[str], *, headed: bool) -> bool:
    """Whether lines that count up are numbered lines: with words after the number, and none from a header above."""
    above = set(texts[0].split()) if headed else set()
    seconds = [word for text in texts[headed:] for word in text.split()[1:2]]
    words = [word for word in seconds if not word[0].isdecimal() and word.upper() not in NO_WORDS]
    return bool(words) and above.isdisjoint(words)


def _follows(
    lines: list[PastedLine], a: int, before: re.Match[str] | None, b: int, after: re.Match[str] | None
) -> bool:
    """Whether a line counts on from the one above it, blank ones counted or not."""
    step = int(after[1]) - int(before[1]) if before and after else 0
    return step == 1 or (step > 1 and step == lines[b].number - lines[a].number)
