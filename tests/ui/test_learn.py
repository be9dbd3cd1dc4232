"""Lessons without a browser: every question is answered by its runs, graded, and explained in every language."""

import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ops.plan import Plan
from sim.units import fmt_number, fmt_size, fmt_time
from tests.tables import each_row
from tests.ui.test_page import players
from tests.ui.visited import state_of
from ui.export.exports import Shot, played
from ui.learning.predictions import finished, step_of
from ui.learning.runs import figures
from ui.learning.runs import runs_of as carried_out
from ui.learning.state import LearnState
from ui.learning.timeline import picture, upto
from ui.lessons import LESSONS, times
from ui.text import catalogue, languages

kept_runs = cache(carried_out)
APP = str(Path(__file__).parents[2] / "app.py")
CALLED = r"\{[^}]*\}|(?:GPU|[Rr]ank |[Ss]tage |阶段 |step |第 )\d+|LL128|1F1B|GPT-2|DGX-1V|×10⁹"
"""Numbers that are names, and places to fill in."""
STEPS = [(name, k) for name, lesson in LESSONS.items() for k in range(1, len(lesson.steps) + 1)]
TURNS = [(name, k, turn) for name, k in STEPS for turn in range(1 + len(LESSONS[name].steps[k - 1].again))]


def runs_of(step):
    return kept_runs(step.plans)


def learn(**words):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in {"page": "learn", **words}.items():
        at.query_params[name] = word
    at.run()
    assert not at.exception
    return at


def check_question(name, number, step):
    """A question has one right answer and an explanation."""
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
    said = answer if isinstance(answer, str) else fmt_number(answer, ask.unit)  # as pages say it
    words = figures(runs) | dict(ask.facts(runs)) | {"answer": said}
    for language, (key, own) in product(languages(), LESSONS[name].words().items()):
        if key.startswith(f"lesson.{name}.{number}"):
            assert "{" not in catalogue(language).get(key, own).format(**words)


def numbers(text):
    return set(re.findall(r"\d+(?:\.\d+)?", text))


def check_figures(name, number, turn, step):
    """Figures in the words of a lesson are those of its runs."""
    runs = runs_of(step)
    words = figures(runs) | dict(step.ask.facts(runs) if step.ask else {})
    answer = step.ask.answer(runs) if step.ask else ""
    told = [*words.values(), step.plans, answer if isinstance(answer, str) else f"{answer:.4g}"]
    true = numbers(" ".join(map(str, told))) | {"0", "1", "2"}
    for language in languages():
        texts = {key: text for key, text in catalogue(language).items() if key.startswith(f"lesson.{name}.{number}")}
        parts = (".ask", ".because") if turn else ("", ".ask", ".because")
        texts = {key: text for key, text in texts.items() if key.removeprefix(f"lesson.{name}.{number}") in parts}
        typed = {key: numbers(re.sub(CALLED, "", text)) - true for key, text in texts.items()}
        assert {key: wrong for key, wrong in typed.items() if wrong} == {}


@pytest.mark.slow
@each_row("name, number, turn", TURNS, over=["turn"])
def test_a_step_of_a_lesson_is_asked_explained_and_a_small_page_that_plays_offline(name, number, turn):
    step = step_of(name, number, turn)
    if step.ask:
        check_question(name, number, step)
    check_figures(name, number, turn, step)
    if isinstance(step.plan, Plan):
        traces = [run.trace for run in runs_of(step)]
        language = languages()[(number + turn) % len(languages())]
        size = len(played(traces, Shot(step.view, language=language)))
        assert 200_000 < size < 300_000  # it is whole


def test_before_an_answer_a_timeline_shows_its_beginning_and_nothing_of_what_is_asked():
    step = LESSONS["buckets"].steps[0]
    (run,) = runs_of(step)
    known = upto(run, 0.3 * run.time)
    assert {span.lane for span in known.spans} == {"compute"}
    assert max(span.end for span in known.spans) <= 0.3 * run.time
    asked, answered = (picture(step, [run], [""], "en", answered=it) for it in (False, True))
    assert 'data-lane="exposed"' not in asked
    assert fmt_time(run.time) not in asked
    assert 'data-lane="exposed"' in answered
    assert fmt_time(run.time) in answered
    memory = LESSONS["stages"].steps[1]
    assert "data-lane" not in picture(memory, runs_of(memory), ["a", "b"], "en", answered=False)
    shown = picture(memory, runs_of(memory), ["<a>", "b"], "en", answered=True)
    assert shown.count("data-memory") == 2
    assert "&lt;a&gt;" in shown
    assert f"optimizer {fmt_size(12 * runs_of(memory)[0].facts['parameters'] / 4)}" in shown


@pytest.mark.slow
@each_row("step, language", product(STEPS, languages()), days=6)
def test_every_step_is_drawn(step, language):
    name, number = step
    at = learn(lesson=name, step=str(number), lang=language)
    assert not at.error
    texts = [element.value for element in at.markdown]
    lesson, step = LESSONS[name], LESSONS[name].steps[number - 1]
    text = catalogue(language).get(f"lesson.{name}.{number}", step.text or lesson.about)
    facts = figures(runs_of(step)) | dict(step.ask.facts(runs_of(step)) if step.ask else {})
    assert text.format(**facts) in texts
    assert len(players(at)) == isinstance(step.plan, Plan)


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
    assert finished(state_of(at, LearnState).words) == {"server"}


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
    assert "Unknown lesson nothing" in at.error[0].value


def test_a_plan_of_a_lesson_opens_on_the_stage():
    at = learn(lesson="trees", step="3")
    next(b for b in at.button if "Simulate" in b.label).click().run()
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
