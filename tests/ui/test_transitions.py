"""What a page's state becomes, without a page: plans undone and redone, talks in order, answers that count."""

import math

import pytest

from ops.ladder import ladder
from ops.plan import Plan
from ui.build.state import BuildState, of_task
from ui.learning.predictions import predictions
from ui.learning.state import LearnState
from ui.plan.beginning import Beginning
from ui.simulate.state import MOST, SimulateState
from ui.story.state import StoryState
from ui.talk import Talk, TalkScene
from ui.talk.state import TalkState
from ui.train.state import TrainState
from ui.visit import REMEMBERED, VisitState

ONE, TWO, THREE = (Plan(machine=f"switch:ranks={n}") for n in (2, 3, 4))
VIEWS = ("machine", "shape")


def visited(*plans):
    now = SimulateState()
    for plan in plans:
        now = now.moved_on(plan)
    return now


def test_plans_are_undone_and_redone_in_order():
    now = visited(ONE, TWO, TWO, THREE)
    assert now.past == (ONE, TWO)
    back = now.undone().undone()
    assert (back.plan, back.past, back.future) == (ONE, (), (THREE, TWO))
    assert back.redone().redone() == visited(ONE, TWO, THREE).undone().undone().redone().redone()
    assert (back.redone().plan, back.redone().past, back.redone().future) == (TWO, (ONE,), (THREE,))
    assert back.moved_on(THREE).future == ()
    assert visited(ONE).redone() == visited(ONE)
    assert len(visited(*(Plan(size=f"{n} B") for n in range(MOST + 9))).past) == MOST


def test_what_was_typed_and_never_ran_is_undone_first():
    typed = visited(ONE, TWO).ran(TWO, is_refused=True)
    assert (typed.undone().plan, typed.undone().past) == (TWO, (ONE,))
    assert typed.moved_on(THREE).undone().plan == TWO  # a hand asked for it
    assert typed.ran(TWO, is_refused=False).undone().plan == ONE


def test_a_player_begins_again_only_where_a_view_is_named():
    now = visited(ONE).played(2.0, "shape", VIEWS, "")
    assert now.restored(TWO).number == now.number
    again = now.restored(TWO, Beginning(1.0, "machine"))
    assert (again.number, again.start, again.stood) == (now.number + 1, Beginning(1.0, "machine"), None)


def test_a_page_is_found_as_it_was_left():
    now = visited(ONE).played(2.0, "shape", VIEWS, "1_2")
    assert now.is_brushed
    assert not now.played(2.0, "shape", VIEWS, "1_2").is_brushed
    assert now.drawn_again(has_come=True).start == Beginning(2.0, "shape")
    assert now.drawn_again(has_come=False).start == Beginning()
    for t, view in ((math.nan, "nosuch"), ("3", None), (None, 7)):
        assert now.played(t, view, VIEWS, "").stood == (2.0, "shape")


def test_a_damaged_link_is_told_until_another_plan_is_shown():
    now = SimulateState().arrived(ONE, Beginning(), "the link is damaged")
    assert now.is_read
    assert now.drawn_again(has_come=False).problem
    assert not now.moved_on(TWO).drawn_again(has_come=False).problem


@pytest.mark.parametrize("word", ["", "close", None, 7, ["end"], {"end": 1}, "end; drop"])
def test_what_a_browser_makes_up_changes_nothing_of_the_story(word):
    assert StoryState().heard(word) == StoryState()


def test_a_story_is_told_again_with_another_number():
    told = StoryState().heard("open")
    assert told.number == 1
    away = told.heard("skip")
    assert (away.number, away.has_led_on) == (0, False)
    assert away.heard("open") == StoryState(number=3, count=3)
    assert away.heard("own").has_led_on


def test_what_a_visit_begins_with_is_its_first_plan_until_another_one_is_chosen():
    now = SimulateState().arrived(ONE, Beginning(), "", is_first=True)
    assert now.is_first
    assert now.ran(ONE, is_refused=False).is_first
    assert not now.moved_on(TWO).is_first
    assert not now.moved_on(TWO).undone().is_first


def test_scenes_of_a_talk_change_places_and_keep_what_is_written_to_them():
    now = TalkState().added(TalkScene(ONE, "a")).added(TalkScene(TWO, "b"))
    assert now.chosen == 1
    turned = now.moved(1, 0)
    assert ([entry.title for entry in turned.own.scenes], turned.chosen, turned.turn) == (["b", "a"], 0, 1)
    assert turned.written(1, notes="n").own.scenes[1] == TalkScene(ONE, "a", notes="n")
    assert turned.removed(0).own == Talk(scenes=(TalkScene(ONE, "a"),))
    assert turned.removed(0).removed(0).own == Talk()


def test_a_board_is_found_as_it_was_left():
    first, second = ladder()[:2]
    now = BuildState().turned(second.name)
    assert now.drawing == of_task(second)
    assert now.turned(first.name).drawing == BuildState().drawing
    assert now.solving("x").turned("own").solved == {"x"}
    assert now.arrived(None, "damaged").drawing == BuildState().drawing


def test_only_the_first_answer_to_a_question_counts():
    question = ("ring", 3, 0)
    once = LearnState().answered("k", question, 4.0)
    twice = once.answered("k", question, 5.0)
    assert predictions(twice.words)[question] == predictions(once.words)[question]
    assert twice.answers == {"k": 5.0}
    assert once.ending("ring").words == once.words | {"ring"}
    assert once.brought({"trees"}).problem == ""


def test_a_collective_plays_again_each_time_it_is_chosen():
    assert TrainState().playing(0.25).playing(0.25) == TrainState(share=0.25, plays=2)


def test_a_visit_remembers_the_newest_long_plans():
    now = VisitState()
    for n in range(REMEMBERED + 5):
        now = now.remembering(str(n % (REMEMBERED + 2)), ONE)
    assert len(now.long_plans) == REMEMBERED
    assert [*now.long_plans][-1] == "2"
    assert not VisitState().drawing("stage").has_come
    assert VisitState().drawing("stage").drawing("learn").has_come
