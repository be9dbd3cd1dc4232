"""The player's code as browsers fetch it: once, and while Streamlit's own is still being read."""

from collections.abc import MutableMapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ui.player.component import player_file
from ui.server.guard import Application, Receive, Scope, Send

STORED = "public, max-age=31536000, immutable"
"""What is said of a file whose name changes with what is in it."""


async def code(request: Request) -> Response:
    """The file, packed for whoever can unpack it."""
    file, packs = player_file(), "gzip" in request.headers.get("accept-encoding", "")
    headers = {"cache-control": STORED, "vary": "accept-encoding"} | ({"content-encoding": "gzip"} if packs else {})
    return Response(file.packed if packs else file.text, media_type="text/javascript", headers=headers)


class Announced:
    """Names the file in the head of every page, so that it is there by the time the page asks for it."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Called by the server for every request and every socket."""

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", []))
                if any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in headers):
                    link = f"<{player_file().name}>; rel=modulepreload".encode()
                    message = {**message, "headers": [*headers, (b"link", link)]}
            await send(message)

        await self._app(scope, receive, sent)
