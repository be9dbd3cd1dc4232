"""What comes ahead of the page while a slider moves."""

import pytest

from ops.plan import Plan
from ops.plan.link import from_link
from ui.simulate import ahead
from ui.simulate.state import SimulateState
from ui.state import become

PLAN = Plan(machine="switch:ranks=16")


@pytest.fixture
def slider(monkeypatch):
    """Moves a slider of ranks to a place; returns what is asked there, by its ranks."""
    asked = []
    monkeypatch.setattr("streamlit.session_state", {})
    monkeypatch.setattr(ahead, "is_alone", lambda: True)
    monkeypatch.setattr(ahead, "page_script", lambda _: ask)
    become(SimulateState(plan=PLAN, good=PLAN, is_brief=True))

    def ask(key, data, on_rested_change):
        place, named = data["place"] - data["first"], data["question"]["plan"]
        asked.append(from_link(named | {name: texts[place] for name, texts in data["words"].items()}).ranks)

    def move(place):
        asked.clear()
        ahead.follow("ranks", place, range(2, 17), lambda at: {"ranks": at})
        return asked

    return move


def test_a_player_may_ask_for_every_place_of_a_slider(slider):
    assert [slider(place)[:] for place in (9, 2, 16)] == [[9], [2], [16]]
