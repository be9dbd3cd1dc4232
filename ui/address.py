"""The address: it names what is shown, and a browser may go back and forward in it.

Pages write it here, with what it stands for, so that it changes only when something else is shown: every change is a
place to come back to. Where in its runs the player stands is no part of that; the player keeps those words itself.
"""

import zlib
from collections.abc import Mapping
from dataclasses import astuple
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ops.plan import Plan
from ops.plan.link import LONGEST, PLACE, from_link, to_link
from ui.state import become, change, state
from ui.visit import VisitState

FRAME = ("page", "lang")
"""Words of every page."""
PLAN = "plan"
"""The word that names a plan too long for a link: this visit remembers it."""
OLD = "scene"
"""The same word in links of old, which no visit remembers."""


def is_revisited() -> bool:
    """Whether the browser went back or forward to where it is."""
    context = get_script_run_ctx(suppress_warning=True)
    return bool(getattr(context, "is_history_navigation", False))


def words() -> dict[str, str]:
    """All words of the address."""
    return {name: st.query_params[name] for name in st.query_params}


def stands_for(what: object) -> None:
    """Take down what the address, as it is, names."""
    change(VisitState, address=what)


def write(named: Mapping[str, str], what: object) -> None:
    """Make the address name something in these words, unless it does so already."""
    if state(VisitState).address == what:
        return
    now = words()
    written = {name: now[name] for name in FRAME if name in now} | dict(named)
    if written != {name: word for name, word in now.items() if name not in PLACE}:
        st.query_params.from_dict(written)
    stands_for(what)  # last: where a newer request interrupts this run, the next one writes


def words_of(plan: Plan) -> dict[str, str]:
    """The words of a plan; of one that is too long for a link, a name for it that this visit knows."""
    if length_of(plan) <= LONGEST:
        return to_link(plan)
    name = f"{zlib.crc32(repr(astuple(plan)).encode()):08x}"
    become(state(VisitState).remembering(name, plan))
    return {PLAN: name}


def length_of(plan: Plan) -> int:
    """Characters that a link needs for a plan, or more than a link may have where a text in it is too long for one."""
    named = to_link(plan)
    whole = len(urlencode(named))
    left_out = [text for word, text in (("capture", plan.capture), ("schedule", plan.schedule)) if word not in named]
    return whole + sum(max(LONGEST, len(text)) for text in left_out if text)


def plan_of(named: Mapping[str, str]) -> Plan | None:
    """The plan that words name, None for a long one of another visit. Raises InputError for damaged words."""
    if not {PLAN, OLD} & named.keys():
        return from_link(named)
    return state(VisitState).long_plans.get(named.get(PLAN, ""))
