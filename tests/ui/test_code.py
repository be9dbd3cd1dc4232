"""What the server has ready for a visitor: the player's code, a file that browsers keep, and the first run."""

import gzip
import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from streamlit.testing.v1 import AppTest

from tests.ui.asgi import messages_of
from ui.player import component
from ui.player.component import player_file
from ui.server.application import around, ask_ahead
from ui.server.code import Announced
from ui.workers import one
from ui.workers.one import OwnProcess

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def get():
    others = [Route("/page", lambda _: HTMLResponse("<p>")), Route("/words", lambda _: PlainTextResponse("words"))]
    app = Starlette(routes=[*around()["routes"], *others], middleware=[Middleware(Announced)])

    def get(path, **headers):
        """The status, headers and content of an answer."""
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": pairs}
        sent = messages_of(app, scope)
        answer = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], answer, b"".join(message["body"] for message in sent[1:])

    return get


@pytest.mark.parametrize("folder", ["/", "/behind/a/proxy/"])
@pytest.mark.parametrize("packs", ["gzip, br", "identity"])
def test_the_file_is_served_below_any_folder_and_kept_for_good(get, folder, packs):
    file, is_packed = player_file(), "gzip" in packs
    status, headers, content = get(f"{folder}{file.name}", **{"accept-encoding": packs})
    assert status == 200
    assert (gzip.decompress(content) if is_packed else content) == file.text
    assert headers.get("content-encoding") == ("gzip" if is_packed else None)
    assert headers["content-type"].startswith("text/javascript")
    assert "immutable" in headers["cache-control"]
    assert len(file.packed) < len(file.text) / 3


def test_another_fingerprint_is_no_file(get):
    other = re.sub(r"-[0-9a-f]+", "-0123456789abcdef", player_file().name)
    assert other != player_file().name
    assert get(f"/{other}")[0] == 404


def test_pages_alone_announce_it(get):
    assert get("/page")[1]["link"] == f"<{player_file().name}>; rel=modulepreload"
    assert "link" not in get("/words")[1]


def test_sockets_pass_as_they_are():
    async def app(_scope, _receive, send):
        await send({"type": "websocket.accept"})

    sent = messages_of(Announced(app), {"type": "websocket", "headers": []})
    assert sent == [{"type": "websocket.accept"}]


def test_its_name_changes_with_what_is_in_it(monkeypatch):
    before = player_file()
    monkeypatch.setattr(component, "style", lambda: "p { color: red }")
    assert player_file.__wrapped__().name != before.name


def test_what_the_first_visitor_s_page_asks_has_been_asked_at_the_start(monkeypatch):
    asked, pool = [], OwnProcess()
    monkeypatch.setattr(one, "_POOL", [pool])
    ask = pool.ask
    monkeypatch.setattr(pool, "ask", lambda whose, call, **more: asked.append(call) or ask(whose, call, **more))
    ask_ahead()
    ahead, asked[:] = list(asked), []
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert not page.exception
    assert asked
    assert set(asked) <= set(ahead)
