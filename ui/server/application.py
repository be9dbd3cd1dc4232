"""What is around Streamlit's application here: the guard, the workers, and an address for whoever watches it."""

import gc
import sys
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route

from ops.plan import Plan
from sim.registry import AdditionError
from ui.pages import PAGES
from ui.player.component import player_file
from ui.server import first
from ui.server.ahead import Ahead
from ui.server.code import code
from ui.server.door import watch
from ui.server.future import future
from ui.server.guard import Application, Guard, Receive, Scope, Send
from ui.server.health import health
from ui.server.one_page import OnePage
from ui.server.sockets import send_at_once
from ui.simulate.ahead import WHERE
from ui.text import languages
from ui.workers import tasks
from ui.workers.one import close_pool, the_pool
from ui.workers.process import Call

BLAMED = f"\n{AdditionError.__module__}.{AdditionError.__qualname__}: "
"""What Python writes before the sentence."""
LATE = ("pandas", "streamlit.emojis")
"""What Streamlit imports when the first page needs it."""

SWITCH = 0.001
"""Seconds after which a thread gives way to another one that waits."""


def _read_pages() -> None:
    """Have at hand what the first visitor would wait for: every page, and the player's code."""
    for name in ("ui.frame.front", *LATE):
        import_module(name)
    len(PAGES)
    player_file()
    gc.collect()
    gc.freeze()  # what modules hold is no garbage, and most of what a search for it would look at


def _take_short_turns() -> None:
    """Have threads that draw give way often: the one that answers everybody waits for them at each of its steps."""
    sys.setswitchinterval(SWITCH)


def ask_ahead() -> None:
    """Have workers run what a visitor sees who comes without a plan, and keep it."""
    for language in languages():
        the_pool().ask("", Call(tasks.run, (Plan(), language)))


@asynccontextmanager
async def _served(_app: Any) -> AsyncIterator[dict[str, Any]]:
    """Workers begin with the server, so that they are ready for the first visitor, and end with it."""
    send_at_once()
    watch(the_pool().limits.seats)
    ask_ahead()
    _take_short_turns()
    _read_pages()
    try:
        yield {}
    finally:
        close_pool()


class OneSentence:
    """Why the server cannot start, in one sentence where an addition is to blame, as commands tell it."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Called by the server for every request and every socket, and once when it starts."""

        async def sent(message: MutableMapping[str, Any]) -> None:
            fault, _, sentence = str(message.get("message", "")).rpartition(BLAMED)
            await send({**message, "message": sentence.strip()} if fault else message)

        await self._app(scope, receive, sent if scope["type"] == "lifespan" else send)


async def _health(_request: Any) -> JSONResponse:
    return JSONResponse(health())


def around() -> dict[str, Any]:
    """What `streamlit.App` gets beside the page's script."""
    return {
        "lifespan": _served,
        "routes": [
            Route("/health", _health),
            Route("/{above:path}" + player_file().name, code),
            Route("/{above:path}" + WHERE, future, methods=["POST"]),
            Route("/{above:path}" + first.WHERE, first.first_picture),
        ],
        "middleware": [Middleware(OneSentence), Middleware(Guard), Middleware(OnePage), Middleware(Ahead)],
    }
