"""The board as one piece of code for the browser, mounted in the page."""

import json
from collections.abc import Callable
from typing import Any

from ui.player.page_script import page_script
from ui.text import catalogue


def show(
    board: dict[str, Any], document: str, steps: str, language: str, *, key: str, drawn: Callable[[], None]
) -> None:
    """Mount the board with what is drawn on it; `document` tells one drawing from another.

    `drawn` is called when a person has drawn something, which the value of `key` then has as `drawn`: `document` and
    `steps`.
    """
    texts = {name: text for name, text in catalogue(language).items() if name.startswith("board.")}
    data = {"board": board, "document": document, "steps": steps, "text": texts}
    mount = page_script("board", "build")
    mount(key=key, data=json.loads(json.dumps(data)), default={"drawn": None}, on_drawn_change=drawn)
