"""What a hand asks on the stage: both futures come ahead of the page, which follows once the hand rests."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from ops.plan import Plan
from ops.plan.link import to_link
from tests.ui.asgi import messages_of
from ui.controls import fork
from ui.plan import picture
from ui.player.payload import unpack
from ui.server import future
from ui.simulate import ahead
from ui.simulate.state import SimulateState
from ui.state import become, change, state
from ui.text import say
from ui.workers.one import OwnProcess

PLAN = Plan(machine="switch:ranks=4")
LATE = "straggler:rank=1,late=1ms"
HALF = "slow_link:src=GPU0,dst=SW,share=0.5,start=1us"
APP = Starlette(routes=[Route("/{above:path}" + ahead.WHERE, future.future, methods=["POST"])])
HOST = "stage.example"


class AgainError(Exception):
    """All of the page is drawn."""


@pytest.fixture
def simulated(monkeypatch):
    """The state of a visit that shows PLAN."""

    def again():
        raise AgainError

    monkeypatch.setattr("streamlit.session_state", {})
    monkeypatch.setattr("streamlit.rerun", again)
    become(SimulateState(plan=PLAN, has_plan=True, is_brief=True))


@pytest.fixture
def ran(monkeypatch):
    """The plans that are run."""
    ran, run = [], picture.run
    pool = OwnProcess()
    monkeypatch.setattr(future, "the_pool", lambda: pool)
    monkeypatch.setattr(picture, "run", lambda plan, language: ran.append(plan) or run(plan, language))
    return ran


def asked(asked=LATE, plan=PLAN, language="en", body=None, **headers):
    """What is answered: its status, and the runs where there are any."""
    body = body or json.dumps({"plan": to_link(plan), "language": language, "asked": asked}).encode()
    named = [(name.encode(), value.encode()) for name, value in {"host": HOST, **headers}.items()]
    scope = {"type": "http", "method": "POST", "path": f"/below/{ahead.WHERE}", "headers": named, "query_string": b""}
    start, *parts = messages_of(APP, scope | {"client": ("10.0.0.1", 1)}, body)
    text = b"".join(part.get("body", b"") for part in parts)
    return start["status"], json.loads(text)["runs"] if text.startswith(b"{") else json.loads(text or b"[]")


def test_both_futures_come_before_the_page_and_only_the_new_one_is_run(ran):
    status, before = asked()
    assert status == 200
    assert [plan.fault for plan in ran] == [LATE, ""]
    ran.clear()
    status, runs = asked(f"{LATE};{HALF}")
    assert [plan.fault for plan in ran] == [f"{LATE};{HALF}"]
    assert [run["id"] for run in runs[1:]] == [before[1]["id"]]
    assert len({run["title"] for run in runs}) == 2
    assert all(run["stays"] for run in runs)
    late = unpack(before[0])[0]["meta"]["time"] - unpack(before[1])[0]["meta"]["time"]
    assert late == pytest.approx(1e-3)


def test_a_plan_may_be_asked_as_it_is(ran):
    status, runs = asked("")
    assert status == 200
    assert [run["title"] for run in runs] == [""]
    assert ran == [PLAN]


def test_futures_are_told_in_the_language_of_the_page(ran):
    titles = [run["title"] for run in asked(language="zh")[1]]
    assert titles[1] == say("page.compare.faultless", "zh")
    assert titles[0] == "rank 1 晚 1 ms 开始"
    assert asked()[1][1]["title"] == say("page.compare.faultless")
    half = asked(HALF, language="zh")[1][0]["title"]
    assert half == "GPU0 → SW 带宽减半（从 1 µs 起）"
    assert asked(HALF)[1][0]["title"] == "Half the bandwidth on GPU0 → SW from 1 µs on"


@pytest.mark.usefixtures("simulated")
def test_a_page_is_drawn_with_all_that_hands_have_asked():
    change(SimulateState, forked=f"{LATE};{HALF}")
    with pytest.raises(AgainError):
        fork.take(PLAN)
    after = state(SimulateState)
    assert after.plan.fault == f"{LATE};{HALF}"
    assert after.past == (PLAN, fork.compare.forked(PLAN, LATE))
    assert after.keeps_instant
    fork.take(PLAN)  # the player says where it stands: nothing is new
    change(SimulateState, forked=fork.UNDO)
    with pytest.raises(AgainError):
        fork.take(after.plan)
    assert state(SimulateState).plan.fault == LATE


@pytest.mark.usefixtures("simulated")
def test_what_a_link_has_changed_is_undone_to_its_baseline():
    become(SimulateState(plan=fork.applied(PLAN, LATE), has_plan=True, forked=fork.UNDO))
    with pytest.raises(AgainError):
        fork.take(state(SimulateState).plan)
    assert state(SimulateState).plan == PLAN


@pytest.mark.usefixtures("simulated")
def test_a_player_may_ask_where_the_page_would_have_no_more_to_say():
    assert ahead.asking(PLAN) == {"to": ahead.WHERE, "plan": to_link(PLAN), "language": "en"}
    assert ahead.asking(replace(PLAN, capture=" ".join(map(str, range(20_000))))) is None
    change(SimulateState, is_brief=False)
    assert ahead.asking(PLAN) is None


@pytest.mark.parametrize(
    "asked_for",
    [
        {"asked": "slow_link:src=GPU9,dst=SW"},
        {"asked": "nosuch"},
        {"plan": replace(PLAN, machine="nosuch")},
    ],
)
def test_a_future_that_cannot_be_is_left_to_the_page(asked_for, ran):
    assert asked(**asked_for) == (200, None)


def test_what_is_large_is_left_to_the_page(monkeypatch, ran):
    monkeypatch.setattr(future, "LARGEST", 1000)
    assert asked() == (200, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"asked": " ;"},
        {"language": "tlh"},
        {"body": b"hello"},
        {"body": b"[1]"},
        {"body": b"[" * 60_000},
        {"body": json.dumps({"plan": {"size": 1}, "language": "en", "asked": LATE}).encode()},
    ],
)
def test_nothing_is_answered_to_what_no_player_asks(wrong, ran):
    assert asked(**wrong) == (400, [])
    assert not ran


def test_nobody_asks_for_another_site_or_too_much(ran):
    assert asked(origin=f"https://{HOST}")[0] == 200
    assert asked(origin="https://evil.example") == (403, [])
    assert asked(body=b"x" * (future.LONGEST + 1)) == (413, [])
    assert len(ran) == 2


def test_whoever_asks_for_many_futures_at_once_gets_a_few_on_the_threads_there_are_for_them(
    monkeypatch,
):
    def runs(*_):
        running.append(threading.current_thread().name)
        done.wait(0.02)
        return b"[]"

    async def ask(k):
        body = json.dumps({"plan": {}, "language": "en", "asked": LATE}).encode()
        await APP(scope, partial(_received, body), partial(_sent, answers))

    async def _received(body):
        return {"type": "http.request", "body": body, "more_body": False}

    async def _sent(into, message):
        into.append(message)

    async def all_at_once():
        await asyncio.gather(*map(ask, range(40)))

    running, answers, done = [], [], threading.Event()
    scope = {"type": "http", "method": "POST", "path": f"/{ahead.WHERE}", "headers": [], "query_string": b""}
    monkeypatch.setattr(future, "_packed", runs)
    with ThreadPoolExecutor(1) as own:
        own.submit(asyncio.run, all_at_once()).result()
    assert [it["status"] for it in answers if "status" in it] == [200] * 40
    assert [it["body"] for it in answers if "body" in it].count(b"[]") == len(running) == future.MOST
    assert len(set(running)) <= 2
    assert all(name.startswith("future") for name in running)
