"""A future that a hand asks for on the stage: it is run and drawn beside what would have been, ahead of the page.

All of a page takes several times as long to draw as one run takes; so the player asks for both futures by itself
(`ui.server.future`) and draws them, and tells the page what was asked once the hand rests.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import streamlit as st

from ops.plan import Plan
from ops.plan.notation import entries
from ui.controls import compare, whatif
from ui.simulate.state import SimulateState
from ui.state import become, change, state


def take(shown: Plan) -> None:
    """Take what a hand asked for since the picture of this plan was drawn, and draw the page again."""
    now = state(SimulateState)
    if not now.forked:
        return
    change(SimulateState, forked="")
    after = now.moved_on(shown)
    for plan in plans(shown, now.forked):
        after = after.moved_on(plan)
    become(replace(after, forked="", keeps_instant=True))
    whatif.forget()
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
