"""The player as one piece of code for the browser, mounted in the page."""

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, NamedTuple

from sim.errors import english_texts
from ui.player.payload import VERSION
from ui.player.scripts import ASSETS, ON_PAGES, script
from ui.player.views import FIRST
from ui.text import ERROR, catalogue, written

FILE = """const sheet = new CSSStyleSheet();
sheet.replaceSync({style});
const mount = {script};
const dress = ({{ adoptedStyleSheets: sheets }}) => sheets.includes(sheet) || sheets.push(sheet);
export default function (options) {{
  dress(options.parentElement);
  return mount(options);
}}
mount.first(dress);
"""
"""The player with its look, which it brings to wherever it is mounted, and to the picture that comes before a page."""
LOADER = """const {{ default: mount }} = await import(new URL("{name}", document.baseURI));
export default mount;
"""


ANSWERS = (
    "answer.and",
    "answer.change.",
    "answer.faster",
    "answer.hardly",
    "answer.remedy.link",
    "answer.same",
    "answer.slower",
    "answer.why.",
)
"""How the texts begin of which the player makes answers itself."""


class CodeFile(NamedTuple):
    """A file of code that browsers keep: a name that changes with what is in it, its text, and that packed by gzip."""

    name: str
    text: bytes
    packed: bytes


@cache
def style() -> str:
    """What the player looks like. Files are of one part of it each; which comes first makes no difference."""
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted((ASSETS / "style").glob("*.css")))


@cache
def player_file() -> CodeFile:
    """The player as the page has it, in a file: what is part of a page would be sent anew with every change to it."""
    text = FILE.format(style=json.dumps(style()), script=script(ON_PAGES)).encode()
    return CodeFile(f"player-{hashlib.sha256(text).hexdigest()[:16]}.js", text, gzip.compress(text, 6, mtime=0))


@cache
def _component() -> Callable[..., Any]:
    import streamlit as st  # other hosts of the player need none of it

    loader = LOADER.format(name=player_file().name)
    mounted: Callable[..., Any] = st.components.v2.component(
        "ringside_player", html='<div class="rs-root">\n</div>', js=loader
    )
    return mounted


@dataclass(frozen=True)
class Start:
    """Where a new player begins: s from the run's beginning, and one of its views; and in `place` the rest of a link.

    A player that is there already begins again where `number` is another one. With `keep` one that gets other runs
    stays at its instant, not at its share of the way. `is_linked` lets it keep its place in the address, but for the
    `usual` view. One that `plays` begins by itself, with nothing around its picture.
    """

    t: float = 0.0
    view: str = FIRST
    keep: bool = False
    number: int = 0
    place: Mapping[str, str] = field(default_factory=dict)
    usual: str = ""
    is_linked: bool = False
    plays: bool = False


def player_data(runs: list[dict[str, Any]], language: str, start: Start | None = None, **more: Any) -> dict[str, Any]:
    """What the player is mounted with: packed runs, each with a `title` and a `note` where it has one."""
    return {"v": VERSION, "runs": runs, "text": _texts(language), "start": asdict(start or Start()), **more}


@cache
def _texts(language: str) -> dict[str, str]:
    """The player's own words."""
    own = ("player.", "caption.", "page.title")
    said = dict(english_texts()) | {key.removeprefix(ERROR): text for key, text in written(language).items()}
    return {
        **{name: text for name, text in catalogue(language).items() if name.startswith(own)},
        **{name: said[name] for name in english_texts() if name.startswith(ANSWERS)},
    }


def show_steps(data: dict[str, Any], *, key: str) -> None:
    """Mount a run as steps to go through one by one."""
    _component()(key=key, data=data)


def show_talk(data: dict[str, Any], *, key: str) -> None:
    """Mount the player that leads through a talk."""
    _component()(key=key, data=data)


def show(
    data: dict[str, Any],
    *,
    key: str,
    moved: Callable[[], None],
    forked: Callable[[], None],
    heard: Callable[[], None] = lambda: None,
) -> None:
    """Mount the player.

    `moved` is called when a person has stopped somewhere else, which the value of `key` then has as `t`, `view` and,
    in the words of a link, `place`; `forked` when they have asked what if, in the words of faults, `fork`; `heard`
    when the story was opened or put away, in a word, `story`.
    """
    start = data["start"]
    still = {"t": start["t"], "view": start["view"], "place": start["place"]}
    changes = {f"on_{name}_change": moved for name in still}
    changes |= {"on_fork_change": forked, "on_story_change": heard}
    _component()(key=key, data=data, default=still, **changes)
