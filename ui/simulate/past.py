"""Buttons that undo and redo, and what leads to another plan from anywhere."""

import streamlit as st

from ops.plan import Plan
from ui.plan.beginning import FROM_THE_START, Beginning
from ui.simulate.state import SimulateState
from ui.state import become, callback, state
from ui.text import tell
from ui.visit import VisitState


def restore(plan: Plan, start: Beginning = FROM_THE_START) -> None:
    """Show another plan, whatever the widgets hold: others take their places.

    Nothing is deleted: a browser goes on sending what a widget holds until it has been told that it is gone, and a
    widget whose state was deleted would then seem to have been changed.
    """
    _renewed(state(SimulateState).restored(plan, start))


def _renewed(after: SimulateState) -> None:
    become(after)
    become(state(VisitState).renewed())


def undo() -> None:
    """Draw a button that leads back where somebody has come from, and on again where they have gone back."""
    now = state(SimulateState)

    @callback
    def undone() -> None:
        _renewed(state(SimulateState).undone())

    @callback
    def redone() -> None:
        _renewed(state(SimulateState).redone())

    if now.is_broken or now.past:
        st.button(tell("page.undo"), icon=":material/undo:", on_click=undone, key="undo")
    if now.future:
        st.button(tell("page.redo"), icon=":material/redo:", on_click=redone, key="redo")
