"""What the server lets in, what it tells browsers, and that others' texts are shown as text."""

import asyncio
import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.websockets import WebSocket
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_websocket import StarletteSessionClient

from sim.registry import AdditionError
from terminal.dashboard import dashboard
from tests.tables import each_row
from tests.ui.asgi import messages_of
from ui.server import guard
from ui.server.application import OneSentence
from ui.server.guard import CONNECTED, HOSTS, Guard
from ui.server.health import health
from ui.share.embed import EMBED_FROM
from ui.text import plain

ROOT = Path(__file__).parents[2]


def answer(host, *, kind="http", origin=None):
    """What a request gets: the messages sent back; the application behind says 200 and nothing else."""

    async def app(scope, receive, send):
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept", "tabs": CONNECTED.tabs})
        else:
            headers = [(b"x-frame-options", b"ALLOWALL"), (b"content-type", b"text/html")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})

    headers = [(b"host", host.encode("latin-1"))] + ([(b"origin", origin.encode())] if origin else [])
    return messages_of(Guard(app), {"type": kind, "headers": headers})


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8501", "127.0.0.1:80", "[::1]:8501", "192.168.0.7", "class.example.org", "LOCALHOST"],
)
def test_own_names_and_addresses_are_answered(monkeypatch, host):
    monkeypatch.setenv(HOSTS, "class.example.org other.example")
    assert answer(host)[0]["status"] == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "", "a@localhost", "localhost:99999", "localhost/x", "localhost.evil.example"),
        *("127.0.0.1.evil.example", "class.example.org.evil", "[::1", "\xe9vil"),
    ],
)
def test_other_names_are_refused(monkeypatch, host):
    monkeypatch.setenv(HOSTS, "class.example.org")
    assert answer(host)[0]["status"] == 421
    assert answer(host, kind="websocket")[0]["type"] == "websocket.close"


def test_a_socket_is_opened_by_pages_of_this_server_alone():
    before = CONNECTED.tabs
    own = answer("127.0.0.1:8501", kind="websocket", origin="http://127.0.0.1:8501")
    assert own == [{"type": "websocket.accept", "tabs": before + 1}]
    assert answer("127.0.0.1:8501", kind="websocket", origin="http://evil.example")[0]["type"] == "websocket.close"
    assert answer("127.0.0.1:8501", kind="websocket", origin="null")[0]["type"] == "websocket.close"
    assert CONNECTED.tabs == before


def test_there_are_so_many_tabs_and_no_more(monkeypatch):
    monkeypatch.setattr(guard, "MOST_VISITORS", CONNECTED.tabs)
    assert answer("localhost", kind="websocket")[0]["type"] == "websocket.close"


def test_a_tab_that_is_closed_while_its_page_is_drawn_leaves_nothing_in_the_log(caplog):
    """A server refuses what is sent to it then, with an error that Streamlit does not expect."""
    scope = {"type": "websocket", "headers": [(b"host", b"localhost")], "path": "/", "query_string": b""}

    async def app(*socket):
        tab = WebSocket(*socket)
        await tab.accept()
        drawing = StarletteSessionClient(tab)
        drawing.write_forward_msg(ForwardMsg())
        await asyncio.wait([drawing._sender_task])
        assert drawing._closed.is_set()

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        if message["type"] == "websocket.send":
            raise RuntimeError("Unexpected ASGI message 'websocket.send', after sending 'websocket.close'.")

    with ThreadPoolExecutor(1) as own:
        own.submit(asyncio.run, Guard(app)(scope, receive, send)).result()
    assert caplog.records == []


def headers():
    return {name.decode(): value.decode() for name, value in answer("localhost")[0]["headers"]}


