"""The drawing board of machines as one piece of code for the browser, mounted in the page."""

import json
from collections.abc import Callable, Sequence

from ui.draw.state import DrawState, empty
from ui.player.page_script import page_script
from ui.text import catalogue


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
    page_script("draw", "draw")(key=key, data=data, default={"drawn": None}, on_drawn_change=drawn)
