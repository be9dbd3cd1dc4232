"""What comes ahead of the page: its player asks for a run by itself and draws it, and the page follows.

All of a page is run and drawn anew when a plan changes, which takes several times as long as the run somebody waits
for. So the player is told what it needs to ask `ui.server.future`, and shows what a slider stands for while it moves;
the page itself comes after the last of its movements, of which each is a fragment of its own.
"""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ops.plan import Plan
from ops.plan.link import LONGEST
from ui import address
from ui.plan.picture import Picture
from ui.player.page_script import page_script
from ui.simulate.state import SimulateState
from ui.state import callback, change, state
from ui.text import spoken

WHERE = "ahead/future"
"""The address that players ask, below that of the page."""
MOST = 50_000
"""Transfers of a run that comes ahead; what takes longer is waited for where the page says so."""


def begin() -> None:
    """Count the times that the page is drawn: with each of them what came ahead gives way to what it shows."""
    change(SimulateState, drawings=state(SimulateState).drawings + 1)


def allow(now: Picture) -> None:
    """Let runs come ahead where this one, which is shown now, says that they will not take long."""
    change(SimulateState, is_brief=now.transfers <= MOST)


def asking(plan: Plan) -> dict[str, Any] | None:
    """What a player needs to ask for what a plan may become; None where the page has more to do or to say."""
    if not state(SimulateState).is_brief or plan.is_kept or address.length_of(plan) > LONGEST:
        return None
    return {"to": WHERE, "plan": address.words_of(plan), "language": spoken()}


def follow(slider: str, place: int, places: range, words: Callable[[int], Mapping[str, Any]]) -> None:
    """Stand in the fragment of a slider of this name, at one of its places; `words` are those of the plan there."""
    now = state(SimulateState)
    if slider in now.rested:
        change(SimulateState, rested=now.rested - {slider})
        st.rerun()

    @callback
    def rested() -> None:
        change(SimulateState, rested=state(SimulateState).rested | {slider})

    is_settled = now.plan == now.good and not now.plan.against
    data = {"place": place if is_alone() else None, "question": asking(now.plan) if is_settled else None}
    if data["question"]:
        changes = [words(each) for each in places]
        data |= {"first": places.start, "words": {name: [str(each[name]) for each in changes] for name in changes[0]}}
    page_script("ahead")(key=f"script_ahead_{slider}", data=data, on_rested_change=rested)


def is_alone() -> bool:
    """Whether this is a fragment's own run, and not that of the page with all that is on it."""
    context = get_script_run_ctx(suppress_warning=True)
    return bool(context and context.fragment_ids_this_run)
