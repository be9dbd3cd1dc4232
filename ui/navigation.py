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
    turn({"page": name} if name != first() else address.words_of(plan) if plan else {})
    address.stands_for(plan)


def button_to(name: str, label: str, icon: str) -> None:
    """Draw a button that leaves for another page."""

    @callback
    def clicked() -> None:
        leave(name)

    st.button(label, icon=icon, on_click=clicked, key=f"to_{name}")


def visit(words: Mapping[str, str]) -> None:
    """Make the address name another page with words of its own, in the same language; what it was is forgotten."""
    turn(words)
    forget(words["page"])


def forget(name: str) -> None:
    """Have a page begin with what the address says."""
    change(PAGES[name].state, is_read=False)
    become(replace(state(VisitState).renewed(), address=None))


def turn(words: Mapping[str, str]) -> None:
    """Have the address of the next run be these words, in the same language."""
    before = _named()
    after = {**words, **({"lang": before["lang"]} if "lang" in before else {})}
    change(VisitState, turned=Turned(before, after) if before != after else None)


def hold() -> None:
    """Stay where a person has turned to, also in a run that was asked for before the browser knew of it."""
    turned = state(VisitState).turned
    if address.is_revisited():
        change(VisitState, turned=None)
    elif turned and is_turning():
        st.query_params.from_dict(turned.after)


def is_turning() -> bool:
    """Whether a person has turned to something else, which the next run shows."""
    turned = state(VisitState).turned
    return turned is not None and turned.before == _named()


def _named() -> dict[str, str]:
    """What the address says, but for the place in a run, which the player writes."""
    return {name: word for name, word in address.words().items() if name not in PLACE}
