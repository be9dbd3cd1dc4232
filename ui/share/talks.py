"""The talk of a visit: its scenes in their order, kept nowhere but in the visit and in files of the person's."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from ops.plan import Plan
from ui.controls.parameter import fresh
from ui.navigation import visit
from ui.state import become, callback, state
from ui.talk import MOST_SCENES, Talk, TalkScene
from ui.talk.state import TalkState
from ui.text import spoken, tell


def current() -> Talk:
    """The talk as it is, in the language of the visit."""
    return replace(state(TalkState).own, language=spoken())


def opened(talk: Talk) -> None:
    """Take up a talk that has arrived."""
    become(state(TalkState).opened(talk))


def offer(plan: Plan, place: Callable[[], Mapping[str, str]]) -> None:
    """A button that puts the plan, where it stands, at the end of the talk; and the way there."""
    talk = current()

    @callback
    def added() -> None:
        become(state(TalkState).added(TalkScene(plan, place=dict(place()))))

    full = len(talk.scenes) >= MOST_SCENES
    st.button(
        tell("page.talk.add"),
        icon=":material/co_present:",
        on_click=added,
        disabled=full or bool(plan.python),
        help=tell("page.talk.add.full", most=MOST_SCENES) if full else tell("page.talk.add.help"),
        key="talk_add",
    )
    words = tell("page.talk.open", count=len(talk.scenes))
    st.button(words, on_click=callback(visit), args=({"page": "talk"},), type="tertiary", key=fresh("talk_open"))
