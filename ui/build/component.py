"""The board as one piece of code for the browser, mounted in the page."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from ui.player.scripts import ASSETS, BOARD, script
from ui.text import catalogue


@cache
def _component() -> Callable[..., Any]:
    mounted: Callable[..., Any] = st.components.v2.component(
        "ringside_board",
        html='<div class="rb-root">\n</div>',
        css=(ASSETS / "build" / "board.css").read_text(encoding="utf-8"),
        js=f"export default {script(BOARD)};",
    )
    return mounted


def show(
    board: dict[str, Any], document: str, steps: str, language: str, *, key: str, drawn: Callable[[], None]
) -> None:
    """Mount the board with what is drawn on it; `document` tells one drawing from another.

    `drawn` is called when a person has drawn something, which the value of `key` then has as `drawn`: `document` and
    `steps`.
    """
    texts = {name: text for name, text in catalogue(language).items() if name.startswith("board.")}
    data = {"board": board, "document": document, "steps": steps, "text": texts}
    _component()(key=key, data=json.loads(json.dumps(data)), default={"drawn": None}, on_drawn_change=drawn)
