"""What is around Streamlit's application here: the guard, the workers, and an address for whoever watches it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route

from ui.pages import PAGES
from ui.player.component import player_file
from ui.server.code import Announced, code
from ui.server.guard import Guard
from ui.server.health import health
from ui.workers.one import close_pool, the_pool


def _read_pages() -> None:
    """Have at hand what the first visitor would wait for: every page, and the player's code."""
    import_module("ui.front")
    len(PAGES)
    player_file()


@asynccontextmanager
async def _served(_app: Any) -> AsyncIterator[dict[str, Any]]:
    """Workers begin with the server, so that they are ready for the first visitor, and end with it."""
    the_pool()
    _read_pages()
    try:
        yield {}
    finally:
        close_pool()


async def _health(_request: Any) -> JSONResponse:
    return JSONResponse(health())


def around() -> dict[str, Any]:
    """What `streamlit.App` gets beside the page's script."""
    return {
        "lifespan": _served,
        "routes": [Route("/health", _health), Route("/{above:path}" + player_file().name, code)],
        "middleware": [Middleware(Guard), Middleware(Announced)],
    }
