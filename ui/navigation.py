"""The way from one page to another: the address names the page, and the page then shows what the address says."""

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from ops.plan.link import PLACE
from ui import address
from ui.pages import PAGES
from ui.simulate.state import SimulateState
from ui.state import become, callback, change, state
from ui.visit import Turned, VisitState


def first() -> str:
    """Return the page that an address without one opens."""
    return min(PAGES.values(), key=lambda page: page.order).name


def go(name: str) -> None:
    """Leave for another page, now."""
    leave(name)
    st.rerun()


def leave(name: str) -> None:
    """Make the address name another page, in the same language; the first one with the plan that it shows."""
    simulated = state(SimulateState)
    plan = simulated.plan if name == first() and simulated.has_plan else None
    _turn_to({"page": name} if name != first() else address.words_of(plan) if plan else {})
    address.stands_for(plan)


def button_to(name: str, label: str, icon: str) -> None:
    """Draw a button that leaves for another page."""

    @callback
    def clicked() -> None:
        leave(name)

    st.button(label, icon=icon, on_click=clicked, key=f"to_{name}")


def visit(words: Mapping[str, str]) -> None:
    """Make the address name another page with words of its own, in the same language; what it was is forgotten."""
    _turn_to(words)
    forget(words["page"])


def forget(name: str) -> None:
    """Have a page begin with what the address says."""
    change(PAGES[name].state, is_read=False)
    become(replace(state(VisitState).renewed(), address=None))


def hold() -> None:
    """Stay where a person has turned to, also in a run that was asked for before the browser knew of it."""
    turned = state(VisitState).turned
    if address.is_revisited():
        change(VisitState, turned=None)
    elif turned and turned.before == _named():
        st.query_params.from_dict(turned.after)


def _named() -> dict[str, str]:
    """What the address says, but for the place in a run, which the player writes."""
    return {name: word for name, word in address.words().items() if name not in PLACE}


def _turn_to(words: Mapping[str, str]) -> None:
    before = _named()
    language = {"lang": st.query_params["lang"]} if "lang" in st.query_params else {}
    after = {**words, **language}
    st.query_params.from_dict(after)
    change(VisitState, turned=Turned(before, after) if before != after else None)
