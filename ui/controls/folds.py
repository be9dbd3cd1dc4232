"""What is folded away: its widgets are made once somebody has looked at them, and from then on stay.

All of a page is drawn anew with every change, and what is folded costs as much as what is seen. What was looked at once
is not taken away again with the fold: somebody may have typed into it a moment ago.
"""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.controls.parameter import fresh
from ui.player.page_script import page_script
from ui.state import callback, change, state
from ui.visit import VisitState


def is_made(fold: str, is_needed: bool | None = False) -> bool:
    """Whether to make what a fold holds: it is open or has to be there now, or was before in this visit."""
    made = state(VisitState).folds
    if is_needed and fold not in made:
        change(VisitState, folds=made | {fold})
    return bool(is_needed) or fold in made


def fold(name: str, label: str, icon: str | None = None, *, is_needed: bool = False) -> tuple[DeltaGenerator, bool]:
    """A fold, open where something in it has to be seen, and whether to make what it holds."""
    panel = st.expander(label, expanded=is_needed, icon=icon, key=fresh(f"fold_{name}"), on_change="rerun")
    return panel, is_made(name, is_needed=is_needed or panel.open)


def watch(fold: str) -> None:
    """Stand in a fold that Streamlit tells nothing of, until it comes into sight."""

    @callback
    def seen() -> None:
        is_made(fold, is_needed=True)

    page_script("opened")(key=f"script_watch_{fold}", on_seen_change=seen)
