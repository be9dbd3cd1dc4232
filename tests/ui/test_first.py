"""The first picture of a visit comes before its page, and is the one that the page has."""

import json
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from sim.base.watch import Estimate
from tests.ui.asgi import messages_of
from tests.ui.test_page import page, players
from ui.server import first, future
from ui.server.ahead import Ahead
from ui.text import catalogue
from ui.workers.one import OwnProcess

EARLY = (
    "",
    "machine=switch:ranks=16",
    "t=0.0001&view=machine&machine=dual_socket_pcie",
    "machine=switch:ranks=6&t=1e-05&camera=2_0.5_0.5&chosen=rank_3&lang=zh",
    "machine=switch:ranks=4&fault=straggler:rank=1,late=1ms&against=fault=",
    "machine=torus:dims=2x8&algorithm=allgather.ring&size=1KiB&page=stage",
)
LATER = (
    "page=learn", "page=nosuch", "embed=true", "plan=01234567", "capture=example-hgx-h100", "machine=nosuch",
    "machine=switch:ranks=1", "t=hello", "t=-1", "size=%00", "machine=" + "(" * 3000, "algorithm=nosuch",
    "fault=straggler:rank=99,late=1ms", "schedule=hello",
)  # fmt: skip
APP = Starlette(routes=[Route("/{above:path}" + first.WHERE, first.first_picture)])


@pytest.fixture(autouse=True)
def own(monkeypatch):
    pool = OwnProcess()
    monkeypatch.setattr(future, "the_pool", lambda: pool)


def words(query):
    return dict(part.split("=", 1) for part in query.split("&") if part)


def asked(query, app=APP, path=f"/below/{first.WHERE}", **headers):
    """The head and the text of what is answered."""
    named = [(b"host", b"stage.example"), *((name.encode(), value.encode()) for name, value in headers.items())]
    scope = {"type": "http", "method": "GET", "path": path, "headers": named, "client": ("10.0.0.1", 1)}
    start, *parts = messages_of(app, scope | {"query_string": quote(query, safe="=&:,.%_*").encode()})
    assert start["status"] == 200
    return dict(start["headers"]), b"".join(part.get("body", b"") for part in parts)


@pytest.mark.parametrize("query", EARLY)
def test_it_is_what_the_page_mounts_its_player_with(query):
    early = json.loads(asked(query)[1])
    (player,) = players(page(**words(query)))
    mounted = json.loads(player.proto.json)
    assert early["v"] == mounted["v"]
    assert early["text"] == mounted["text"]
    assert [run["id"] for run in early["runs"]] == [run["id"] for run in mounted["runs"]]
    assert early["runs"] == mounted["runs"]
    assert early["start"] == mounted["start"] | {"is_linked": False}  # it leaves the address to the page


@pytest.mark.parametrize("query", LATER)
def test_where_the_page_has_more_to_say_or_another_place_for_it_nothing_comes_before(query):
    assert asked(query)[1] == future.NOTHING


def test_a_browser_s_language_is_spoken_where_the_address_names_none():
    for query, browser, language in (
        ("", "zh-CN,en", "zh"),
        ("lang=en", "zh-CN", "en"),
        ("", "fr", "en"),
        ("", "", "en"),
    ):
        early = json.loads(asked(query, **{"accept-language": browser})[1])
        assert early["text"]["player.play"] == catalogue(language)["player.play"]


def test_what_is_large_comes_once_with_the_page(monkeypatch):
    monkeypatch.setattr(first, "LARGEST", 1000)
    assert asked("")[1] == future.NOTHING


def test_a_page_says_where_its_picture_is_to_be_had_and_has_a_place_for_it():
    app = Ahead(Starlette(routes=[Route("/", lambda _: HTMLResponse("<body><div id=root></div></body>"))]))
    for query in EARLY:
        head, text = asked(query, app, "/")
        preload = f"<{first.WHERE}{'?' if query else ''}{query}>; rel=preload; as=fetch; crossorigin"
        assert preload in head[b"link"].decode()
        assert text.count(b'<div id="ringside-first"') == 1
        assert int(head[b"content-length"]) == len(text)
    for query in LATER[:5]:
        head, text = asked(query, app, "/")
        assert b"as=fetch" not in head[b"link"]
        assert b"ringside-first" not in text


@pytest.mark.parametrize(
    "query", [b"a=>; rel=stylesheet", b'a="', b"a=\xff", b"a=\r\nx: y", b"a=" + b"b" * first.LONGEST]
)
def test_no_header_repeats_what_could_be_more_than_an_address(query):
    assert first.announced(query) == b""


def test_a_run_that_takes_long_is_left_to_the_page(monkeypatch):
    class Slow(OwnProcess):
        def ask(self, visitor, call, *, shared=True):
            job = super().ask(visitor, call, shared=shared)
            job.result = lambda seconds: (_ for _ in ()).throw(TimeoutError(Estimate, seconds))
            return job

    monkeypatch.setattr(future, "the_pool", Slow)
    assert asked("")[1] == future.NOTHING
