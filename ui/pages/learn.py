"""Lessons: a plan, a question to answer before the motion, and the motion as the answer."""

from typing import Literal

import streamlit as st

from ops.collectives import table
from ops.plan import Plan
from sim.base.numbers import whole
from ui import navigation
from ui.controls.parameter import fresh
from ui.learn import keeping, shown
from ui.learn.aloud import say_aloud
from ui.learn.asking import Exercise, is_settled, outcomes, question
from ui.learning.predictions import due, finished, step_of
from ui.learning.runs import figures
from ui.learning.state import LearnState
from ui.learning.ticked import meant, ticked
from ui.lessons import LESSONS, Lesson
from ui.pages import page
from ui.state import become, callback, change, state, value
from ui.text import plain, tell, tell_or
from ui.visit import VisitState

SHOWN = 40
"""Characters of a parameter that is shown."""


@page(order=40, opens_settings=True)
def learn() -> None:
    """Draw the page once."""
    lessons = sorted(LESSONS.values(), key=lambda lesson: lesson.order)
    words = keeping.learned()
    lesson = _chosen(lessons, finished(words))
    number, turn = _step(lesson)
    exercise = _question(lesson, number, turn)
    keeping.announce()
    st.title(tell(f"lesson.{lesson.name}.title"), anchor=False)
    if turn:
        st.markdown(tell("page.learn.again.from"))
    else:
        st.progress(number / len(lesson.steps), tell("page.learn.step", step=number, steps=len(lesson.steps)))
        if number == 1:
            _ask_again(lesson)
    left, right = st.columns([1, 2], gap="medium")  # the question and what it is about, side by side
    with left:
        st.markdown(_plan(exercise) if turn else exercise.text("", exercise.step.text or lesson.about))
        verdict = question(exercise, exercise.step.ask) if exercise.step.ask else None
        _back(lesson) if turn else _walk(exercise)
    with right:
        shown.picture(exercise, answered=verdict is not None)
    _aloud(exercise, answered=verdict is not None)
    shown.code(exercise)
    with st.expander(tell("collectives.collectives"), icon=":material/table_chart:"):
        st.markdown(
            table.markdown(lambda word: tell(f"collectives.{word}"), lambda name, use: tell_or(f"use.{name}", use))
        )


def _question(lesson: Lesson, number: int, turn: int) -> Exercise:
    """The step with its runs and what can be told of them."""
    step = step_of(lesson.name, number, turn)
    runs = outcomes(step.plans)
    return Exercise(lesson, number, turn, step, runs, figures(runs) | dict(step.ask.facts(runs) if step.ask else {}))


def _chosen(lessons: list[Lesson], done: set[str]) -> Lesson:
    """The lesson that the address or the settings name."""
    names = [lesson.name for lesson in lessons]
    lesson_name = st.query_params.get("lesson", names[0])
    if lesson_name not in names:
        st.error(tell("page.learn.bad", name=plain(lesson_name[:40])), icon=":material/link_off:")
        lesson_name = names[0]

    key = fresh("lesson")

    @callback
    def chosen() -> None:
        _to(meant(value(key), names, _title) or lesson_name)

    with st.sidebar:
        name = st.radio(
            tell("page.learn.lessons"),
            names,
            index=names.index(lesson_name),
            format_func=ticked(_title, done),
            key=key,
            on_change=chosen,
        )
        keeping.controls()
    return LESSONS[meant(name, names, _title) or lesson_name]


def _title(name: str) -> str:
    return tell(f"lesson.{name}.title")


def _step(lesson: Lesson) -> tuple[int, int]:
    """The step that the address names, and the turn in which it is asked again, 0 for the first time."""
    number = max(1, min(len(lesson.steps), whole(st.query_params.get("step", "1")) or 1))
    turn = whole(st.query_params.get("again", "0")) or 0
    return number, max(0, min(len(lesson.steps[number - 1].again), turn))


