"""The talk of a visit: its scenes in their order, kept nowhere but in the visit and in files of the person's."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from ops.plan import Plan
from ui.pages import visit
from ui.talk import MOST_SCENES, Talk, TalkScene
from ui.text import spoken, tell
from ui.widgets.parameter import fresh

KEY = "own_talk"


def current() -> Talk:
    """The talk as it is, in the language of the visit."""
    talk: Talk = st.session_state.get(KEY, Talk())
    return replace(talk, language=spoken())


def keep(talk: Talk) -> None:
    """Make it the visit's talk."""
    st.session_state[KEY] = talk


def opened(talk: Talk) -> None:
    """Take up a talk that has arrived."""
    keep(talk)
    state = st.session_state
    state.talk_scene = 0
    state.talk_turn = state.get("talk_turn", 0) + 1


def offer(plan: Plan, place: Callable[[], Mapping[str, str]]) -> None:
    """A button that puts the plan, where it stands, at the end of the talk; and the way there."""
    talk = current()

    def added() -> None:
        now = current()
        keep(replace(now, scenes=(*now.scenes, TalkScene(plan, place=dict(place())))))
        st.session_state.talk_scene = len(now.scenes)

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
    st.button(words, on_click=visit, args=({"page": "talk"},), type="tertiary", key=fresh("talk_open"))
