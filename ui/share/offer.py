"""A plan passed on: into a talk, or as a frame in another page."""

from collections.abc import Callable, Mapping

import streamlit as st

from ops.plan import Plan
from ops.plan.link import LONGEST
from ui import address
from ui.controls.parameter import fresh
from ui.page_script import page_script
from ui.share import talks
from ui.text import spoken, tell

WORDS = ("copy", "copied", "code", "help")
"""What the button that copies the code of a frame says."""


def draw(plan: Plan, place: Callable[[], Mapping[str, str]]) -> None:
    """What can be done with a plan elsewhere; `place()` says where in it one stands when a button is pressed."""
    with st.popover(tell("page.share"), icon=":material/share:", key=fresh("share")):
        talks.offer(plan, place)
        words = {name: tell(f"page.embed.{name}") for name in WORDS}
        if address.length_of(plan) > LONGEST:
            st.caption(tell("page.embed.long"))
        else:
            page_script("embed")(key="embed", data={"text": words, "language": spoken()})
