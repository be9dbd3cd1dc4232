"""The form in the drawer over the picture: it is made when somebody opens it, or has to be told what is wrong."""

import streamlit as st

from ops.plan import Plan
from ops.plan.notation import by_name
from sim.errors import InputError
from sim.topology import Topology
from ui import address
from ui.drawer import folds
from ui.plan.machines import machine_of
from ui.widgets import sidebar

FORM = "form"
"""The fold that the form is."""


def is_skipped(plan: Plan) -> bool:
    """Whether nobody has opened the form yet, and it would change nothing about a plan that can be run."""
    if folds.is_made(FORM) or plan.schedule:
        return False
    try:
        return by_name(plan.algorithm, plan.settings) == (plan.algorithm, plan.settings)
    except InputError:
        return False


def choose(is_run: bool) -> tuple[Plan, Topology | None]:
    """Draw it: returns the chosen plan and its machine, or None where a message already says why not.

    `is_run` says of the visit's plan that it was run as it is, without the form.
    """
    state = st.session_state
    state.refused = []
    if not folds.is_made(FORM, is_needed=not is_run):
        folds.watch(FORM)
        state.broken, state.unopened = False, True
        return state.plan, machine_of(state.plan)
    plan, topology = sidebar.choose(state.plan)
    if state.pop("unopened", False) and topology is not None:
        _rewritten(plan)
    state.broken = bool(state.refused) or topology is None or plan != state.plan  # until it has been carried out
    return plan, topology


def _rewritten(plan: Plan) -> None:
    """A form that has just been made may write a plan otherwise than a link did, which changes nothing."""
    state = st.session_state
    if state.get("address") == state.plan:
        address.stands_for(plan)
    state.plan = plan
