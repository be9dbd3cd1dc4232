"""How the server is doing, for whoever runs it: `?page=health`; `/health` says the same to programs."""

from functools import partial

import streamlit as st

from sim.units import fmt_size
from ui.pages import page
from ui.server.health import health as numbers
from ui.state import fragment
from ui.text import tell

EVERY = 2.0
"""Seconds between two looks."""


@page(order=90, listed=False)
def health() -> None:
    """Draw the page once; its numbers renew themselves."""
    st.title(tell("page.health.title"), anchor=False)
    st.caption(tell("page.health.what"))
    _numbers()


@partial(fragment, every=EVERY)
def _numbers() -> None:
    with st.container(horizontal=True, gap="large", key="renewed"):
        for name, value in numbers().items():
            shown = fmt_size(value) if name.endswith("_bytes") else f"{value:,}"
            st.metric(tell(f"page.health.{name}"), shown, width="content")
