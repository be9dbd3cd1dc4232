"""Lessons: a scene, a question to answer before the motion, and the motion as the answer."""

from typing import Any

import streamlit as st

from ops import ALGORITHMS
from ops.collectives import table
from ops.request import Request
from ops.request.training import TrainingRequest, to_query
from ops.work import Outcome
from sim.base.numbers import whole
from ui import address
from ui.learning import timeline
from ui.learning.runs import figures, runs_of, titles
from ui.lessons import LESSONS, Ask, Lesson, LessonStep, Scene, after
from ui.pages import go, page, visit
from ui.player import component
from ui.player.local_storage import remembered
from ui.player.payload import pack
from ui.player.views import label_of
from ui.text import catalogue, plain, spoken, tell, tell_or
from ui.widgets import compare, past
from ui.widgets.parameter import fresh

PLAYER = "lesson_player"
READ = 260
"""Pixels of a text that is to be read beside a picture."""


@page(order=40)
def learn() -> None:
    """Draw the page once."""
    lessons = sorted(LESSONS.values(), key=lambda lesson: lesson.order)
    state = st.session_state
    state.setdefault("lessons_done", set())
    done = remembered("lessons", state.lessons_done, {lesson.name for lesson in lessons})
    state.lessons_done = done
    lesson = _chosen(lessons, done)
    number = _step(lesson)
    step = lesson.steps[number - 1]
    st.title(tell(f"lesson.{lesson.name}.title"), anchor=False)
    st.progress(number / len(lesson.steps), tell("page.learn.step", step=number, steps=len(lesson.steps)))
    question, picture_of = st.columns([1, 2], gap="medium")  # the question and what it is about, side by side
    outcomes = _outcomes(step.scenes)
    words = figures(outcomes) | dict(step.ask.facts(outcomes) if step.ask else {})
    with question:
        st.markdown(tell_or(f"lesson.{lesson.name}.{number}", step.text or lesson.about, **words))
        verdict = _question(lesson, number, step, step.ask, outcomes) if step.ask else None
        _walk(lesson, number)
    with picture_of:
        _picture(lesson, number, step, outcomes, answered=verdict is not None)
    _code(step.scene, outcomes)
    with st.expander(tell("collectives.collectives"), icon=":material/table_chart:"):
        st.markdown(
            table.markdown(lambda word: tell(f"collectives.{word}"), lambda name, use: tell_or(f"use.{name}", use))
        )


def _chosen(lessons: list[Lesson], done: set[str]) -> Lesson:
    """The lesson that the address or the sidebar names."""
    names = [lesson.name for lesson in lessons]
    lesson_name = st.query_params.get("lesson", names[0])
    if lesson_name not in names:
        st.error(tell("page.learn.bad", name=plain(lesson_name[:40])), icon=":material/link_off:")
        lesson_name = names[0]

    key = fresh("lesson")

    def chosen() -> None:
        _turn_to(st.session_state[key])

    with st.sidebar:
        name = st.radio(
            tell("page.learn.lessons"),
            names,
            index=names.index(lesson_name),
            format_func=lambda n: f"{tell(f'lesson.{n}.title')}{' ✓' if n in done else ''}",
            key=key,
            on_change=chosen,
        )
    return LESSONS[name or lesson_name]


def _step(lesson: Lesson) -> int:
    word = st.query_params.get("step", "1")
    number = whole(word) or 1
    return max(1, min(len(lesson.steps), number))


def _walk(lesson: Lesson, number: int) -> None:
    """Back and on."""
    with st.container(horizontal=True, gap="small"):
        if st.button(tell("page.learn.back"), disabled=number == 1, key="back", icon=":material/arrow_back:"):
            _to(lesson, number - 1)
        last = number == len(lesson.steps)
        word, icon = ("finish", ":material/check:") if last else ("next", ":material/arrow_forward:")
        if st.button(tell(f"page.learn.{word}"), key="next", type="primary", icon=icon):
            if not last:
                _to(lesson, number + 1)
            st.session_state.lessons_done = st.session_state.lessons_done | {lesson.name}
            st.session_state.finished = lesson.name
            st.rerun()
    if st.session_state.get("finished") == lesson.name and number == len(lesson.steps):
        st.success(tell("page.learn.done"), icon=":material/school:")


def _to(lesson: Lesson, number: int) -> None:
    _turn_to(lesson.name, number)
    st.rerun()


def _turn_to(lesson: str, number: int = 1) -> None:
    """Make the address name a step, at once: a browser comes back to every address that there was."""
    words = {"lesson": lesson} | ({"step": str(number)} if number > 1 else {})
    address.write(words, (lesson, number))


@st.cache_resource(max_entries=32, show_spinner=False)
def _outcomes(scenes: tuple[Scene, ...]) -> list[Any]:
    """The runs of a step; nobody changes them, so all who learn share them."""
    return runs_of(scenes)


