"""Refusals of what somebody pastes, drops or opens, in the language of the visit.

Readers tell them in English, where no language is known. A catalogue has a text `refusal.SENTENCE` for each, with `{}`
where the English one has a name or a number, and `{0}`, `{1}` for these in its own; what fills a place may be such a
sentence itself, or a list of what may be given.
"""

import re
from functools import cache, lru_cache

from ui.refused import PREFIX
from ui.text import ENGLISH, catalogue, spoken

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
    for pattern, commas in (("(; )", {"; ": "；"}), (r"(, | or (?=an? |the ))", {", ": "、", " or ": "或"})):
        first, *more = re.split(pattern, message)
        said = [_said(part, language, deep - 1) for part in (first, *more[1::2])] if deep and more else [""]
        if all(said):
            return said[0] + "".join(f"{commas[comma]}{part}" for comma, part in zip(more[::2], said[1:], strict=True))
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
