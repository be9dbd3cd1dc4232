"""All examples as a folder of pages that any file server can serve, and that ask nobody for anything."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from html import escape
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ops.plan.link import to_link
from ops.plan.plan_file import to_yaml
from sim.base import watch
from sim.base.files.whole_file import write_whole
from sim.errors import InputError
from ui.drawing.thumbnail import of_run
from ui.learning.runs import runs_of
from ui.lessons import LESSONS
from ui.plan.gallery import GROUPS, Exhibit
from ui.plan.subject import Played, read
from ui.player.component import Start, player_data, style
from ui.player.offers import offers
from ui.player.scripts import ASSETS, PLAYER, WITH_LESSONS, WITH_STORY, script
from ui.story import VIEW, telling
from ui.talk import lessons
from ui.text import ENGLISH, language_names, languages, say

ADDRESS = "http://localhost:8501/"
MARK = 'data-ringside="site"'
"""What a front page says that was written here."""

RECORD = "made.json"
"""What says which pages of a folder are whole."""
WRITTEN = (".py", ".json", ".js", ".css", ".html", ".yaml", ".svg", ".txt")
"""Endings of the files that a page may be made of."""

SCRIPTS = {"player": PLAYER, "lesson": WITH_LESSONS, "story": WITH_STORY}
"""The player's scripts by their names in the folder; a page needs one of them."""
Progress = Callable[[int, int], None]


def check(folder: Path, address: str = ADDRESS) -> None:
    """Raise InputError for a folder that holds something else or cannot be one, and for an address that is none."""
    if not address.startswith(("http://", "https://")):
        raise InputError("site.address", address=address, example=ADDRESS)
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError("site.is_file", folder=str(folder))
        front = folder / "index.html"
        ours = front.is_file() and MARK in front.read_text(encoding="utf-8", errors="replace")[:400]
        if folder.is_dir() and any(folder.iterdir()) and not ours:
            raise InputError("site.other_files", folder=str(folder))
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("site.unwritable", folder=str(folder), why=error.strerror) from None


def write(
    folder: Path,
    examples: Sequence[Exhibit],
    progress: Progress,
    address: str = ADDRESS,
    taught: Sequence[str] = (),
) -> int:
    """Write the site into a folder, with the story and the lessons of these names; returns how many files it has.

    What this program wrote there from the same example is left as it is, so that one that was interrupted goes on.
    Front pages lead to what is there at any time. Raises InputError.
    """
    runs = cache(runs_of)  # of lessons, which are the same in every language
    pages = _Pages(folder, examples, address, taught)
    pages.front()
    pages.put("site.css", (ASSETS / "site" / "site.css").read_text(encoding="utf-8"))
    pages.put("player.css", style())
    for name, module in SCRIPTS.items():
        code = f"const ringside = {script(module)};\n"
        pages.put(f"{name}.js", code.replace("</script", "<\\/script").replace("<!--", "<\\!--"))
    pages.put("keep.js", (ASSETS / "site" / "keep.js").read_text(encoding="utf-8"))
    for language in languages():
        pages.make(f"{language} story", "", partial(_first_minute, language))
    for done, example in enumerate(examples, 1):
        pages.make(example.name, example, partial(_files, example, address))
        progress(done, len(examples))
    for language, name in product(languages(), taught):
        pages.make(f"{language} {name}", name, partial(_lesson, language, name, runs))
    return len(pages.files | {RECORD})


