"""What a visitor without a link sees first, beside the picture that plays: what this is, and two ways to begin."""

import streamlit as st

from ui.plan.picture import Picture
from ui.simulate import story
from ui.simulate.state import SimulateState
from ui.state import callback, change, state, value
from ui.text import tell
from ui.visit import VisitState

PASTED = "pasted"


def draw(picture: Picture) -> None:
    """Draw it beside a run."""
    st.header(tell("intro.title"), anchor=False)
    st.markdown(tell("intro.text"))
    with st.container(key="doors"):
        tell_story = callback(lambda: story.hear("open"))
        label, icon = tell("intro.story"), ":material/play_arrow:"
        st.button(label, icon=icon, type="primary", width="stretch", on_click=tell_story, key="door_story")
        ask = callback(lambda: change(SimulateState, asks_machine=True))
        label, icon = tell("intro.paste"), ":material/content_paste:"
        st.button(label, icon=icon, width="stretch", on_click=ask, key="door_paste")
        st.caption(tell("intro.reads"))
    if picture.near:
        st.caption(tell("intro.checked", times=f"{1 / picture.near:.3g}"))
    if state(SimulateState).asks_machine:
        st.dialog(tell("intro.paste.title"), width="large")(_ask)()
        change(SimulateState, asks_machine=False)


def _ask() -> None:
    """Ask for what describes a machine."""
    st.text_area(tell("intro.paste.field"), height=320, placeholder=tell("page.capture.help"), key=PASTED)
    if st.button(tell("intro.paste.open"), on_click=_take, key="pasted_open"):
        st.rerun()


@callback
def _take() -> None:
    """Have what was pasted arrive as if it had been dropped on the page."""
    text = value(PASTED) or ""
    if text.strip():
        change(VisitState, received={"files": [{"text": text}]})
