"""A question of a lesson: asked, graded by the runs, explained; what was said first is kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from ops.plan.training import WorkloadPlan
from sim.units import fmt_number
from ui.learning.predictions import predictions, step_of
from ui.learning.runs import runs_of
from ui.learning.state import LearnState
from ui.lessons import AnyPlan, Ask, Lesson, LessonStep
from ui.player.views import label_of
from ui.state import become, callback, change, state, value
from ui.text import catalogue, spoken, tell, tell_or


@dataclass(frozen=True)
class Exercise:
    """A step of a lesson with its runs, for the first time (turn 0) or again, and what its words may tell."""

    lesson: Lesson
    number: int
    turn: int
    step: LessonStep
    runs: list[Any]
    facts: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Its widgets' name."""
        return f"answer_{self.lesson.name}_{self.number}" + (f"_{self.turn}" if self.turn else "")

    def text(self, part: str, english: str, **values: Any) -> str:
        """Its words: the step's own, or those of a part."""
        return tell_or(f"lesson.{self.lesson.name}.{self.number}{part}", english, **{**self.facts, **values})


@st.cache_resource(max_entries=32, show_spinner=False)
def outcomes(plans: tuple[AnyPlan, ...]) -> list[Any]:
    """The runs of a step; nobody changes them, so all who learn share them."""
    return runs_of(plans)


def question(exercise: Exercise, ask: Ask) -> bool | None:
    """Ask, grade and explain; returns whether the answer was right, None before there is one.

    A wrong answer leads back to the run, which shows the right one; that is told to who asks for it.
    """
    _form(exercise, ask)
    key = exercise.key
    now = state(LearnState)
    if key not in now.answers:
        st.caption(tell("page.learn.first"))
        return None
    right = ask.grade(now.answers[key], exercise.runs)
    if not right and key not in now.shown:
        st.info(_way_back(exercise.step), icon=":material/visibility:")
        st.button(tell("page.learn.tell"), key=f"{key}_tell", on_click=_shown, args=(key,))
        return False
    words = said(ask, ask.answer(exercise.runs))
    because = exercise.text(".because", ask.because, answer=words)
    message = f"{tell('page.learn.right' if right else 'page.learn.answer', answer=words)} {because}"
    (st.success if right else st.info)(message, icon=":material/check_circle:" if right else ":material/lightbulb:")
    if exercise.turn:
        _compare(exercise)
    return right


@callback
def _shown(key: str) -> None:
    change(LearnState, shown=state(LearnState).shown | {key})


def _form(exercise: Exercise, ask: Ask) -> None:
    key = exercise.key
    field = f"{key}_{'choice' if ask.options else 'number'}"

    @callback
    def answered() -> None:
        answer = value(field)
        if answer is not None and answer in (ask.options or (answer,)):  # not the words of another language
            place = exercise.lesson.name, exercise.number, exercise.turn
            become(state(LearnState).answered(key, place, answer))

    with st.form(f"{key}_form", border=True):
        st.markdown(f"**{exercise.text('.ask', ask.question or tell('page.learn.guess'))}**")
        if ask.options:
            st.radio(
                tell("page.learn.guess"),
                list(ask.options),
                index=None,
                format_func=_option,
                horizontal=True,
                key=field,
            )
        else:
            unit = _unit(ask.unit)
            label = tell("page.learn.guess.unit", unit=unit) if unit else tell("page.learn.guess")
            st.number_input(label, value=None, step=1.0, format="%g", key=field)
        kind: Literal["primary", "secondary"] = "secondary" if is_settled(exercise) else "primary"
        st.form_submit_button(tell("page.learn.check"), type=kind, on_click=answered, key=f"{key}_check")


def is_settled(exercise: Exercise) -> bool:
    """Whether nothing is asked, or it was answered rightly or told: until then going on is not what comes next."""
    ask, key, now = exercise.step.ask, exercise.key, state(LearnState)
    if ask is None or key in now.shown:
        return True
    return key in now.answers and ask.grade(now.answers[key], exercise.runs)


def _compare(exercise: Exercise) -> None:
    """What was predicted the time before, and what was seen then."""
    name, number, turn = exercise.lesson.name, exercise.number, exercise.turn
    before = predictions(state(LearnState).words).get((name, number, turn - 1))
    step = step_of(name, number, turn - 1)
    if before is None or step.ask is None:
        return
    runs = outcomes(step.plans)
    right = step.ask.grade(before.answer, runs)
    words = {"said": said(step.ask, before.answer), "seen": said(step.ask, step.ask.answer(runs))}
    st.caption(tell("page.learn.before.right" if right else "page.learn.before.wrong", **words))


def _way_back(step: LessonStep) -> str:
    """Where a wrong answer is to be looked at again."""
    if isinstance(step.plan, WorkloadPlan):
        return tell("page.learn.wrong.timeline")
    return tell("page.learn.wrong", view=label_of(step.view, spoken()))


def said(ask: Ask, answer: str | float) -> str:
    """An answer as a person reads it."""
    return _option(answer) if isinstance(answer, str) else fmt_number(answer, _unit(ask.unit))


def _option(word: str) -> str:
    key = f"lesson.option.{word}"
    return tell(key) if key in catalogue(spoken()) else word


def _unit(word: str) -> str:
    key = f"page.learn.unit.{word}"
    return tell(key) if key in catalogue(spoken()) else word
