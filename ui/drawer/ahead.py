"""What comes ahead of the page: its player asks for a run by itself and draws it, and the page follows.

All of a page is run and drawn anew when a plan changes, which takes several times as long as the run somebody waits
for. So the player is told what it needs to ask `ui.server.future`, and shows what a slider stands for while it moves;
the page itself comes after the last of its movements, of which each is a fragment of its own. A hand that has moved one
mostly moves it on: while it looks at one run, the next on its way is carried out.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ops.plan import Plan
from ops.plan.link import LONGEST
from ui import address
from ui.page_script import page_script
from ui.plan.picture import Picture
from ui.text import spoken
from ui.workers import tasks
from ui.workers.asking import expect

WHERE = "ahead/future"
"""The address that players ask, below that of the page."""
MOST = 50_000
"""Transfers of a run that comes ahead; what takes longer is waited for where the page says so."""


def begin() -> None:
    """Count the times that the page is drawn: with each of them what came ahead gives way to what it shows."""
    st.session_state.drawings = st.session_state.get("drawings", 0) + 1


def allow(now: Picture) -> None:
    """Let runs come ahead where this one, which is shown now, says that they will not take long."""
    st.session_state.is_brief = now.transfers <= MOST


def asking(plan: Plan) -> dict[str, Any] | None:
    """What a player needs to ask for what a plan may become; None where the page has more to do or to say."""
    if not st.session_state.get("is_brief") or plan.is_kept or address.length_of(plan) > LONGEST:
        return None
    return {"to": WHERE, "plan": address.words_of(plan), "language": spoken()}


def follow(slider: str, place: int, places: range, words: Callable[[int], Mapping[str, Any]]) -> None:
    """Stand in the fragment of a slider of this name, at one of its places; `words` are those of the plan there."""
    state = st.session_state
    if state.pop(f"rested_{slider}", False):
        st.rerun()
    plan: Plan = state.plan
    is_moved = is_alone()
    if is_moved:
        following = 2 * place - state.get(f"place_{slider}", place)
        if following != place and following in places:
            expect(tasks.run, replace(plan, **words(following)), spoken())
    state[f"place_{slider}"] = place

    def rested() -> None:
        state[f"rested_{slider}"] = True

    is_settled = plan == state.get("good") and not plan.against
    data = {"place": place if is_moved else None, "question": asking(plan) if is_settled else None}
    if data["question"]:
        changes = [words(each) for each in places]
        data |= {"first": places.start, "words": {name: [str(each[name]) for each in changes] for name in changes[0]}}
    page_script("ahead")(key=f"script_ahead_{slider}", data=data, on_rested_change=rested)


def is_alone() -> bool:
    """Whether this is a fragment's own run, and not that of the page with all that is on it."""
    context = get_script_run_ctx(suppress_warning=True)
    return bool(context and context.fragment_ids_this_run)
