"""Refusals of what somebody pastes, drops or opens, in the language of the visit.

Readers tell them in English, where no language is known. A catalogue has a text `refusal.SENTENCE` for each, with `{}`
where the English one has a name or a number, and `{0}`, `{1}` for these in its own; what fills a place may be such a
sentence itself, or a list of what may be given.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from ui.text import ENGLISH, catalogue, spoken

ROOT = Path(__file__).parents[1]
READERS = (
    "sim/base/formats.py",
    "sim/base/textfile.py",
    "sim/base/xml.py",
    "sim/base/yaml.py",
    "sim/edits",
    "sim/formats",
    "sim/perturbation/helpers.py",
    "sim/registry.py",
    "sim/topology/networks.py",
    "sim/topology/pair_rates.py",
    "sim/trouble",
    "sim/units.py",
    "ops/formats",
    "ops/measured/files.py",
    "ops/measured/formats",
    "ops/registry.py",
)
"""Where what people bring is read, and what they name is looked up."""
TELLING = ("InputError", "refuse")
"""What is called with the sentence of a refusal."""
NOT_READ = ("writer.py", "layout.py", "tasks.py")
"""Files among these that write: nothing that is brought is refused there."""
PREFIX = "refusal."
DEEPEST = 4
"""Sentences within sentences."""
PROSE = re.compile(r"[a-z]{2,} [a-z]{2,}")
"""Words of English, which no sentence in another language has: half of each would be worse than either."""
ASIDE = re.compile(r"`[^`]*`|'[^']*'|（[^（）]*）")
"""What may be in any language: what is quoted, and a parser's own reason in brackets."""
GLUE = 6
"""Letters, at most, of a sentence that joins others, like `{}, line {}: {}`: no sentence where the last is none."""


def retold(error: Exception) -> str:
    """Why something was refused, in the language of this visit; in English where that has no words for it."""
    return in_language(str(error), spoken())


@lru_cache(maxsize=256)
def in_language(message: str, language: str) -> str:
    """A refusal in a language.

    >>> in_language("cut.txt, line 3: row GPU1 is there twice: paste one table", "zh")
    'cut.txt 第 3 行：GPU1 这一行出现了两次：请只粘贴一张表'
    """
    if language == ENGLISH:
        return message
    return _said(message, language, DEEPEST) or message


def _said(message: str, language: str, deep: int) -> str:
    """A sentence in a language, or nothing where there is none for it."""
    for pattern, text, joins in _patterns(language):
        match = pattern.fullmatch(message)
        if match:
            inside = [_said(part, language, deep - 1) if deep else "" for part in match.groups()]
            parts = [said or part for said, part in zip(inside, match.groups(), strict=True)]
            if (not joins or inside[-1]) and not PROSE.search(ASIDE.sub("", _filled(text, parts))):
                return _filled(text, parts)
    return _several(message, language, deep)


def _filled(text: str, parts: list[str]) -> str:
    return re.sub(r"\{(\d)\}", lambda place: parts[int(place[1])], text)


def _several(message: str, language: str, deep: int) -> str:
    """Several sentences, or a list of what may be given, where the language has all."""
    for pattern, comma, last in (("; ", "；", "；"), (r", | or (?=an? |the )", "、", "或")):
        parts = re.split(pattern, message)
        said = [_said(part, language, deep - 1) for part in parts] if deep and len(parts) > 1 else [""]
        if all(said):
            return f"{comma.join(said[:-1])}{last}{said[-1]}"
    return ""


@cache
def _patterns(language: str) -> list[tuple[re.Pattern[str], str, bool]]:
    """What sentences look like, what a language has for each, and whether it joins others; those first."""
    texts = {key.removeprefix(PREFIX): text for key, text in catalogue(language).items() if key.startswith(PREFIX)}
    joins = {sentence: "{}" in sentence and sum(map(str.isalpha, sentence)) <= GLUE for sentence in texts}
    by_length = sorted(texts, key=lambda sentence: (not joins[sentence], -len(sentence.replace("{}", ""))))
    return [
        (re.compile("(.*?)".join(map(re.escape, sentence.split("{}"))), re.DOTALL), texts[sentence], joins[sentence])
        for sentence in by_length
    ]


def refusals() -> dict[str, str]:
    """All refusals of readers, as their sources have them, and what these say may be given, by the id of their text."""
    from ops.formats import SCHEDULE_FORMATS
    from ops.measured.formats import MEASUREMENTS
    from sim.formats import FORMATS

    titles = [entry.title for formats in (FORMATS, SCHEDULE_FORMATS, MEASUREMENTS) for entry in formats.values()]
    refused = [sentence for path in _sources() for sentence in _refused(ast.parse(path.read_text(encoding="utf-8")))]
    return {PREFIX + sentence: sentence for sentence in [*titles, *refused] if re.search("[a-z]{2}", sentence)}


def _sources() -> Iterator[Path]:
    for name in READERS:
        path = ROOT / name
        yield from (
            each for each in sorted(path.rglob("*.py") if path.is_dir() else [path]) if each.name not in NOT_READ
        )


def _refused(tree: ast.AST) -> Iterator[str]:
    """The sentences that are given to what raises an InputError."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = str(getattr(node.func, "id", getattr(node.func, "attr", "")))
            if name.lstrip("_") in TELLING:
                yield from (words for argument in node.args for words in _worded(argument))


def _worded(node: ast.expr) -> list[str]:
    """What an expression may say, with braces for what it fills in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)]  # type: ignore[misc]
    if isinstance(node, ast.IfExp):
        return [*_worded(node.body), *_worded(node.orelse)]
    if isinstance(node, ast.BinOp):
        return [one + other for one in _worded(node.left) for other in _worded(node.right)]
    return []
