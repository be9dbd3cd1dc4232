"""The frame around every page: the way from one to another, and the language they speak."""

import logging
from typing import Any

import streamlit as st

from sim.registry import addition_fault
from ui import address
from ui.frame import dropped
from ui.navigation import first, forget, leave
from ui.pages import PAGES
from ui.share import saving
from ui.state import become, callback, put, state, value
from ui.text import language_names, plain, retold, say, spoken, tell
from ui.visit import VisitState
from ui.workers.turns import turn

STYLE = """
.block-container { padding: 0.4rem 1.5rem 2rem; max-width: 1760px; }
.stMain [data-testid="stVerticalBlock"] { gap: 0.5rem; }
[data-testid="stHeader"] { height: 2.6rem; min-height: 2.6rem; background: transparent; pointer-events: none; }
[data-testid="stHeader"] * { pointer-events: none !important; }
[data-testid="stHeader"] :is(button, a, button *, a *) { pointer-events: auto !important; }
[data-testid="stMetricValue"] { font-size: 1.3rem; }
.stMain h1 { font-size: 1.75rem; padding: 0.25rem 0 0.75rem; }
.stMain h3 { font-size: 1.25rem; }
[data-testid="stCaptionContainer"] { opacity: 1; color: light-dark(#5c5b58, #b8b6b2); }
svg.marks :is([class*="role-axis"], [class*="role-legend"]) text { fill: light-dark(#5c5b58, #b8b6b2); }
[data-testid="stWidgetLabel"] p { color: light-dark(#3a3936, #edebe8) !important; }
:is([data-testid="stBaseButton-primary"], [data-testid="stBaseButton-primaryFormSubmit"]) p,
[data-testid="stMultiSelectTagsContainer"] [data-tag] :is(span, svg) { color: light-dark(#fff, #0e1418); }
[data-testid="stSidebar"] [data-variant="segmented_control"][data-selected] p { color: light-dark(#00609a, #3a9bd9); }
[data-testid="stCode"] .token.token { color: light-dark(#0b5cad, #79b8ff); }
[data-testid="stCode"] .token:is(.string, .attr-value) { color: light-dark(#0a6b2b, #6fd39b); }
[data-testid="stCode"] .token:is(.decorator, .number, .boolean, .builtin) { color: light-dark(#a04000, #ffb27a); }
[data-testid="stCode"] .token:is(.comment, .punctuation, .operator):not(.decorator) {
  color: light-dark(#3a3936, #edebe8);
}
[data-testid="stCode"] .token.keyword { color: light-dark(#0b5cad, #7db8f0); }
[data-testid="stSidebar"] [data-testid="stAlertContainer"] { padding: 0.6rem 0.8rem; }
.st-key-renewed * { opacity: 1 !important; }
.st-key-ways { padding-left: 2.6rem; padding-right: 2rem; }
.st-key-ways [data-testid="stSkeleton"] { height: 2rem; }
@media (min-width: 641px) {
  [data-testid="stLayoutWrapper"]:has(> .st-key-ways) {
    position: sticky; top: 0; z-index: 30; margin-top: -0.4rem; padding: 0.4rem 0;
    background: light-dark(#fff, #171614);
  }
}
[class*="st-key-script_"], :has(> .st-key-heading),
[data-testid="stLayoutWrapper"]:has(> div > [data-testid="stElementContainer"] > [data-testid="stEmpty"]):not(
  :has(> div > [data-testid="stElementContainer"] > :not([data-testid="stEmpty"])),
  :has(> div > [data-testid="stLayoutWrapper"])
) {
  position: absolute; height: 0; overflow: hidden;
}
.st-key-heading { position: absolute; clip-path: inset(50%); height: 1px; overflow: hidden; }
.st-key-over > :has(> .st-key-title) { flex: 0 1 auto; width: auto; }
.st-key-over > :has(> .st-key-actions) { flex: 1 1 21rem; container-type: inline-size; }
@container (max-width: 46rem) {
  .st-key-actions { gap: 0.45rem; }
  .st-key-actions > [class*="st-key-examples"] { flex: 1 1 6rem; width: auto; min-width: 0; max-width: 15rem; }
  .st-key-actions > :is([class*="st-key-questions"], [class*="st-key-share"], .st-key-keep_beside, .st-key-undo) {
    flex: none; width: auto;
    button { padding: 0 0.6rem; }
    p { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  }
}
.st-key-title p { font-size: 1.3rem; white-space: nowrap; }
.st-key-title [role="group"] {
  border: 0; border-radius: 0; background: transparent; min-height: 2rem; height: 2rem; box-shadow: none;
  border-bottom: 2px dotted var(--st-primary-color, #0072b2);
}
.st-key-title [role="group"]:hover { border-bottom-style: solid; }
.st-key-title input { font-size: 1.3rem; font-weight: 600; padding: 0; cursor: pointer; }
.st-key-title button { padding: 0; width: 1.1rem; }
.st-key-picture:not(:has([data-ringside-stage])) { min-height: calc(100vh - 6.5rem); }
.st-key-answer h2 { font-size: 1.75rem; line-height: 1.25; padding: 0; }
.st-key-answer [data-testid="stMarkdownContainer"] { margin-bottom: 0; }
.st-key-answer p { opacity: 0.75; }
@media (max-width: 640px) { .st-key-answer h2 { font-size: 1.25rem; } }
.st-key-making:not(:empty) {
  position: fixed; right: 1rem; bottom: 1rem; z-index: 1000000; width: min(24rem, 100vw - 2rem);
  padding: 0.75rem 1rem; border-radius: 0.5rem; background: Canvas; box-shadow: 0 2px 16px #0005;
}
.st-key-diagnosis p { font-size: 0.9rem; }
.st-key-diagnosis [data-testid="stVerticalBlock"] { gap: 0.15rem; }
@media (min-width: 641px) { .st-key-diagnosis { min-height: 7.4rem; } }
@media (max-width: 640px) {
  [data-testid="stExpandSidebarButton"] { background: Canvas; border-radius: 50%; }
  .block-container { padding: 0.2rem 0.9rem 2rem; }
  .stMain [data-testid="stVerticalBlock"] { gap: 0.3rem; }
  .st-key-ways { padding: 2.4rem 0 0; }
  .st-key-ways > :nth-child(2) { position: absolute; top: 0.3rem; right: 0.9rem; }
  .st-key-ways button { padding: 0 0.55rem; min-height: 2rem; }
  :has(> .st-key-diagnosis) { order: 1; }
  :has(> .st-key-diagnosis) + * ~ * { order: 2; }
  .st-key-title, .st-key-over { gap: 0.2rem 0.45rem; }
  .st-key-title p, .st-key-title input { font-size: 1.05rem; }
  .st-key-over > :has(> .st-key-title), .st-key-title { flex: 1 1 100%; }
  .st-key-actions > [class*="st-key-examples"] { order: 1; max-width: none; }
}
:has(.st-key-over) > [data-testid="stSidebar"] {
  position: fixed !important; top: 0; left: 0; height: 100% !important;
  &:not([data-collapsed="true"]) { box-shadow: 0 0 24px #0004; }
  &[data-collapsed="true"] { visibility: hidden; }
}
"""
"""How every page looks. On the one that is a picture the long form opens over it, and closes again."""


