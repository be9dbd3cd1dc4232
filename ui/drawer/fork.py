"""A future that a hand asks for on the stage: it is run and drawn beside what would have been, ahead of the page.

All of a page takes several times as long to draw as one run takes; so the player asks for both futures by itself
(`ui.server.future`) and draws them, and tells the page what was asked once the hand rests.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import streamlit as st

from ops.plan import Plan
from ops.plan.notation import entries
from ui.widgets import compare, past, whatif


class Staged(NamedTuple):
    """What the stage shows: a plan and its runs."""

    plan: Plan
    runs: list[compare.Run]


def take() -> None:
    """Take what was asked since the picture was last drawn: the page is drawn anew with it."""
    state = st.session_state
    if "forked" not in state:
        return
    past.move_on(state.staged.plan)
    for plan in plans(state.staged.plan, state.pop("forked")):
        past.move_on(plan)
    whatif.forget()
    state.keep = True
    st.rerun()


def plans(plan: Plan, specs: str) -> list[Plan]:
    """The plan after each of the faults and edits that hands asked for, one after the other."""
    after = []
    for spec in entries(specs):
        plan = compare.forked(plan, spec)
        after.append(plan)
    return after


def packed(runs: Iterable[compare.Run]) -> list[dict[str, Any]]:
    """Runs as the player gets them: each with its title where there are several, and what is left out of it."""
    runs = list(runs)
    return [picture.payload["packed"] | {"title": name if len(runs) > 1 else ""} for _, picture, name in runs]
