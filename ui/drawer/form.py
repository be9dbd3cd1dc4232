"""The form in the drawer over the picture: it is made when somebody opens it, or has to be told what is wrong."""

import streamlit as st

from ops.request import Request
from ops.request.notation import by_name
from sim.errors import InputError
from sim.topology import Topology
from ui import address
from ui.drawer import folds
from ui.scene.machines import machine_of
from ui.widgets import sidebar

FORM = "form"
"""The fold that the form is."""


def is_skipped(scene: Request) -> bool:
    """Whether nobody has opened the form yet, and it would change nothing about a scene that can be run."""
    if folds.is_made(FORM) or scene.schedule:
        return False
    try:
        return by_name(scene.algorithm, scene.settings) == (scene.algorithm, scene.settings)
    except InputError:
        return False


def choose(is_run: bool) -> tuple[Request, Topology | None]:
    """Draw it: returns the chosen scene and its machine, or None where a message already says why not.

    `is_run` says of the visit's scene that it was run as it is, without the form.
    """
    state = st.session_state
    state.refused = []
    if not folds.is_made(FORM, is_needed=not is_run):
        folds.watch(FORM)
        state.broken, state.unopened = False, True
        return state.scene, machine_of(state.scene)
    scene, topology = sidebar.choose(state.scene)
    if state.pop("unopened", False) and topology is not None:
        _rewritten(scene)
    state.broken = bool(state.refused) or topology is None or scene != state.scene  # until it has been carried out
    return scene, topology


def _rewritten(scene: Request) -> None:
    """A form that has just been made may write a scene otherwise than a link did, which changes nothing."""
    state = st.session_state
    if state.get("address") == state.scene:
        address.stands_for(scene)
    state.scene = scene
