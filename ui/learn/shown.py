"""What a question is about, beside it: the player, or the timeline of a training step; and what ran, below."""

from html import escape
from typing import Any

import streamlit as st

from ops import ALGORITHMS
from ops.plan import Plan
from ops.plan.training import WorkloadPlan, to_query
from ui.controls.folds import fold
from ui.learn.asking import Exercise, outcomes
from ui.learning import timeline
from ui.learning.runs import titles
from ui.lessons import after
from ui.navigation import leave, visit
from ui.player import component
from ui.player.payload import pack
from ui.player.titles import run_titles
from ui.share import menu
from ui.simulate import past
from ui.state import callback
from ui.text import spoken, tell

PLAYER = "lesson_player"
READ = """<pre tabindex="0" style="max-height: 260px; overflow: auto; margin: 0; padding: 0.75rem; font-size: 0.8rem;
line-height: 1.5; border: 1px solid color-mix(in srgb, currentColor 20%, transparent); border-radius: 0.5rem"
>{text}</pre>"""
"""A text that is to be read beside a picture. What colours code takes a second to load, and finds nothing here."""


def picture(exercise: Exercise, *, answered: bool) -> None:
    """The stage as the step sets it, which an answer sets going, or a timeline."""
    step = exercise.step
    if step.reads:
        st.html(READ.format(text=escape(step.reads)))
    if isinstance(step.plan, Plan):
        _player(exercise, step.plan, answered=answered)
        return
    names = titles([plan for plan in step.plans if isinstance(plan, WorkloadPlan)])
    st.html(timeline.picture(step, exercise.runs, names, spoken(), answered=answered))


def sentences(exercise: Exercise) -> list[str]:
    """The timelines in words, each after what it is called; nothing of a player, which speaks itself."""
    plans = [plan for plan in exercise.step.plans if isinstance(plan, WorkloadPlan)]
    if not plans:
        return []
    steps = timeline.drawn(exercise.step, exercise.runs)
    end = max(step.time for step in steps)
    said = [timeline.sentence(step, end, spoken(), answered=True) for step in steps]
    return [f"{title} {words}".strip() for title, words in zip(titles(plans), said, strict=True)]


@st.cache_data(max_entries=64, show_spinner=False)
def _packed(plan: Plan, language: str) -> list[dict[str, Any]]:
    runs = outcomes((plan, *plan.others()))
    names = run_titles(plan) if len(runs) > 1 else [""]
    return [pack(run.trace, language, plan=plan) | {"title": title} for run, title in zip(runs, names, strict=True)]


def _player(exercise: Exercise, plan: Plan, *, answered: bool) -> None:
    step, first = exercise.step, exercise.runs[0]
    began = first.trace.began
    start = after(first, step.at) - began
    command: dict[str, Any] = {"n": exercise.key, "view": step.view, "from": start, "play": False}
    if answered:
        end = after(first, step.until) - began if step.until else None
        command |= {"n": f"{exercise.key}.answer", "play": True, "to": end}
    data = component.player_data(_packed(plan, spoken()), spoken(), component.Start(start, step.view), cmd=command)
    component.show(data, key=PLAYER, moved=lambda: None, forked=lambda: None)


def code(exercise: Exercise) -> None:
    """What ran, and the way to where it can be changed."""
    plan = exercise.step.plan
    if isinstance(plan, WorkloadPlan):
        st.button(tell("page.learn.open.train"), icon=":material/open_in_new:", on_click=_trained, args=(plan,))
        return
    for name in dict.fromkeys(run.work.name for run in exercise.runs):
        panel, is_made = fold(f"code_{name}", tell("page.learn.code", name=name))
        if is_made:
            panel.code(ALGORITHMS[name].source, language="python", wrap_lines=True)
    with st.container(horizontal=True, gap="small"):
        st.button(tell("page.learn.open"), icon=":material/open_in_new:", on_click=_simulated, args=(plan,))
        menu.draw(plan, lambda: {"view": exercise.step.view}, is_here=False)


@callback
def _trained(plan: WorkloadPlan) -> None:
    visit({"page": "train", **to_query(plan)})


@callback
def _simulated(plan: Plan) -> None:
    past.restore(plan)
    leave("stage")