@st.cache_data(max_entries=64, show_spinner=False)
def _packed(scene: Request, language: str) -> list[dict[str, Any]]:
    runs = _outcomes((scene, *scene.others()))
    titles = compare.titles(scene) if len(runs) > 1 else [""]
    return [pack(run.trace, language) | {"title": title} for run, title in zip(runs, titles, strict=True)]


def _question(lesson: Lesson, number: int, step: LessonStep, ask: Ask, runs: list[Any]) -> bool | None:
    """Ask, grade and explain; returns whether the answer was right, None before there is one.

    A wrong answer leads back to the run, which shows the right one; that is told to who asks for it.
    """
    key = f"answer_{lesson.name}_{number}"
    facts = figures(runs) | dict(ask.facts(runs))
    with st.form(f"{key}_form", border=True):
        question = ask.question or tell("page.learn.guess")
        st.markdown(f"**{tell_or(f'lesson.{lesson.name}.{number}.ask', question, **facts)}**")
        if ask.options:
            said: str | float | None = st.radio(
                tell("page.learn.guess"),
                list(ask.options),
                index=None,
                format_func=_option,
                horizontal=True,
                key=f"{key}_choice",
            )
        else:
            unit = _unit(ask.unit)
            label = tell("page.learn.guess.unit", unit=unit) if unit else tell("page.learn.guess")
            said = st.number_input(label, value=None, step=1.0, format="%g", key=f"{key}_number")
        if st.form_submit_button(tell("page.learn.check")) and said is not None:
            st.session_state[key] = said
    if key not in st.session_state:
        st.caption(tell("page.learn.first"))
        return None
    right = ask.grade(st.session_state[key], runs)
    if not right and not st.session_state.get(f"{key}_shown"):
        st.info(_way_back(step), icon=":material/visibility:")
        if st.button(tell("page.learn.tell"), key=f"{key}_tell"):
            st.session_state[f"{key}_shown"] = True
            st.rerun()
        return False
    answer = ask.answer(runs)
    words = _option(answer) if isinstance(answer, str) else f"{answer:.4g} {_unit(ask.unit)}".strip()
    because = tell_or(f"lesson.{lesson.name}.{number}.because", ask.because, **facts, answer=words)
    message = f"{tell('page.learn.right' if right else 'page.learn.answer', answer=words)} {because}"
    (st.success if right else st.info)(message, icon=":material/check_circle:" if right else ":material/lightbulb:")
    return right


def _way_back(step: LessonStep) -> str:
    """Where a wrong answer is to be looked at again."""
    if isinstance(step.scene, TrainingRequest):
        return tell("page.learn.wrong.timeline")
    return tell("page.learn.wrong", view=label_of(step.view, spoken()))


def _option(word: str) -> str:
    key = f"lesson.option.{word}"
    return tell(key) if key in catalogue(spoken()) else word


def _unit(word: str) -> str:
    key = f"page.learn.unit.{word}"
    return tell(key) if key in catalogue(spoken()) else word


def _picture(lesson: Lesson, number: int, step: LessonStep, runs: list[Any], *, answered: bool) -> None:
    """What the question is about: the stage as the step sets it, which an answer sets going, or a timeline."""
    if step.reads:
        st.code(step.reads, language=None, height=READ)
    if isinstance(step.scene, Request):
        _player(lesson, number, step, step.scene, runs, answered=answered)
        return
    names = titles([scene for scene in step.scenes if isinstance(scene, TrainingRequest)])
    st.html(timeline.picture(step, runs, names, spoken(), answered=answered))


def _player(
    lesson: Lesson, number: int, step: LessonStep, scene: Request, runs: list[Outcome], *, answered: bool
) -> None:
    """The stage as the step sets it; an answer sets it going."""
    began = runs[0].trace.began
    start = after(runs[0], step.at) - began
    command: dict[str, Any] = {"n": f"{lesson.name}.{number}", "view": step.view, "from": start, "play": False}
    if answered:
        end = after(runs[0], step.until) - began if step.until else None
        command |= {"n": f"{lesson.name}.{number}.answer", "play": True, "to": end}
    data = component.player_data(_packed(scene, spoken()), spoken(), component.Start(start, step.view), cmd=command)
    component.show(data, key=PLAYER, moved=lambda: None, forked=lambda: None)


def _code(scene: Scene, runs: list[Any]) -> None:
    """What ran, and the way to where it can be changed."""
    if isinstance(scene, TrainingRequest):
        if st.button(tell("page.learn.open.train"), icon=":material/open_in_new:"):
            visit({"page": "train", **to_query(scene)})
            st.rerun()
        return
    for name in dict.fromkeys(run.work.name for run in runs):
        with st.expander(tell("page.learn.code", name=name)):
            st.code(ALGORITHMS[name].source, language="python", wrap_lines=True)
    if st.button(tell("page.learn.open"), icon=":material/open_in_new:"):
        past.restore(scene)
        go("stage")
