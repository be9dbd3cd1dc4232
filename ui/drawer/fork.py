"""A future that a hand asks for on the stage: it is run and drawn beside what would have been, ahead of the page.

All of a page takes several times as long to draw as one run takes; so the picture alone is drawn, with both futures in
it, and the page comes once the hand rests.
"""

from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from ops.request import Request
from sim.errors import InputError, StalledError
from ui.drawer import ahead
from ui.widgets import compare, past, whatif


class Staged(NamedTuple):
    """What the stage shows: a scene, its runs, and whether they are ahead of the page around them."""

    scene: Request
    runs: list[compare.Run]
    is_ahead: bool = False


def take() -> None:
    """Take what was asked since the picture was last drawn; the page is drawn anew where that is all there is to do."""
    state = st.session_state
    if "forked" in state:
        scene = compare.forked(state.staged.scene, state.pop("forked"))
        past.move_on(scene)
        whatif.forget()
        state.keep = True
        runs = _runs(scene, state.staged.runs) if ahead.is_allowed() else []
        if not runs:
            st.rerun()
        state.staged = Staged(scene, runs, is_ahead=True)
    elif state.pop("rested", False) and state.staged.is_ahead:
        st.rerun()


def rest() -> None:
    """The hand rests: what it asked for has been seen."""
    st.session_state.rested = True


def _runs(scene: Request, before: list[compare.Run]) -> list[compare.Run]:
    """The scene's run and those beside it, most of them known; none where the page has something to say."""
    pictures = {_alone(request): picture for request, picture, _ in before}
    try:
        return [
            (request, pictures.get(_alone(request)) or compare.picture_of(request), name)
            for name, request in compare.titled(scene)
        ]
    except (InputError, StalledError):
        return []


def _alone(scene: Request) -> Request:
    return replace(scene, against="")