class _Pages:
    """The pages of a folder, and a record of which are whole and from what: one enters it once all its files exist."""

    def __init__(self, folder: Path, examples: Sequence[Exhibit], address: str, taught: Sequence[str]) -> None:
        self.folder, self.examples, self.address, self.taught = folder, examples, address, taught
        self.files: set[str] = set()
        self._made: dict[str, Any] = {}
        with suppress(OSError, ValueError, TypeError):
            self._made = dict(json.loads((folder / RECORD).read_text(encoding="utf-8")))

    def put(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(str(path), text)
        self.files.add(name)

    def front(self) -> None:
        """Write the front pages, which lead to what is whole."""
        examples = [example for example in self.examples if self.whole(example.name, example)]
        for language in languages():
            lessons = [name for name in self.taught if self.whole(f"{language} {name}", name)]
            self.put(_at(language, "index.html"), _front(examples, language, self.address, lessons))

    def make(self, key: str, source: object, made: Callable[[], Iterable[tuple[str, str]]]) -> None:
        """Write a page's files unless they are whole and from the same source."""
        names = self.whole(key, source)
        if not names:
            watch.begin()
            names = []
            for name, text in made():
                self.put(name, text)
                names.append(name)
            self._made[key] = {"from": self._digest(source), "files": names}
            self.put(RECORD, json.dumps(self._made))
            self.front()
        self.files.update(names)

    def whole(self, key: str, source: object) -> list[str]:
        """Return the files of a page that is whole and from this source; none where it has to be made."""
        entry = self._made.get(key)
        if not isinstance(entry, dict) or entry.get("from") != self._digest(source):
            return []
        names = [str(name) for name in entry.get("files", [])]
        return names if all((self.folder / name).is_file() for name in names) else []

    def _digest(self, source: object) -> str:
        return hashlib.sha256(f"{_sources()} {self.address} {source!r}".encode()).hexdigest()


@cache
def _sources() -> str:
    """What this program consists of, as a hash: pages of another one are made again."""
    whole = hashlib.sha256()
    rooms = (*(Path(__file__).parents[2] / name for name in ("sim", "ops", "ui")), ASSETS)
    for file in sorted(file for room in rooms for file in room.rglob("*") if file.suffix in WRITTEN):
        whole.update(file.read_bytes())
    return whole.hexdigest()


def _first_minute(language: str) -> Iterator[tuple[str, str]]:
    """The story's page."""
    title = say("story.title", language)
    yield _at(language, "story.html"), _taught("story", title, _story(language), language)


def _lesson(language: str, name: str, runs: lessons.Runs) -> Iterator[tuple[str, str]]:
    """A lesson's page."""
    for place, title, data in _learned(language, [name], runs):
        yield _at(language, f"{place}.html"), _taught(place, title, data, language)


def _learned(language: str, taught: Sequence[str], runs: lessons.Runs) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Lessons: the name of each in the folder, what it is called, and what its page plays."""
    whole = lessons.packed(language, taught, runs_of=runs)
    for entry in whole["lessons"]:
        data = player_data([], language)
        shown = {run["id"] for step in entry["steps"] for run in step.get("runs", ())}
        every = {name: run for name, run in whole["all"].items() if name in shown}
        more = {"text": data["text"] | whole["text"], "all": every, "lessons": [entry]}
        yield f"lessons/{entry['name']}", entry["title"], data | more


def _story(language: str) -> dict[str, Any]:
    """The first minute, and the run on which it ends, behind it."""
    whole = telling.story(language)
    last = whole["runs"][whole["chapters"][-1]["run"]]
    data = player_data([last], language, Start(0.0, VIEW))
    words = whole["text"] | {"story.say.own": say("story.say.end", language)}  # no server takes a machine
    return data | {"story": {"number": 1, "told": whole | {"text": words}}}


def _taught(name: str, title: str, data: dict[str, Any], language: str) -> str:
    """A page of a lesson or of the story: what it is called, and all that it needs but the player's script."""
    top = "../" * _at(language, name).count("/")
    front = f"{'../' * name.count('/')}index.html"
    label = escape(say("examples.keep", language))
    keep = f'<button id="keep" data-file="{name.rpartition("/")[2]}.html">{label}</button>'
    back = f'<a href="{front}">{escape(say("examples.all", language))}</a>'
    tongues = _tongues(language, lambda other: f"{top}{_at(other, f'{name}.html')}")
    return _filled(
        "lesson.html",
        {
            "language": _tag(language),
            "title": escape(title),
            "ways": "\n".join([back, keep, *tongues]),
            "top": top,
            "script": "story" if name == "story" else "lesson",
            "data": json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),
        },
    )


def _files(exhibit: Exhibit, address: str) -> Iterator[tuple[str, str]]:
    """Everything of an example by its name in the folder."""
    played = read(exhibit.plan)[0]
    assert isinstance(played, Played), "a plan is a run"
    yield f"scenes/{exhibit.name}.svg", of_run(played.traces[0], exhibit.view, exhibit.title(ENGLISH))
    yield f"scenes/{exhibit.name}.yaml", to_yaml(exhibit.plan)
    query = urlencode(to_link(exhibit.plan) | {"view": exhibit.view})
    yield f"scenes/{exhibit.name}.ipynb", notebook(exhibit.title(ENGLISH), query)
    for language in languages():
        yield _at(language, f"scenes/{exhibit.name}.html"), _page(exhibit, played, language, address)


def _at(language: str, name: str) -> str:
    """Where a page is in a language: English on top, others in folders."""
    return name if language == ENGLISH else f"{language}/{name}"


def _filled(template: str, parts: dict[str, str]) -> str:
    page = (ASSETS / "site" / template).read_text(encoding="utf-8")
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text)
    return page