def _aloud(exercise: Exercise, *, answered: bool) -> None:
    """The step in words, and once there is an answer its timeline: a verdict and a player speak for themselves."""
    lesson, step = exercise.lesson, exercise.step
    if answered:
        say_aloud(*shown.sentences(exercise))
        return
    place = tell("page.learn.step", step=exercise.number, steps=len(lesson.steps))
    text = _plan(exercise) if exercise.turn else exercise.text("", step.text or lesson.about)
    say_aloud(f"{place}.", text, exercise.text(".ask", step.ask.question) if step.ask else "")


def _walk(exercise: Exercise) -> None:
    """Back and on."""
    lesson, number = exercise.lesson, exercise.number
    with st.container(horizontal=True, gap="small"):
        back, icon = tell("page.learn.back"), ":material/arrow_back:"
        st.button(back, disabled=number == 1, key="back", icon=icon, on_click=_to, args=(lesson.name, number - 1))
        kind: Literal["primary", "secondary"] = "primary" if is_settled(exercise) else "secondary"
        if number < len(lesson.steps):
            label, icon = tell("page.learn.next"), ":material/arrow_forward:"
            st.button(label, key="next", type=kind, icon=icon, on_click=_to, args=(lesson.name, number + 1))
        else:
            label, icon = tell("page.learn.finish"), ":material/check:"
            st.button(label, key="next", type=kind, icon=icon, on_click=_end, args=(lesson.name,))
    if state(LearnState).finished == lesson.name and number == len(lesson.steps):
        st.success(tell("page.learn.done"), icon=":material/school:")
        _ask_again(lesson)


def _ask_again(lesson: Lesson) -> None:
    """A question of an earlier lesson that is due, and the way to it."""
    waiting = due(state(LearnState).words, lesson.name)
    if waiting is None:
        return
    name, number, turn = waiting
    earlier = _question(LESSONS[name], number, turn)
    text = earlier.text(".ask", earlier.step.ask.question if earlier.step.ask else "")
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="again"):
        st.markdown(tell("page.learn.again", title=tell(f"lesson.{name}.title"), question=text), width="stretch")
        label, left = tell("page.learn.again.go"), (lesson.name, _step(lesson)[0])
        st.button(label, key="again_go", icon=":material/replay:", on_click=_away, args=(left, name, number, turn))


def _back(lesson: Lesson) -> None:
    """From a question that was asked again to where one was."""
    name, number = state(LearnState).left or (lesson.name, 1)
    back = tell("page.learn.again.back", title=tell(f"lesson.{name}.title"))
    st.button(back, key="again_back", type="primary", on_click=_to, args=(name, number))


def _plan(exercise: Exercise) -> str:
    """What runs this time, in words."""
    plan = exercise.step.plan
    if isinstance(plan, Plan):
        parts = [plan.algorithm, plan.machine if not plan.capture else "", plan.counts or plan.size, plan.fault]
    else:
        settings = [f"{key}={word}" for key, word in plan.settings if len(word) < SHOWN]
        parts = [plan.workload, plan.machine.machine, *settings]
    return tell("page.learn.again.plan", plan=" · ".join(f"`{part}`" for part in parts if part))


@callback
def _to(lesson: str, number: int = 1, turn: int = 0) -> None:
    """Turn to a step: a browser comes back to every one that there was."""
    if lesson != st.query_params.get("lesson"):
        become(state(VisitState).renewed())  # the list of lessons begins anew
    words = {"lesson": lesson} | ({"step": str(number)} if number > 1 else {}) | ({"again": str(turn)} if turn else {})
    navigation.turn({"page": "learn", **words})


@callback
def _away(left: tuple[str, int], lesson: str, number: int, turn: int) -> None:
    """Turn to a question that is asked again, and keep the lesson and step that are left for it."""
    change(LearnState, left=left)
    _to(lesson, number, turn)


@callback
def _end(lesson: str) -> None:
    become(state(LearnState).ending(lesson))
