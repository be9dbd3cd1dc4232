"""What was predicted in lessons: asked again later of another run, carried along as a link or a file."""

from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from sim.errors import InputError
from tests.tables import each_row
from tests.ui.visited import state_of
from ui.learn.asking import outcomes
from ui.learning.predictions import (
    HEAD,
    LARGEST,
    SPACING,
    ProgressWords,
    due,
    finished,
    from_text,
    from_word,
    predicted,
    predictions,
    step_of,
    to_text,
    to_word,
)
from ui.learning.state import LearnState
from ui.lessons import LESSONS

APP = str(Path(__file__).parents[2] / "app.py")
RING = predicted(set(), "ring", 3, 0, 64.0)
AGAIN = [
    (name, number, turn)
    for name, lesson in LESSONS.items()
    for number, step in enumerate(lesson.steps, 1)
    for turn in range(1, 1 + len(step.again))
]


def page(**words):
    at = AppTest.from_file(APP, default_timeout=180)
    for name, word in {"page": "learn", **words}.items():
        at.query_params[name] = word
    return at


def test_every_lesson_asks_something_again():
    assert {name for name, _, _ in AGAIN} == set(LESSONS)
    assert all(len(step.again) <= len(SPACING) for lesson in LESSONS.values() for step in lesson.steps)


@each_row("name, number, turn", AGAIN, over=["turn"])
def test_what_is_asked_again_is_of_another_case(name, number, turn):
    first, again = step_of(name, number), step_of(name, number, turn)
    assert again.again == ()
    runs, before = outcomes(again.plans), outcomes(first.plans)
    assert again.plans != first.plans or again.ask.facts(runs) != first.ask.facts(before)
    assert again.ask.answer(runs) != first.ask.answer(before)


def test_a_question_is_asked_again_when_other_lessons_are_finished():
    words = {RING, "ring"}
    assert due(words) is None
    assert due(words | {"trees"}) == ("ring", 3, 1)
    assert due(words | {"trees"}, now="ring") is None
    words |= {"trees", predicted(words | {"trees"}, "ring", 3, 1, 48.0)}
    assert due(words) is None
    assert due(words | {"numa", "late"}) is None
    words |= {"numa", "late", "server"}
    assert due(words) == ("ring", 3, 2)
    assert due(words | {predicted(words, "ring", 3, 2, 1.0)}) is None
    older = words | {predicted(set(), "basics", 3, 0, 4.0)}
    assert due(older) == ("basics", 3, 1)  # which has waited longer


def test_what_was_said_first_counts():
    later = predicted({"trees"}, "ring", 3, 0, 112.0)
    assert predictions({RING, later})["ring", 3, 0].answer == 64.0


def test_progress_is_a_file_and_a_link():
    words = {RING, "ring", predicted({"ring"}, "server", 1, 0, "GPU0 → SW")}
    assert from_text(to_text(words), "it") == from_word(to_word(words)) == words
    assert finished(words) == {"ring"}
    assert from_text(f"\ufeff{HEAD}\r\n\r\nring\r\n", "it") == {"ring"}
    everything = {*LESSONS, *(f"{n}/{k}/{t}/{len(LESSONS)}/{_said(n, k, t)}" for n, k, t in _asked())}
    assert all(word in ProgressWords() for word in everything)
    assert len(to_word(everything)) < 4000
    assert from_word(to_word(everything)) == everything


def _asked():
    steps = [(name, k) for name, lesson in LESSONS.items() for k, step in enumerate(lesson.steps, 1) if step.ask]
    return [(name, k, turn) for name, k in steps for turn in range(1 + len(LESSONS[name].steps[k - 1].again))]


def _said(name, number, turn):
    ask = step_of(name, number, turn).ask
    return ask.options[0] if ask.options else "3.14159"


@each_row(
    "line, says",
    [
        ("<script>", "line 2: '<script>' is no lesson and no answer: take the line out"),
        ("ring/3/0/0/nan", "line 2"),
        ("ring/3/0/0/inf", "line 2"),
        ("ring/3/0/0/1e999", "line 2"),
        ("ring/3/0/0/" + "9" * 50, "line 2"),
        ("ring/3/9/0/1", "line 2"),
        ("ring/9/0/0/1", "line 2"),
        ("ring/0/0/0/1", "line 2"),
        ("ring/1/0/0/1", "line 2"),
        ("ring/3/-1/0/1", "line 2"),
        ("ring/3/0/999/1", "line 2"),
        ("ring/3/0/0", "line 2"),
        ("none/3/0/0/1", "line 2"),
        ("ring/2/0/0/rank 99", "line 2"),
        ("x" * LARGEST, "larger than 65,536 characters: load a file that this page saved"),
    ],
)
def test_a_hostile_file_is_refused_in_one_sentence(line, says):
    with pytest.raises(InputError) as refused:
        from_text(f"{HEAD}\n{line}\n", "mine.txt")
    assert str(refused.value).startswith("mine.txt")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200
    for text in ("", "\x00" * 50, "ringside: plan-1\n", '{"a": 1}'):
        with pytest.raises(InputError, match="is no progress of lessons: load a file that begins with"):
            from_text(text, "mine.txt")


@pytest.mark.parametrize("word", ["", "x", "!!", "eJw=", "example-dgx-1v", "A" * 70_000])
def test_a_hostile_link_is_refused_in_one_sentence(word):
    with pytest.raises(InputError) as refused:
        from_word(word)
    assert "link's progress" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_a_question_comes_back_on_the_page_beside_what_was_said_before():
    at = page(lesson="server", progress=to_word({RING, "ring", "trees"})).run()
    assert not at.exception
    assert "finished: 2 of" in at.success[0].value
    assert "progress" not in at.query_params
    assert any("4 ranks sum 32 MiB" in m.value for m in at.markdown)
    at.button(key="again_go").click().run()
    assert at.title[0].value == "Why the ring is bandwidth-optimal"
    at.number_input(key="answer_ring_3_1_number").set_value(48.0)
    next(b for b in at.button if b.label == "Check").click().run()
    assert at.success[0].value.startswith("Right: 48 MiB. 6 steps of 8 MiB")
    assert any(c.value == "Last time you predicted 64 MiB, but it was 112 MiB." for c in at.caption)
    assert predictions(state_of(at, LearnState).words)["ring", 3, 1].answer == 48.0
    at.button(key="again_back").click().run()
    assert at.title[0].value == "Parameter server or ring"
    assert not at.exception
    (link,) = [code.value for code in at.code if "progress=" in code.value]
    assert from_word(dict(parse_qsl(link.removeprefix("?")))["progress"]) == state_of(at, LearnState).words
    at.query_params["progress"] = "damaged"
    at.run()
    assert "the link's progress is damaged" in at.error[0].value
    assert finished(state_of(at, LearnState).words) == {"ring", "trees"}
