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
from ui.frame.front import STYLE
from ui.player import component
from ui.player.component import player_file
from ui.server import ahead
from ui.server.ahead import STREAMLIT, Ahead
from ui.server.application import around, ask_ahead
from ui.server.first import shell
from ui.server.one_page import OnePage
from ui.workers import one
from ui.workers.one import OwnProcess

ROOT = Path(__file__).parents[2]
PAGE = "<html><head></head><body><p>text</p></body></html>"
WITH_LOOK = PAGE.replace("</body>", f"<style>{STYLE}</style>{shell(is_first=True)}</body>")


@pytest.fixture(scope="module")
def get():
    others = [
        Route("/page", lambda _: HTMLResponse(PAGE, headers={"etag": "1", "x-kept": "yes"})),
        Route("/words", lambda _: PlainTextResponse("</body>")),
    ]
    app = Starlette(routes=[*around()["routes"], *others], middleware=[Middleware(Ahead)])

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


def test_pages_alone_announce_the_code_they_need_which_is_there(get):
    player, *parts = re.findall(r"<([^>]+)>; rel=modulepreload", get("/page")[1]["link"])
    assert player == player_file().name
    assert parts
    texts = [(STREAMLIT / part).read_text("utf-8") for part in parts]
    known = {*parts, *re.findall(r"static/js/[^\"]+", (STREAMLIT / "index.html").read_text("utf-8"))}
    assert {f"static/js/{name}" for text in texts for name in ahead.IMPORTED.findall(text)} <= known
    for element in ahead.FIRST:
        assert any(part.startswith(f"static/js/{element}.") for part in parts), element
    assert "link" not in get("/words")[1]


def test_a_page_has_its_look_before_its_script_has_run(get):
    status, headers, content = get("/page")
    assert content.decode() == WITH_LOOK
    assert (status, headers["content-length"], headers["x-kept"]) == (200, str(len(content)), "yes")
    assert "etag" not in headers  # of the file as Streamlit has it
    assert get("/words")[2] == b"</body>"


@pytest.mark.parametrize(
    ("path", "query", "front"),
    [
        ("/", b"", ""),
        ("/train", b"", "./"),
        ("/train", b"lang=zh", "./?lang=zh"),
        ("/behind/a/proxy/", b"", ""),
        ("/media/a.html", b"", ""),
    ],
)
def test_a_word_after_the_address_leads_to_the_page_with_its_query(path, query, front):
    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": PAGE.encode()})

    start, body = messages_of(OnePage(app), {"type": "http", "path": path, "query_string": query, "headers": []})
    assert (start["status"], dict(start["headers"]).get(b"location", b"").decode()) == (307 if front else 200, front)
    assert (body["body"] == b"") == bool(front)


def test_a_page_that_comes_in_parts_is_completed_where_they_meet():
    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"Content-Type", b"text/html")]})
        await send({"type": "http.response.body", "body": PAGE[:-10].encode(), "more_body": True})
        await send({"type": "http.response.body", "body": PAGE[-10:].encode()})

    start, body = messages_of(Ahead(app), {"type": "http", "headers": []})
    assert body["body"].decode() == WITH_LOOK
    assert (b"content-length", str(len(WITH_LOOK)).encode()) in start["headers"]


def test_sockets_pass_as_they_are():
    async def app(_scope, _receive, send):
        await send({"type": "websocket.accept"})

    sent = messages_of(Ahead(app), {"type": "websocket", "headers": []})
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
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=180).run()
    assert not page.exception
    assert asked
    assert set(asked) <= set(ahead)
