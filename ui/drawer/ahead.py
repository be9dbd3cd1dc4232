"""A slider's answer ahead of the page's: the picture follows the hand, and the page what it stands for once it rests.

All of a page is run and drawn anew when a scene changes, which takes several times as long as the run somebody waits
for. So a slider is a fragment of its own: what it stands for is run at once and handed to the player in the browser,
which draws it, and the page itself comes after the last of a slider's movements. A hand that has moved a slider mostly
moves it on: while it looks at one run, the next on its way is carried out.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ops.request import Request
from sim.errors import InputError, StalledError
from ui.page_script import page_script
from ui.scene.picture import Picture
from ui.text import spoken
from ui.workers import tasks
from ui.workers.asking import ask, expect

MOST = 50_000
"""Transfers of a run that comes ahead; what takes longer is waited for where the page says so."""


def begin() -> None:
    """Count the times that the page is drawn: with each of them what came ahead gives way to what it shows."""
    st.session_state.drawings = st.session_state.get("drawings", 0) + 1


def allow(now: Picture) -> None:
    """Let runs come ahead where this one, which is shown now, says that they will not take long."""
    st.session_state.is_brief = now.transfers <= MOST


def follow(slider: str, place: int, places: range, words: Callable[[int], Mapping[str, Any]]) -> None:
    """Stand in the fragment of a slider of this name, at one of its places; `words` are those of the scene there."""
    state = st.session_state
    if state.pop(f"rested_{slider}", False):
        st.rerun()
    runs: list[dict[str, Any]] | None = None
    if is_alone():
        runs = _runs(replace(state.scene, **words(place)))
        if runs is None:
            st.rerun()
        following = 2 * place - state.get(f"place_{slider}", place)
        if following != place and following in places:
            expect(tasks.run, replace(state.scene, **words(following)), spoken())
    state[f"place_{slider}"] = place

    def rested() -> None:
        state[f"rested_{slider}"] = True

    page_script("ahead")(key=f"script_ahead_{slider}", data={"runs": runs}, on_rested_change=rested)


def is_brief() -> bool:
    """Whether runs may come ahead of this page: none of its own takes long."""
    return bool(st.session_state.get("is_brief"))


def is_alone() -> bool:
    """Whether this is a fragment's own run, and not that of the page with all that is on it."""
    context = get_script_run_ctx(suppress_warning=True)
    return bool(context and context.fragment_ids_this_run)


def _runs(scene: Request) -> list[dict[str, Any]] | None:
    """What the player shows of a scene; None where the page has more to do or to say."""
    state = st.session_state
    if state.scene != state.get("good") or scene.against or scene.is_kept or not is_brief():
        return None
    try:
        picture = ask(tasks.run, scene, spoken())
    except (InputError, StalledError):
        return None
    return [picture.payload["packed"] | {"title": "", "note": ""}]
