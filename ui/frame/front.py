"""The frame around every page: the way from one to another, and the language they speak."""

import logging
from typing import Any

import streamlit as st

from sim.registry import addition_fault
from ui import address
from ui.frame import dropped
from ui.navigation import first, forget, hold, leave
from ui.pages import PAGES
from ui.player.page_script import page_script
from ui.player.scripts import ASSETS
from ui.share import saving
from ui.state import become, callback, put, state, value
from ui.text import language_names, plain, prose, retold, say, spoken, tell
from ui.visit import VisitState
from ui.workers.turns import turn

LOOKS = ("page", "header", "settings", "title", "intro")
STYLE = "\n".join((ASSETS / "frame" / f"{name}.css").read_text(encoding="utf-8") for name in LOOKS)
"""How every page looks."""
THEMES = {"System": "page.theme.system", "Light": "page.theme.light", "Dark": "page.theme.dark"}
"""What Streamlit calls a choice of colours, and the text of it."""


def main() -> None:
    """Draw the page that the address names, once.

    Pages are words of the address and no paths: a path makes Streamlit look for its server below it, and complain.
    """
    with turn():
        _draw()


def _draw() -> None:
    hold()
    page = st.query_params.get("page", first())
    name = page if page in PAGES else first()
    if address.is_revisited():
        forget(name)
    become(state(VisitState).drawing(name))
    panel: Any = "auto" if PAGES[name].opens_settings else "collapsed"
    st.set_page_config(page_title=tell("page.title"), layout="wide", initial_sidebar_state=panel)
    if not st.context.is_embedded:
        _header(name)
        dropped.receive()
    if page not in PAGES:
        st.error(tell("page.unknown", name=plain(page[:40])), icon=":material/link_off:")
    try:
        PAGES[name].draw()
    except Exception as error:
        fault = addition_fault(error)
        if fault is None:
            raise
        logging.getLogger(__name__).exception("page %s", name)
        st.error(prose(retold(fault)), icon=":material/error:")
    if not st.context.is_embedded:
        saving.deliver()
        with st.sidebar:
            _display()


def _header(name: str) -> None:
    """The way to every page on the left, to the settings on the right; what a page adds stands between."""
    pages = sorted(PAGES.values(), key=lambda page: page.order)
    names = [page.name for page in pages if page.listed or page.name == name]
    put("page", name)

    @callback
    def turned() -> None:
        chosen = value("page")
        leave(chosen if chosen in PAGES else name)

    with st.container(horizontal=True, vertical_alignment="center", key="ways"):
        with st.container(key="brand"):
            st.markdown(f"**{tell('page.title')}**", width="content")
        st.segmented_control(
            tell("page.pages"),
            names,
            format_func=lambda n: tell(f"page.{n}.title"),
            label_visibility="collapsed",
            key="page",
            on_change=turned,
        )
        page_script("settings", "frame")(key="settings", data={"text": tell("settings.title")})
    with st.sidebar, st.container(key="settings_title"):
        st.markdown(f"**{tell('settings.title')}**")


def _display() -> None:
    """How pages are shown: their language and their colours."""
    titles = language_names()
    put("language", spoken())

    @callback
    def translated() -> None:
        st.query_params["lang"] = value("language") or spoken()

    st.markdown(f"**{tell('settings.display')}**")
    st.selectbox(
        say("page.language"), list(titles), format_func=titles.__getitem__, key="language", on_change=translated
    )
    names = {name: tell(text) for name, text in THEMES.items()}
    page_script("theme", "frame")(key="theme", data={"label": tell("page.theme"), "names": names})