def _page(exhibit: Exhibit, played: Played, language: str, address: str) -> str:
    """The player of an example, and the ways on."""
    runs = played.titled(language)
    more = {"offers": offers(language), "answer": played.answer(language)}
    data = player_data(runs, language, Start(0.0, exhibit.view), **more)
    top = "../" * (_at(language, "scenes/x").count("/"))
    back = f'<a href="../index.html">{escape(say("examples.all", language))}</a>'
    keep = f'<button id="keep" data-file="{exhibit.name}.html">{escape(say("examples.keep", language))}</button>'
    return _filled(
        "example.html",
        {
            "language": _tag(language),
            "title": escape(exhibit.title(language)),
            "ways": "\n".join([back, *_ways(exhibit, language, f"{top}scenes/", address), keep, *_tongues(
                language, lambda other: f"{top}{_at(other, f'scenes/{exhibit.name}.html')}")]),
            "top": top,
            "data": json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),
        },
    )  # fmt: skip


def _ways(exhibit: Exhibit, language: str, here: str, address: str) -> list[str]:
    """An example as a link, a file and a cell of a notebook."""
    words = to_link(exhibit.plan) | {"view": exhibit.view} | ({"lang": language} if language != ENGLISH else {})
    places = {
        "link": f"{address.rstrip('/')}/?{urlencode(words)}",
        "file": f"{here}{exhibit.name}.yaml",
        "notebook": f"{here}{exhibit.name}.ipynb",
    }
    kept = {"file": " download", "notebook": " download", "link": ' rel="noreferrer"'}
    return [
        f'<a href="{escape(place, quote=True)}"{kept[name]}>{escape(say(f"examples.{name}", language))}</a>'
        for name, place in places.items()
    ]


def _tongues(language: str, place: Callable[[str], str]) -> list[str]:
    """The same page in every other language."""
    names = language_names()
    return [
        f'<a href="{escape(place(other), quote=True)}" lang="{_tag(other)}">{escape(names[other])}</a>'
        for other in languages()
        if other != language
    ]


def _tag(language: str) -> str:
    return "zh-Hans" if language == "zh" else language


def _front(examples: Sequence[Exhibit], language: str, address: str, taught: Sequence[str] = ()) -> str:
    """All examples with their pictures, by what leads to them."""
    top = "../" * _at(language, "").count("/")
    groups = []
    for group in GROUPS:
        cards = [_card(example, language, top, address) for example in examples if example.group == group]
        if cards:
            head = f'<h2 id="{group}">{escape(say(f"examples.{group}", language))}</h2>'
            groups.append(f'{head}\n<ul class="cards">\n{"".join(cards)}</ul>')
    groups.insert(0, _learning(language, taught))
    jumps = [f'<a href="#learning">{escape(say("page.learn.lessons", language))}</a>']
    jumps += [f'<a href="#{group}">{escape(say(f"examples.{group}", language))}</a>' for group in GROUPS]
    return _filled(
        "index.html",
        {
            "language": _tag(language),
            "title": escape(say("examples.title", language)),
            "intro": escape(say("examples.intro", language, count=len(examples))),
            "ways": "\n".join([*jumps, *_tongues(language, lambda other: f"{top}{_at(other, 'index.html')}")]),
            "top": top,
            "groups": "\n".join(groups),
        },
    )


def _learning(language: str, taught: Sequence[str]) -> str:
    """Ways to the story and to every lesson."""
    story = f'<p><a href="story.html">{escape(say("story.title", language))}</a></p>'
    links = [
        f'<li><a href="lessons/{lesson.name}.html">{escape(say(f"lesson.{lesson.name}.title", language))}</a></li>'
        for lesson in sorted(LESSONS.values(), key=lambda lesson: lesson.order)
        if lesson.name in taught
    ]
    head = f'<h2 id="learning">{escape(say("page.learn.lessons", language))}</h2>'
    return f'{head}\n{story}\n<ul class="plain">\n{"".join(links)}</ul>'


def _card(example: Exhibit, language: str, top: str, address: str) -> str:
    title = escape(example.title(language))
    ways = "".join(_ways(example, language, f"{top}scenes/", address))
    picture = f'<img src="{top}scenes/{example.name}.svg" alt="" width="320" height="180" loading="lazy">'
    way = f'<a href="scenes/{example.name}.html">{picture}<strong>{title}</strong></a>'
    return f'<li class="card">{way}<p>{ways}</p></li>\n'


INSTALLED = (
    "`%pip install '/path/to/checkout[notebook]'` installs Ringside from a checkout."
    " The package index has another project's `ringside`."
)
"""What a notebook says to those whose kernel lacks it."""


def notebook(title: str, query: str) -> str:
    """One cell that shows the run of a link."""
    cells = [
        ("markdown", f"# {title}\n{INSTALLED}"),
        ("code", f"from ringside.notebook import show\n\nshow({f'?{query}'!r})"),
    ]
    made: list[dict[str, Any]] = [
        {"cell_type": kind, "id": f"{kind}-{k}", "metadata": {}, "source": text}
        | ({"execution_count": None, "outputs": []} if kind == "code" else {})
        for k, (kind, text) in enumerate(cells)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"
