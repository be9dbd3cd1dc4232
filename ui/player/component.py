"""The player as one piece of code for the browser, mounted in the page."""

import base64
import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from ui.player.bundle import bundle
from ui.player.payload import VERSION
from ui.player.views import FIRST, VIEWS
from ui.text import catalogue

ASSETS = Path(__file__).parents[2] / "assets"
ENTRY, PLAYER = "all.js", "whatif/page.js"
WITH_TALK, WITH_LESSONS, WITH_STORY = "talk/offline.js", "talk/lesson.js", "story/page.js"
"""The player on pages of their own: it leads through a talk, asks the questions of lessons, or tells the story."""
ON_PAGES = "talk/page.js"
"""The player as the dashboard has it, which can be told a story in and lead through a talk."""
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


class CodeFile(NamedTuple):
    """A file of code that browsers keep: a name that changes with what is in it, its text, and that packed by gzip."""

    name: str
    text: bytes
    packed: bytes


@cache
def script(module: str = PLAYER) -> str:
    """An expression that gives what a module exports by default: of the player's, the function which mounts it."""
    return f"{bundle(ENTRY, partial(_source, module))}.default"


def _source(module: str, path: str) -> str:
    if path.endswith(".wasm"):
        return base64.b64encode(zlib.compress((ASSETS / path).read_bytes(), 9)).decode()
    return _entry(module) if path == ENTRY else (ASSETS / path).read_text(encoding="utf-8")


def _entry(module: str) -> str:
    """A module with every view there is, under the name of its file."""
    imports = [f'import view{k} from "./views/{name}.js";' for k, name in enumerate(VIEWS)]
    registered = [f"register({json.dumps(name)}, view{k});" for k, name in enumerate(VIEWS)]
    heads = ['import { register } from "./player/registry.js";', f'export {{ default }} from "./{module}";']
    return "\n".join([*heads, *imports, *registered])


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
    `usual` view.
    """

    t: float = 0.0
    view: str = FIRST
    keep: bool = False
    number: int = 0
    place: Mapping[str, str] = field(default_factory=dict)
    usual: str = ""
    is_linked: bool = False


def player_data(runs: list[dict[str, Any]], language: str, start: Start | None = None, **more: Any) -> dict[str, Any]:
    """What the player is mounted with: packed runs, each with a `title` and a `note` where it has one."""
    return {"v": VERSION, "runs": runs, "text": _texts(language), "start": asdict(start or Start()), **more}


@cache
def _texts(language: str) -> dict[str, str]:
    """The player's own words."""
    own = ("player.", "caption.", "page.title")
    return {name: text for name, text in catalogue(language).items() if name.startswith(own)}


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

    `moved` is called when a person has stopped somewhere else, which `session_state[key]` then tells as `t`, `view`
    and, in the words of a link, `place`; `forked` when they have asked what if, in the words of faults in
    `session_state[key].fork`; `heard` when the story was opened or put away, in a word in `session_state[key].story`.
    """
    start = data["start"]
    still = {"t": start["t"], "view": start["view"], "place": start["place"]}
    changes = {f"on_{name}_change": moved for name in still}
    changes |= {"on_fork_change": forked, "on_story_change": heard}
    _component()(key=key, data=data, default=still, **changes)
