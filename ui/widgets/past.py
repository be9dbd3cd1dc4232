"""The plans that a visit has left, for undoing, and those that were undone, for doing again."""

from collections.abc import Mapping

import streamlit as st

from ops.plan import Plan
from ui.text import tell

MOST = 50
"""Plans that are kept."""


def move_on(plan: Plan) -> None:
    """Stand at another plan; the one that is left can be undone to."""
    state = st.session_state
    if "plan" in state and state.plan != plan:
        state.past = [*state.get("past", []), state.plan][-MOST:]
        state.future = []
    state.plan = plan


def restore(plan: Plan, view: str = "", t: float = 0.0, place: Mapping[str, str] | None = None) -> None:
    """Stand at another plan, whatever the widgets hold: others take their places.

    Where a view is named the player begins anew in it, at an instant, and in `place` as the other words of a link say.

    Nothing is deleted: a browser goes on sending what a widget holds until it has been told that it is gone, and a
    widget whose state was deleted would then seem to have been changed.
    """
    state = st.session_state
    move_on(plan)
    state.start, state.view, state.place = t, view, dict(place or {})
    state.pop("stood", None)
    state.turn = state.get("turn", 0) + 1
    if view:
        state.begun = state.get("begun", 0) + 1


def remember(plan: Plan) -> None:
    """Keep the plan that is being left, for undoing."""
    state = st.session_state
    move_on(plan)
    state.good = plan
    state.broken = bool(state.get("refused"))


def undo() -> None:
    """Back to the plan before; what was typed and never worked goes first. And on again, where one has gone back."""
    state = st.session_state

    def undone() -> None:
        before, after = list(state.get("past", [])), list(state.get("future", []))
        is_typed = state.get("broken", False) and state.plan == state.get("good")  # and not what a hand asked
        if is_typed or not before:
            restore(state.plan)
        else:
            after.append(state.plan)
            restore(before.pop())
        state.past, state.future = before, after

    def redone() -> None:
        before, after = [*state.get("past", []), state.plan], list(state.get("future", []))
        if after:
            restore(after.pop())
        state.past, state.future = before, after

    can_undo = state.get("broken", False) or bool(state.get("past"))
    st.button(tell("page.undo"), icon=":material/undo:", on_click=undone, disabled=not can_undo, key="undo")
    if state.get("future"):
        st.button(tell("page.redo"), icon=":material/redo:", on_click=redone, key="redo")
