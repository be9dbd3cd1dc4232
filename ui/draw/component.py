"""The drawing board of machines as one piece of code for the browser, mounted in the page."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import streamlit as st

from ui.draw.state import DrawState, empty
from ui.player.scripts import ASSETS, DRAWING, script
from ui.text import catalogue


@cache
def _component() -> Callable[..., Any]:
    mounted: Callable[..., Any] = st.components.v2.component(
        "ringside_draw",
        html='<div class="rd-root">\n</div>',
        css=(ASSETS / "draw" / "draw.css").read_text(encoding="utf-8"),
        js=f"export default {script(DRAWING)};",
    )
    return mounted


def show(
    now: DrawState,
    problems: Sequence[tuple[str, Sequence[int]]],
    summary: str,
    language: str,
    *,
    key: str,
    drawn: Callable[[], None],
) -> None:
    """Mount the board with a drawing, and what is said of it: problems with the devices they name, else a summary.

    `drawn` is called when a person has drawn something, which the value of `key` then has as `drawn`: `token`,
    `revision` and `document`.
    """
    texts = {name: text for name, text in catalogue(language).items() if name.startswith("draw.")}
    data = {
        "document": json.loads(now.text or empty(language)),
        "empty": json.loads(empty(language)),
        "token": now.token,
        "judged": now.revision,
        "problems": [{"text": text, "devices": list(devices)} for text, devices in problems],
        "summary": summary,
        "text": texts,
        "language": language,
    }
    _component()(key=key, data=data, default={"drawn": None}, on_drawn_change=drawn)
