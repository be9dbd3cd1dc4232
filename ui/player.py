"""The player as one piece of code for the browser, mounted in the page."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from ui.text import catalogue

ASSETS = Path(__file__).parents[1] / "assets"
PARTS = ("timeline.js", "scene.js", "explain.js", "controls.js", "player.js")


def script() -> str:
    """The parts as one module: inline code cannot import, so imports go and only the default export stays."""
    joined = "\n".join((ASSETS / part).read_text(encoding="utf-8") for part in PARTS)
    joined = re.sub(r"^import .*\n", "", joined, flags=re.MULTILINE)
    return re.sub(r"^export (?!default)", "", joined, flags=re.MULTILINE)


@cache
def _component() -> Callable[..., Any]:
    style = (ASSETS / "style.css").read_text(encoding="utf-8")
    mounted: Callable[..., Any] = st.components.v2.component(
        "ringside_player", html='<div class="rs-root">\n</div>', css=style, js=script()
    )
    return mounted


def show(
    payload: dict[str, Any], *, key: str, language: str, start: float, note: str = "", moved: Callable[[], None]
) -> None:
    """Mount the player; `moved` is called when a person has stopped somewhere else, in `session_state[key].t`."""
    texts = {
        name: text
        for name, text in catalogue(language).items()
        if name.startswith(("player.", "caption.", "page.title"))
    }
    data = {**payload, "text": texts, "start": {"t": start}, "note": note}
    _component()(key=key, data=data, default={"t": start}, on_t_change=moved)
