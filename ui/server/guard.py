"""What every request passes: is the host one of ours, and what a browser may do with the answer."""

import base64
import hashlib
import ipaddress
import os
import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ui.server.door import TAB, Tab
from ui.share.embed import origins

HOSTS = "RINGSIDE_HOSTS"
"""Environment variable: names this server answers to, spaces between."""
MOST_VISITORS = 1000
"""Tabs that are connected at once."""
AFTERWARDS = "Unexpected ASGI message"
"""How a server's complaint begins that something is sent to a tab that has been closed."""
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass
class Connected:
    """How many tabs there are now."""

    tabs: int = 0


CONNECTED = Connected()


class Guard:
    """Refuses requests for other hosts and sockets of other pages; says what browsers may load, and who may frame it.

    A page of another site could have its own name point here, and then talk to this server as if it were that site's:
    so a host must be an address, `localhost`, or a name that was given.
    """

    def __init__(self, app: Application) -> None:
        self._app = app
        self._hosts = {name.lower() for name in os.environ.get(HOSTS, "").split()}
        self._frames = origins()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Called by the server for every request and every socket."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if not self._is_own(host) or (scope["type"] == "websocket" and not is_same(headers.get("origin"), host)):
            await _refuse(scope, send)
        elif scope["type"] == "websocket":
            await self._connected(scope, receive, send)
        else:
            await self._app(scope, receive, self._with_headers(send, host))

    async def _connected(self, scope: Scope, receive: Receive, send: Send) -> None:
        if CONNECTED.tabs >= MOST_VISITORS:
            await _refuse(scope, send)
            return
        tab = scope.setdefault("state", {}).setdefault(TAB, Tab())
        is_gone = False

        async def received() -> MutableMapping[str, Any]:
            nonlocal is_gone
            message = await receive()
            is_gone = message["type"] == "websocket.disconnect"
            if message["type"] == "websocket.receive":
                tab.speaks()
            return message

        async def sent(message: MutableMapping[str, Any]) -> None:
            """Raise OSError for a tab that has been closed, as Starlette expects it of a server."""
            try:
                await send(message)
            except RuntimeError as error:
                if is_gone or str(error).startswith(AFTERWARDS):
                    raise OSError("the tab was closed") from None
                raise

        CONNECTED.tabs += 1
        try:
            await self._app(scope, received, sent)
        finally:
            CONNECTED.tabs -= 1

    def _is_own(self, host: str) -> bool:
        """Whether a Host header names this server."""
        try:
            parts = urlsplit(f"//{host}")
            name = (parts.hostname or "").rstrip(".").lower()
            _ = parts.port
        except ValueError:
            return False
        if not name or parts.username is not None or parts.path or parts.query or parts.fragment:
            return False
        return name == "localhost" or name in self._hosts or "*" in self._hosts or _is_address(name)

    def _with_headers(self, send: Send, host: str) -> Send:
        more = [(name.encode(), value.encode()) for name, value in self.headers(host).items()]
        names = {name for name, _ in more} | {b"x-frame-options"}

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                kept = [(name, value) for name, value in message.get("headers", []) if name.lower() not in names]
                message = {**message, "headers": [*kept, *more]}
            await send(message)

        return sent

    def headers(self, host: str) -> dict[str, str]:
        """What every answer says: nothing is loaded from elsewhere, no address is passed on, who may frame it."""
        frames = " ".join(["'self'", *self._frames])
        policy = {
            "default-src": "'self'",
            # charts compile expressions, and the player runs the simulator's kernel
            "script-src": f"'self' 'unsafe-eval' 'wasm-unsafe-eval' blob: {' '.join(_inline_scripts())}",
            "style-src": "'self' 'unsafe-inline'",
            "img-src": "'self' data: blob:",
            "font-src": "'self' data:",
            "media-src": "'self' data: blob:",
            "connect-src": f"'self' data: blob: ws://{host} wss://{host}",
            "worker-src": "'self' blob:",
            "frame-src": "'self'",
            "object-src": "'none'",
            "base-uri": "'self'",
            "form-action": "'self'",
            "frame-ancestors": frames,
        }
        always = {
            "content-security-policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "permissions-policy": "camera=(), microphone=(), geolocation=()",
        }
        return always | ({} if self._frames else {"x-frame-options": "SAMEORIGIN"})


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_same(origin: str | None, host: str) -> bool:
    """Whether it is asked by a page of this server, or by a program, which names no page."""
    return origin is None or urlsplit(origin).netloc.lower() == host.lower()


async def _refuse(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": "not for this server"})
        return
    text = f"This server does not answer to that name: start it with --host NAME, or set {HOSTS}.\n".encode()
    length = str(len(text)).encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", length)]
    await send({"type": "http.response.start", "status": 421, "headers": headers})
    await send({"type": "http.response.body", "body": text})


@cache
def _inline_scripts() -> tuple[str, ...]:
    """Fingerprints of the scripts in Streamlit's own page, which alone may stand in a page."""
    import streamlit

    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return tuple(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts)
