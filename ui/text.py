"""Every word a person reads, by id; one catalogue per language in `assets/text`.

A text that a language lacks is told in English, and one that English lacks by its own id, so that something new needs
no text to be shown. `python -m ui.text` lists what is missing.
"""

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from sim.errors import Message, ReportedError, english_texts
from sim.registry import Registry

FOLDER = Path(__file__).parents[1] / "assets" / "text"
ENGLISH = "en"
_OUTSIDE = ContextVar("_OUTSIDE", default=ENGLISH)
ERROR = "error."
"""How the id of an error's text begins in the catalogue of a language that is not English."""
NAME = "name."
"""How the id of what people call a thing begins."""
PARTS = ("title", "help", "label", "intro")
"""Ends of ids that say which part of a thing a text is."""


@cache
def written(language: str) -> dict[str, str]:
    """The texts of a language's own file by id. Raises KeyError for a language without a file that can be read."""
    if language not in languages():
        raise KeyError(language)
    texts: dict[str, str] = json.loads((FOLDER / f"{language}.json").read_text(encoding="utf-8"))
    return texts


def fault(path: Path) -> str:
    """What is wrong with a language's file, in a sentence; nothing where it is texts by id."""
    try:
        texts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"{path.name} cannot be read: {error}"
    if not isinstance(texts, dict):
        return f"{path.name} holds no texts by id: write it as the others are"
    wrong = next((key for key, text in texts.items() if not isinstance(text, str)), None)
    return "" if wrong is None else f"{path.name}: {wrong[:40]!r} is no text: put it in quotes"


@cache
def catalogue(language: str) -> dict[str, str]:
    """All texts of a language by id, in English where it has none of its own. Raises KeyError for an unknown one."""
    return written(ENGLISH) | written(language)


@cache
def _errors(language: str) -> dict[str, str]:
    """The texts of errors, and names, that a language has of its own, by id; English ones are `sim.errors`' own."""
    return {key.removeprefix(ERROR): text for key, text in written(language).items() if key.startswith((ERROR, NAME))}


def worded(message: Message) -> str:
    """A message in the language of this visit."""
    return message.render(_errors(spoken()))


def retold(error: Exception) -> str:
    """Why something went wrong, in the language of this visit."""
    return worded(error.message) if isinstance(error, ReportedError) else str(error)


@cache
def languages() -> tuple[str, ...]:
    """The languages there are catalogues for; looked for once, as every text on a page asks.

    What cannot be read is none of them: a page goes on in the others, and the report tells why.
    """
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json") if not fault(path)))


def say(key: str, language: str = ENGLISH, **values: Any) -> str:
    """The text of an id with its placeholders filled in; without a text, what the id itself says.

    >>> say("page.wiring_plan.title")
    'Wiring plan'
    """
    texts = catalogue(language)
    if key not in texts:
        return _spelled(key)
    try:
        return texts[key].format(**values)
    except (KeyError, IndexError, ValueError, AttributeError):
        if texts[key] == written(ENGLISH).get(key):
            raise
    return written(ENGLISH).get(key, _spelled(key)).format(**values)  # than a text that cannot be filled in


def _spelled(key: str) -> str:
    """The telling word of an id, as a person would write it."""
    words = key.split(".")
    word = words[-2] if words[-1] in PARTS and len(words) > 1 else words[-1]
    return word.replace("_", " ").capitalize()


def spaced(text: str) -> str:
    """A sentence put together from parts, with one space between Chinese and Latin letters and none before a stop.

    >>> spaced("rank 0 把块 1发送给rank 1 ，由后者相加")
    'rank 0 把块 1 发送给 rank 1，由后者相加'
    """
    if text.isascii():
        return text
    text = re.sub(r"(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u4e00-\u9fff])", " ", text)
    return re.sub(r" +(?=[，。；：、）])", "", text)


_MARKS = re.compile(r"[\\\\`*\[\]<>$~|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=[\w+-]+[:\[])|^(?=[#+\-=])|(?<=^\d)[.)]")
_ADDRESSES = re.compile(r"(?=://)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
APART = "\u200b"
"""A space without a width."""


def plain(text: str) -> str:
    r"""A text of somebody else's, so that Markdown shows it letter by letter: no picture, link, sign or formula of it.

    What looks like an address would become a link even so, unless something invisible stands in it.

    >>> plain("![x](http://evil.example/x.png) 2*3_4")
    '!\\[x\\](http\u200b://evil.example/x.png) 2\\*3_4'
    """
    return _letter_by_letter(" ".join(text.split()))


def prose(text: str) -> str:
    r"""A sentence that may quote somebody: as `plain`, and what stands in backticks is code.

    >>> prose("give *me* the output of `nvidia-smi topo -m`")
    'give \\*me\\* the output of `nvidia-smi topo -m`'
    """
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if k % 2 else _letter_by_letter(part) for k, part in enumerate(parts))


def _letter_by_letter(line: str) -> str:
    return _ADDRESSES.sub(APART, _MARKS.sub(lambda mark: f"\\{mark[0]}", line))


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Have this be the language that is spoken outside of visits."""
    before = _OUTSIDE.set(language)
    try:
        yield
    finally:
        _OUTSIDE.reset(before)


def spoken() -> str:
    """The language of this visit: the one its address says, else the browser's, else English."""
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return _OUTSIDE.get()
    return named_by(context.query_string, getattr(context.context_info, "locale", ""))


