"""The page of a talk without a browser: what is typed there, what is refused, and what is kept."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Radio

from ops.plan import Plan
from sim.errors import InputError
from tests.ui.test_page import page
from tests.ui.visited import change_state, click_in, state_of
from ui.simulate.state import SimulateState
from ui.talk import StageLine, Talk, TalkScene, notation
from ui.talk.state import TalkState
from ui.text import say

APP = str(Path(__file__).parents[2] / "app.py")
FIRST, SECOND = (Plan(machine=f"switch:ranks={n}", size="1KiB") for n in (2, 3))


@pytest.mark.slow
def test_scenes_are_edited_and_what_cannot_be_is_told():
    at = AppTest.from_file(APP, default_timeout=180)
    at.query_params["page"] = "talk"
    at.run()
    assert any(say("page.talk.intro") == each.value for each in at.markdown)
    change_state(at, TalkState, own=Talk("t", (TalkScene(FIRST, "a", stops=(1.0,)), TalkScene(Plan(machine="no")))))
    at.run()
    assert not at.exception
    errors = [each.value for each in at.error]
    assert len(errors) == 2
    assert errors[0].startswith("1")
    assert "1 s" in errors[0]
    assert errors[1].startswith("2")
    change_state(at, TalkState, own=Talk("t", (TalkScene(FIRST, "a"), TalkScene(SECOND))))
    at.run()
    at.text_area[0].set_value("one\n[1us] two").run()
    at.text_area[1].set_value("**notes**").run()
    at.text_input[2].set_value("2us 1us").run()
    own = state_of(at, TalkState).own
    assert [line.text for line in own.scenes[0].lines] == ["one", "two"]
    assert (own.scenes[0].notes, len(own.scenes[0].stops)) == ("**notes**", 2)
    at.text_area[0].set_value("[never] two").run()
    assert any("never" in each.value for each in at.error)
    assert state_of(at, TalkState).own == own
    at.button(key="talk_down").click().run()
    assert [entry.plan for entry in state_of(at, TalkState).own.scenes] == [SECOND, FIRST]
    at.button(key="talk_remove").click().run()
    assert [entry.plan for entry in state_of(at, TalkState).own.scenes] == [SECOND]
    at.button(key="talk_show").click().run()
    assert state_of(at, SimulateState).plan == SECOND
    assert not at.exception


@pytest.mark.parametrize("word, start", [("²", 0.0), ("-1", 0.0), ("＋5e-6", 5e-6), ("٥", 5.0)])
def test_an_instant_that_is_none_of_a_link_is_not_taken_into_a_talk(word, start):
    at = page(machine="switch:ranks=4", t=word)
    click_in(at, "share", "add", 1)
    (entry,) = state_of(at, TalkState).own.scenes
    assert entry.place.get("t", "0") == (word if start else "0")
    at = page(page="talk")
    change_state(at, TalkState, own=Talk("t", (replace(entry, place={"t": word, "view": "machine"}),)))
    at.run()
    at.button(key="talk_show").click().run()
    assert not at.exception
    assert state_of(at, SimulateState).start.t == start


def test_a_scene_that_a_browser_calls_as_it_was_called_before_leaves_another_chosen():
    at = page(page="talk")
    change_state(at, TalkState, own=Talk("t", (TalkScene(FIRST, "a"), TalkScene(SECOND))))
    at.run()
    at.radio[0].set_value(1).run()
    before = property(lambda radio: WidgetState(id=radio.id, string_value="1. what it was called"))
    with patch.object(Radio, "_widget_state", before):
        at.run()
    assert not at.exception
    assert state_of(at, TalkState).chosen == 1
    assert len(at.text_area) == 2


def test_words_and_breakpoints_are_read_as_they_are_written():
    lines = (StageLine("first"), StageLine("then [so]", 8e-3))
    assert notation.lines_of(notation.in_lines(lines)) == lines
    stops = notation.stops_of("3ms，1us 3ms")
    assert stops == pytest.approx((1e-6, 3e-3))
    assert notation.stops_of(notation.in_words(stops)) == stops
    for text in ("[1ms]", "a\nb", "[x] a", "w" * 301, "\n".join(f"[{k}ms] w" for k in range(1, 22))):
        with pytest.raises(InputError):
            notation.lines_of(text)
    with pytest.raises(InputError):
        notation.stops_of(" ".join(f"{k}ns" for k in range(51)))
