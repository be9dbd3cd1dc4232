"""The scenes that a visit has left, for undoing."""

import streamlit as st

from ops.request import Request

MOST = 50
"""Scenes that are kept."""


def move_on(scene: Request) -> None:
    """Stand at another scene; the one that is left can be undone to."""
    state = st.session_state
    if "scene" in state and state.scene != scene:
        state.past = [*state.get("past", []), state.scene][-MOST:]
    state.scene = scene