@lru_cache(64)
def named_by(address: str, locale: str) -> str:
    """The language that an address names, or a browser's locale; every text on a page asks, and hundreds stand on one.

    >>> named_by("page=learn&lang=en", "zh-CN"), named_by("page=learn", "zh-CN"), named_by("lang=tlh", "fr-FR")
    ('en', 'zh', 'en')
    """
    language = parse_qs(address, keep_blank_values=True).get("lang", [locale.split("-")[0].lower()])[-1]
    return language if language in languages() else ENGLISH


def language_names() -> dict[str, str]:
    """What every language calls itself."""
    return {language: written(language).get("page.language.own", language) for language in languages()}


def tell(key: str, **values: Any) -> str:
    """The text of an id in the language of this visit."""
    return say(key, spoken(), **values)


def tell_or(key: str, english: str, **values: Any) -> str:
    """The text of an id in the language of this visit, or this one where no catalogue has it."""
    return tell(key, **values) if key in catalogue(spoken()) else english.format(**values)


def summary(name: str, english: str) -> str:
    """What an algorithm, collective, machine or fault does, in the language of this visit.

    English stands in the thing itself; other catalogues may have `summary.NAME`, one for a collective and its v form.
    """
    words = catalogue(spoken())
    return words.get(f"summary.{name}") or words.get(f"summary.{name.replace('v.', '.', 1).removesuffix('v')}", english)


def titled(kind: str, name: str) -> str:
    """What people call an algorithm, collective or machine, inside a sentence in the language of this visit.

    English stands in the thing itself; other catalogues may have `name.KIND.NAME`, one for the algorithms of a name.
    """
    from ops import ALGORITHMS
    from ops.collectives import COLLECTIVES
    from sim.machines import MACHINES

    lists: dict[str, Registry[Any]] = {"algorithm": ALGORITHMS, "collective": COLLECTIVES, "machine": MACHINES}
    return catalogue(spoken()).get(f"{NAME}{kind}.{name.rpartition('.')[2]}") or lists[kind].title(name)


def things() -> dict[str, str]:
    """Ids of the texts that registries ask for, each with what is told where no catalogue has it."""
    from ops import ALGORITHMS
    from ops.collectives import COLLECTIVES
    from ops.ladder import TASKS
    from sim.faults.edits import EDITS
    from sim.faults.kinds import FAULTS
    from sim.machines import MACHINES
    from ui.lessons import LESSONS

    lists = (ALGORITHMS, COLLECTIVES, MACHINES, FAULTS, EDITS)
    plain = {name: english.summary(name) for english in lists for name in english if not _uneven(name)}
    lessons = [words for lesson in LESSONS.values() for words in lesson.words().items()]
    uses = {f"use.{name}": entry.use for name, entry in COLLECTIVES.items() if entry.use and not entry.vector}
    offered = {
        f"offer.{name}.{o.key}": o.text
        for name, kind in [*FAULTS.items(), *EDITS.items()]
        for o in kind.offers
        if o.text
    }
    goals = {f"task.{name}": task.goal for name, task in TASKS.items()}
    goals |= {f"task.{name}.because": task.because for name, task in TASKS.items()}
    kinds: dict[str, Registry[Any]] = {"algorithm": ALGORITHMS, "collective": COLLECTIVES, "machine": MACHINES}
    names = {
        f"name.{kind}.{name.rpartition('.')[2]}": entries.title(name)
        for kind, entries in kinds.items()
        for name in entries
    }
    summaries = {f"summary.{name}": english for name, english in plain.items()}
    return summaries | dict(lessons) | offered | uses | goals | names


def _uneven(name: str) -> bool:
    """Whether it is a form for unequal blocks, whose text is that for equal ones."""
    from ops.collectives import COLLECTIVES

    collective = name.partition(".")[0]
    return collective in COLLECTIVES and COLLECTIVES[collective].vector


def asked_for() -> set[str]:
    """Ids that the dashboard's own lines ask for by name."""
    files = [path for path in Path(__file__).parent.rglob("*.py") if path != Path(__file__)]
    code = "".join(path.read_text(encoding="utf-8") for path in files)
    return set(re.findall(r"\b(?:tell|say)\(\s*\"([\w.]+)\"", code))


def missing(language: str) -> dict[str, str]:
    """Ids that a language has no text for, with what is told instead."""
    from sim.faults.edits import EDITS
    from sim.faults.kinds import FAULTS
    from ui.lessons import LESSONS
    from ui.pages import PAGES

    labels = [f"fault.{name}" for name in FAULTS] + [f"edit.{name}" for name in EDITS]
    labels += [f"page.{name}.title" for name in PAGES]
    labels += [f"lesson.{name}.title" for name in LESSONS]
    texts = {key: say(key) for key in [*labels, *(asked_for() - written(ENGLISH).keys())]} | written(ENGLISH)
    if language != ENGLISH:
        texts |= things() | {f"{ERROR}{key}": text for key, text in english_texts().items()}
    return {key: text for key, text in texts.items() if key not in written(language)}


def report() -> Iterator[str]:
    """A paragraph per language: what it lacks, and what is told instead."""
    yield from filter(None, map(fault, sorted(FOLDER.glob("*.json"))))
    for language in languages():
        lacking = missing(language)
        yield f"{language}: {len(lacking) or 'no'} texts missing"
        yield from (f"  {key}: {text}" for key, text in sorted(lacking.items()))


if __name__ == "__main__":
    from sim.registry import one_sentence

    logging.disable(logging.WARNING)  # streamlit misses a page to be asked by
    with one_sentence():
        sys.stdout.write("\n".join(report()) + "\n")
