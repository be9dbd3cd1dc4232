"""Redirect unknown one-word paths to the front page and keep the query; the query alone names a page."""

from collections.abc import MutableMapping
from typing import Any

from starlette.responses import RedirectResponse
from streamlit import config

from ui.server.guard import Application, Receive, Scope, Send


class OnePage:
    """Redirects before Streamlit serves its page under an unknown path, where the page does not find its files."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Called by the server for every request and every socket."""
        front = to_front(scope["path"], scope["query_string"]) if scope["type"] == "http" else ""
        is_sent_on = False

        async def sent(message: MutableMapping[str, Any]) -> None:
            nonlocal is_sent_on
            if message["type"] == "http.response.start" and is_page(message):
                is_sent_on = True
                await RedirectResponse(front)(scope, receive, send)
            elif not is_sent_on:
                await send(message)

        await self._app(scope, receive, sent if front else send)


def is_page(start: MutableMapping[str, Any]) -> bool:
    """Return whether a response is an HTML page."""
    headers = start.get("headers", [])
    return any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in headers)


def to_front(path: str, query: bytes) -> str:
    """Return the relative address of the front page, or an empty text for the front page, files and folders.

    A proxy may serve the page from a folder.
    """
    base = str(config.get_option("server.baseUrlPath")).strip("/")
    below = path.lstrip("/").removeprefix(base).lstrip("/")
    is_word = below and "/" not in below and "." not in below
    return ("./?" + query.decode("latin-1") if query else "./") if is_word else ""
