"""The story's runs, numbers and words, and what a visit has of it; `tests/browser/test_story.py` hears it."""

import json

import numpy as np
import pytest

from ops.plan import Plan
from ops.plan.examples import example_captures
from sim.schedule.numeric import execute
from tests.ui.test_page import page, players
from tests.ui.visited import change_state, state_of
from ui.plan.picture import carried_out
from ui.player.payload import unpack
from ui.simulate.state import SimulateState
from ui.story import CHAPTERS, Chapter, Passage
from ui.story.state import StoryState
from ui.story.telling import gradients, story
from ui.text import languages, say, written

TOLD = {language: story(language) for language in languages()}
FEW = 24
"""Words that a stretch has at most: what is read while a picture moves."""
LENGTH = 40
"""Seconds that all of it takes."""


def test_it_is_told_in_the_order_of_the_list_on_runs_that_are_packed_once():
    told = TOLD["en"]
    assert [chapter["name"] for chapter in told["chapters"]] == [chapter.name for chapter in CHAPTERS]
    assert len(told["runs"]) == len({chapter.plan for chapter in CHAPTERS}) < len(CHAPTERS)
    assert len(json.dumps(told)) < 20_000
    assert sum(s["seconds"] for chapter in told["chapters"] for s in chapter["stretches"]) == LENGTH


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
    assert "16.79 ms" in texts["server", 2]
    assert "4.206 ms instead of 16.79 ms: 4 times faster" in texts["ring", 2]
    assert all(figure in texts["sockets", 1] for figure in ("CPU0 → CPU1", "1.5 times slower"))
    assert TOLD["en"]["guesses"] == {"right": "4", "all": ["2", "4", "8"]}


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
    eight = Chapter("eight", Plan(machine="switch:ranks=8", size="8MiB"), (Passage(0, 14),))
    told = story("en", (*CHAPTERS, eight))
    assert len(told["runs"]) == len(TOLD["en"]["runs"]) + 1
    assert told["chapters"][-1]["stretches"][0]["text"] == "1"  # what has no words is told by its id
    header, _ = unpack(told["runs"][-1])
    assert len(told["runs"][-1]["goal"]) == header["meta"]["ranks"] == 8


def data(at):
    return json.loads(players(at)[0].proto.json)["story"]


def test_the_first_page_has_two_doors_and_sends_the_story_only_when_it_is_asked_for():
    at = page()
    assert say("intro.title") in [header.value for header in at.header]
    assert data(at) is None
    at.button(key="door_story").click().run()
    assert data(at)["told"] == json.loads(json.dumps(TOLD["en"]))
    at = page(story="1")
    assert data(at)["told"]


@pytest.mark.parametrize("words", [{"machine": "switch:ranks=8"}, {"size": "1MiB"}, {"t": "0.0001"}])
def test_a_link_goes_to_its_plan_without_the_doors(words):
    at = page(**words)
    assert data(at) is None
    assert not at.header
    assert not json.loads(players(at)[0].proto.json)["start"]["plays"]


def test_the_story_leads_to_a_machine_of_ones_own_which_is_read_as_if_it_was_dropped():
    at = page(machine="switch:ranks=8")
    change_state(at, SimulateState, story=StoryState(has_led_on=True))
    at.run()
    assert not at.exception
    assert state_of(at, SimulateState).plan == Plan()
    at.text_area(key="pasted").input(example_captures()["dgx-1v"])
    at.button(key="pasted_open").click().run()
    at.run()
    assert state_of(at, SimulateState).plan.capture
    assert not at.header
    at.button(key="undo").click().run()
    assert state_of(at, SimulateState).plan == Plan()
