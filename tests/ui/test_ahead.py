"""What comes ahead of the page while a slider moves."""

from types import SimpleNamespace

import pytest

from ops.plan import Plan
from ops.plan.link import from_link
from ui.drawer import ahead
from ui.workers import asking, tasks
from ui.workers.pool import PoolLimits, WorkerPool

PLAN = Plan(machine="switch:ranks=16")


@pytest.fixture
def slider(monkeypatch):
    """Moves a slider of ranks to a place; what is asked and what is expected then, by their ranks."""
    asked, expected = [], []
    state = {"plan": PLAN, "good": PLAN, "is_brief": True}
    shown = SimpleNamespace(session_state=_State(state))
    monkeypatch.setattr(ahead, "st", shown)
    monkeypatch.setattr(ahead, "spoken", lambda: "en")
    monkeypatch.setattr(ahead, "is_alone", lambda: True)
    monkeypatch.setattr(ahead, "page_script", lambda _: ask)
    monkeypatch.setattr(ahead, "expect", lambda _, plan, language: expected.append(plan.ranks))

    def ask(key, data, on_rested_change):
        place, named = data["place"] - data["first"], data["question"]["plan"]
        asked.append(from_link(named | {name: texts[place] for name, texts in data["words"].items()}).ranks)

    def move(place):
        asked.clear()
        expected.clear()
        ahead.follow("ranks", place, range(2, 17), lambda at: {"ranks": at})
        return asked, expected

    return move


class _State(dict):
    """As a page's: names are attributes, too."""

    __getattr__ = dict.__getitem__


def test_what_a_slider_comes_to_next_is_run_before_it_gets_there(slider):
    assert slider(9) == ([9], [])  # from where to is not known
    assert slider(8) == ([8], [7])
    assert slider(5) == ([5], [2])
    assert slider(3) == ([3], [])  # there is no place 1
    assert slider(4) == ([4], [5])


def test_what_is_expected_is_there_when_it_is_asked(monkeypatch):
    pool = WorkerPool(PoolLimits(1, 1 << 32, 60.0)).start()
    try:
        monkeypatch.setattr(asking, "the_pool", lambda: pool)
        asking.expect(tasks.run, PLAN, "en")
        job = pool.ask("", asking.Call(tasks.run, (PLAN, "en")))
        assert job.result(60).read().messages == 30
        assert pool.load()["done"] == 1
        assert pool.ask("", asking.Call(tasks.run, (PLAN, "en"))).done()
    finally:
        pool.close()