def main() -> None:
    """Draw the page that the address names, once.

    Pages are words of the address and no paths: a path makes Streamlit look for its server below it, and complain.
    """
    with turn():
        _draw()


def _draw() -> None:
    page = st.query_params.get("page", first())
    name = page if page in PAGES else first()
    if address.is_revisited():
        forget(name)
    become(state(VisitState).drawing(name))
    sidebar: Any = "collapsed" if name == first() else "auto"
    st.set_page_config(page_title=tell("page.title"), layout="wide", initial_sidebar_state=sidebar)
    if not st.context.is_embedded:
        _choose(name)
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
        st.error(plain(retold(fault)), icon=":material/error:")
    if not st.context.is_embedded:
        saving.deliver()


def _choose(name: str) -> None:
    """Pages on the left, languages on the right."""
    pages = sorted(PAGES.values(), key=lambda page: page.order)
    names = [page.name for page in pages if page.listed or page.name == name]
    titles = language_names()
    put("page", name)
    put("language", spoken())

    @callback
    def turned() -> None:
        chosen = value("page")
        leave(chosen if chosen in PAGES else name)

    @callback
    def translated() -> None:
        st.query_params["lang"] = value("language") or spoken()

    with st.container(horizontal=True, horizontal_alignment="distribute", key="ways"):
        st.segmented_control(
            tell("page.pages"),
            names,
            format_func=lambda n: tell(f"page.{n}.title"),
            label_visibility="collapsed",
            key="page",
            on_change=turned,
        )
        st.segmented_control(
            say("page.language"),
            list(titles),
            format_func=titles.__getitem__,
            label_visibility="collapsed",
            key="language",
            on_change=translated,
        )