def test_nothing_is_loaded_from_elsewhere_and_nobody_frames_the_page(monkeypatch):
    monkeypatch.delenv(EMBED_FROM, raising=False)
    said = headers()
    assert said["x-frame-options"] == "SAMEORIGIN"
    assert said["referrer-policy"] == "no-referrer"
    assert said["content-type"] == "text/html"
    policy = dict(part.strip().split(" ", 1) for part in said["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'self'"
    words = [word for word in policy["script-src"].split() if not word.startswith("'sha256-")]
    assert words == ["'self'", "'unsafe-eval'", "'wasm-unsafe-eval'", "blob:"]
    assert not any("http" in sources or "*" in sources for sources in policy.values())


def test_pages_that_were_named_may_frame_it(monkeypatch):
    monkeypatch.setenv(EMBED_FROM, "https://course.example.org javascript:x http://slides:8000 'none'; https://*.edu")
    said = headers()
    assert "x-frame-options" not in said
    assert said["content-security-policy"].endswith(
        "frame-ancestors 'self' https://course.example.org http://slides:8000 https://*.edu"
    )


def test_what_is_no_origin_is_refused():
    line = [sys.executable, "cli.py", "dashboard", "--embed-from", "course.example.org; script-src *"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "write it like https://" in done.stderr
    assert {"--host", "--embed-from", "--max-memory"} <= {name for param in dashboard.params for name in param.opts}


def test_a_tab_that_is_opened_looks_at_no_file():
    """Streamlit would look whether any module's file has changed, which takes far longer than to draw the page."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert settings["server"]["fileWatcherType"] == "none"


def test_what_modules_hold_is_not_looked_through_after_every_run():
    """Once somebody has been in the lab that takes longer than to draw the page, and what a page says last waits."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert settings["runner"]["postScriptGC"] is False


def test_health_is_numbers_alone():
    said = health()
    assert all(isinstance(value, int) and value >= 0 for value in said.values())
    assert {"visitors", "running", "waiting", "died", "memory_bytes"} <= set(said)


@each_row(
    "text, shown",
    [
        ("![x](http://evil.example/x.png)", "!\\[x\\](http\u200b://evil.example/x.png)"),
        ("see www.evil.example or a@b.example", "see www\u200b.evil.example or a@\u200bb.example"),
        ("<img src=x>", "\\<img src=x\\>"),
        (":red[a] :smile: $x$ `c` ~~d~~", "\\:red\\[a\\] \\:smile: \\$x\\$ \\`c\\` \\~\\~d\\~\\~"),
        ("# head\n\n- item", "\\# head - item"),
        ("1. first", "1\\. first"),
        ("*a* _b_ __c__", "\\*a\\* \\_b\\_ \\_\\_c\\_\\_"),
        ("allreduce.recursive_doubling: use 8 ranks", "allreduce.recursive_doubling: use 8 ranks"),
        ("a\\[b", "a\\\\\\[b"),
    ],
)
def test_a_text_of_somebody_else_is_shown_letter_by_letter(text, shown):
    assert plain(text) == shown


def test_the_application_is_what_streamlit_serves():
    code = "import app; from streamlit import App; print(type(app.app) is App)"
    own = os.environ | {"RINGSIDE_NO_WORKERS": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, env=own)
    assert done.stdout == "True\n"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            AdditionError("ui/pages/own.py, line 3: '(' was never closed: fix the file"),
            r"\Aui/pages/own.py, line 3: .*\Z",
        ),
        (
            RuntimeError("something of the server's own"),
            r"\ATraceback (.|\n)*RuntimeError: something of the server's own",
        ),
    ],
)
def test_a_server_that_cannot_start_tells_what_is_to_be_mended(fault, told):
    @asynccontextmanager
    async def failing(_):
        raise fault
        yield

    async def app(*words):
        with suppress(type(fault)):
            await Starlette(lifespan=failing, middleware=[Middleware(OneSentence)])(*words)

    (message,) = messages_of(app, {"type": "lifespan"})
    assert message["type"] == "lifespan.startup.failed"
    assert re.search(told, message["message"])
