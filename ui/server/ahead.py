"""What every page says before its script has run: how all of it looks, and which code it is going to need.

Else Streamlit's page would learn of either from the script, when the first elements stand somewhere else already.
"""

import re
from collections.abc import MutableMapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import streamlit

from ui.frame.front import STYLE
from ui.plan.beginning import is_first_visit
from ui.player.component import player_file
from ui.server import first
from ui.server.guard import Application, Receive, Scope, Send
from ui.server.one_page import is_page

STREAMLIT = Path(streamlit.__file__).parent / "static"
FIRST = ("BidiComponent", "Button", "ButtonGroup", "Selectbox", "Metric")
"""Streamlit's elements on the first page, each of which has code of its own."""
IMPORTED = re.compile(r'(?:from|import)"\./([\w.-]+\.js)"')
END = b"</body>"
"""Where the look stands: of rules that are equally particular the last holds, and Streamlit's come into the head."""
CHANGED = (b"content-length", b"etag", b"last-modified")
"""Headers that do not hold of what is written here: a browser would ask whether the file is still the same."""


@cache
def announced() -> bytes:
    """Code that every page needs and does not name itself, as a header says it: the player, elements, their parts."""
    folder = STREAMLIT / "static" / "js"
    todo = [file.name for name in FIRST for file in folder.glob(f"{name}.*.js")]
    named = set(re.findall(r"static/js/([\w.-]+)", (STREAMLIT / "index.html").read_text(encoding="utf-8")))
    parts: dict[str, None] = {}
    while todo:
        name = todo.pop()
        if name not in parts and name not in named:
            parts[name] = None
            todo += IMPORTED.findall((folder / name).read_text(encoding="utf-8"))
    files = [player_file().name, *(f"static/js/{name}" for name in sorted(parts))]
    return ", ".join(f"<{name}>; rel=modulepreload" for name in files).encode()


class Ahead:
    """Completes every page that is sent."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Called by the server for every request and every socket."""
        begun: list[MutableMapping[str, Any]] = []
        text = bytearray()

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start" and is_page(message):
                begun.append(message)
            elif begun:
                text.extend(message.get("body", b""))
                if not message.get("more_body"):
                    await _send_page(begun.pop(), bytes(text), scope.get("query_string", b""), send)
            else:
                await send(message)

        await self._app(scope, receive, sent)


async def _send_page(start: MutableMapping[str, Any], text: bytes, query: bytes, send: Send) -> None:
    words = query.decode("latin-1")
    is_early = first.is_early(words)
    more = f"<style>{STYLE}</style>{first.shell(is_first_visit(dict(parse_qsl(words)))) if is_early else ''}"
    text = text.replace(END, more.encode() + END, 1)
    links = filter(None, [announced(), first.announced(query) if is_early else b""])
    kept = [(name, value) for name, value in start["headers"] if name.lower() not in CHANGED]
    length = [(b"content-length", str(len(text)).encode())] if text else []  # who asks for a head gets no text
    await send({**start, "headers": [*kept, *length, (b"link", b", ".join(links))]})
    await send({"type": "http.response.body", "body": text})
