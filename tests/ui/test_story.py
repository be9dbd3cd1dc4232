"""The story's runs, numbers and words, and what a visit has of it; `tests/browser/test_story.py` hears it."""

import json

import numpy as np
import pytest

from ops.plan import Plan
from sim.schedule.numeric import execute
from tests.ui.test_page import page, players
from tests.ui.visited import change_state, state_of
from ui.plan.picture import carried_out, run
from ui.player.payload import unpack
from ui.simulate.state import SimulateState
from ui.story import CHAPTERS, Chapter
from ui.story.state import StoryState
from ui.story.telling import gradients, story
from ui.text import languages, written

TOLD = {language: story(language) for language in languages()}
FEW = 60
"""Words that a stretch has at most: what is read while a picture moves."""


def test_it_is_told_in_the_order_of_the_list_on_runs_that_are_packed_once():
    told = TOLD["en"]
    assert [chapter["name"] for chapter in told["chapters"]] == [chapter.name for chapter in CHAPTERS]
    assert len(told["runs"]) == len({chapter.plan for chapter in CHAPTERS}) < len(CHAPTERS)
    assert len(json.dumps(told)) < 20_000
    stage = run(CHAPTERS[-1].plan, "en").payload["packed"]
    assert told["runs"][told["chapters"][-1]["run"]]["id"] == stage["id"]  # by which the player knows it again


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_every_rank_ends_with_what_adding_up_real_numbers_gives(chapter):
    schedule = carried_out(chapter.plan).trace.schedule
    own = np.array(gradients(schedule.n))
    blocks = schedule.promise.blocks
    inputs = own.reshape(schedule.n, blocks, -1)
    goal = next(r["goal"] for c, r in _with_runs() if c["name"] == chapter.name)
    assert (execute(schedule, inputs)[:, :blocks].reshape(schedule.n, -1) == goal).all()


def _with_runs(language="en"):
    told = TOLD[language]
    return [(chapter, told["runs"][chapter["run"]]) for chapter in told["chapters"]]


def test_figures_are_those_of_the_runs():
    texts = {(c["name"], k): s["text"] for c, _ in _with_runs() for k, s in enumerate(c["stretches"], 1)}
    assert "3 + 5 + 5 + 9 = 22" in texts["sum", 1]
    assert all(figure in texts["server", 2] for figure in ("192 MiB", "16.79 ms"))
    assert "4.206 ms instead of 16.79 ms: the ring is 4 times as fast" in texts["ring", 2]
    assert "every GPU sends the same 96 MiB" in texts["ring", 3]
    assert "16 GB/s, not 24 GB/s" in texts["sockets", 1]
    assert all(figure in texts["sockets", 2] for figure in ("CPU0 → CPU1", "6.292 ms instead of 4.206 ms"))


@pytest.mark.parametrize("language", languages())
def test_every_stretch_has_few_words_in_every_language(language):
    for chapter, _ in _with_runs(language):
        assert f"story.{chapter['name']}" in written(language)
        for number, stretch in enumerate(chapter["stretches"], 1):
            assert f"story.{chapter['name']}.{number}" in written(language)
            assert 0 < len(stretch["text"].split()) <= FEW
            assert "{" not in stretch["text"]
            assert stretch["from"] <= stretch["to"]


def test_another_chapter_is_another_entry():
    eight = Chapter("eight", Plan(machine="switch:ranks=8", size="8MiB"), ((0, 14),))
    told = story("en", (*CHAPTERS, eight))
    assert len(told["runs"]) == len(TOLD["en"]["runs"]) + 1
    assert told["chapters"][-1]["stretches"][0]["text"] == "1"  # what has no words is told by its id
    header, _ = unpack(told["runs"][-1])
    assert len(told["runs"][-1]["goal"]) == header["meta"]["ranks"] == 8


def data(at):
    return json.loads(players(at)[0].proto.json)["story"]


def test_the_first_page_offers_it_and_sends_it_only_when_it_is_asked_for():
    at = page()
    assert data(at)["text"]["story.offer"]
    assert not data(at)["seen"]
    assert "told" not in data(at)
    change_state(at, SimulateState, story=StoryState(number=1))
    assert data(at.run())["told"] == json.loads(json.dumps(TOLD["en"]))


@pytest.mark.parametrize("words", [{"machine": "switch:ranks=8"}, {"size": "1MiB"}])
def test_a_link_with_a_plan_shows_the_plan(words):
    assert data(page(**words)) is None


def test_who_heard_it_to_its_end_stands_at_its_last_run_and_may_go_back():
    at = page()
    change_state(at, SimulateState, story=StoryState(has_ended=True))
    at.run()
    at.run()
    assert not at.exception
    assert data(at) is None
    assert state_of(at, SimulateState).plan == CHAPTERS[-1].plan
    assert at.query_params["machine"] == CHAPTERS[-1].plan.machine
    at.button(key="undo").click().run()
    assert state_of(at, SimulateState).plan == Plan()
