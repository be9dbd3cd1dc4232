"""Lessons without a browser: every question is answered by its runs, graded, and explained in every language."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.test_page import players
from ui.lessons import LESSONS, times
from ui.scene.picture import carried_out
from ui.text import catalogue, languages

APP = str(Path(__file__).parents[2] / "app.py")
ASKED = [(name, k) for name, lesson in LESSONS.items() for k, step in enumerate(lesson.steps, 1) if step.ask]
STEPS = [(name, k) for name, lesson in LESSONS.items() for k in range(1, len(lesson.steps) + 1)]


def runs_of(step):
    return [carried_out(scene) for scene in (step.scene, *step.scene.others())]


def learn(**words):
    at = AppTest.from_file(APP, default_timeout=60)
    for name, word in {"page": "learn", **words}.items():
        at.query_params[name] = word
    at.run()
    assert not at.exception
    return at


@pytest.mark.parametrize(("name", "number"), ASKED)
def test_every_question_has_one_right_answer_and_an_explanation(name, number):
    step = LESSONS[name].steps[number - 1]
    runs, ask = runs_of(step), step.ask
    answer = ask.answer(runs)
    assert ask.grade(answer, runs)
    if ask.options:
        assert answer in ask.options
        assert sum(ask.grade(option, runs) for option in ask.options) == 1
    else:
        assert answer > 0
        assert not ask.grade(answer * 3, runs)
        assert not ask.grade(0.0, runs)
    for language in languages():
        text = catalogue(language).get(f"lesson.{name}.{number}.because", ask.because)
        because = text.format(answer=answer, **ask.facts(runs))
        assert "{" not in because


@pytest.mark.slow
@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize(("name", "number"), STEPS)
def test_every_step_is_drawn(name, number, language):
    at = learn(lesson=name, step=str(number), lang=language)
    assert not at.error
    texts = [element.value for element in at.markdown]
    lesson = LESSONS[name]
    assert catalogue(language).get(f"lesson.{name}.{number}", lesson.steps[number - 1].text or lesson.about) in texts
    assert len(players(at)) == 1


def test_a_lesson_is_walked_from_its_first_step_to_its_last():
    at = learn(lesson="server")
    for number, step in enumerate(LESSONS["server"].steps, 1):
        assert at.query_params.get("step", "1")[0] == str(number)
        assert any("Answer first" in c.value for c in at.caption)
        answer = step.ask.answer(runs_of(step))
        at.radio(key=f"answer_server_{number}_choice").set_value(answer)
        next(b for b in at.button if b.label == "Check").click().run()
        assert at.success[0].value.startswith("Right")
        at.button(key="next").click().run()
    assert any("Lesson done" in s.value for s in at.success)
    assert "server" in at.session_state.lessons_done


def test_a_wrong_answer_leads_back_to_the_run_and_the_right_one_is_told_when_asked_for():
    at = learn(lesson="ring", step="3")
    at.number_input(key="answer_ring_3_number").set_value(64.0)
    next(b for b in at.button if b.label == "Check").click().run()
    assert at.info[0].value.startswith("Not quite. The run shows it: watch “Who holds what” play")
    assert "112" not in at.info[0].value
    at.button(key="answer_ring_3_tell").click().run()
    assert at.info[0].value.startswith("It is 112 MiB.")
    at.number_input(key="answer_ring_3_number").set_value(112.0)
    next(b for b in at.button if b.label == "Check").click().run()
    assert at.success[0].value.startswith("Right: 112 MiB.")


def test_a_damaged_link_to_a_lesson_is_told():
    at = learn(lesson="nothing", step="x")
    assert "No lesson is called nothing" in at.error[0].value


def test_a_scene_of_a_lesson_opens_on_the_stage():
    at = learn(lesson="trees", step="3")
    next(b for b in at.button if "stage" in b.label).click().run()
    assert not at.exception
    assert at.query_params["algorithm"] == "broadcast.binomial"
    assert "segments=64" in at.query_params["against"]


def test_texts_of_lessons_are_all_used():
    told = {name: lesson for name, lesson in LESSONS.items() if f"lesson.{name}.title" in catalogue("en")}
    assert len(told) >= 9
    wanted = {f"lesson.{name}.title" for name in told}
    for name, lesson in told.items():
        for number, step in enumerate(lesson.steps, 1):
            parts = ("", ".ask", ".because") if step.ask else ("",)
            wanted |= {f"lesson.{name}.{number}{part}" for part in parts}
    there = {key for key in catalogue("en") if re.match(r"lesson\.(?!option)", key)}
    assert there == wanted


@pytest.mark.parametrize(
    ("value", "word"), [(1.08, "same"), (1.9, "twice"), (3.6, "four"), (7.9, "eight"), (0.52, "half")]
)
def test_ratios_in_words(value, word):
    assert times(value) == word
