"""The frame around every page: the way from one to another, and the language they speak."""

import gc
from functools import cache

import streamlit as st

from ui.pages import PAGES, first, leave
from ui.text import language_names, plain, say, spoken, tell

STYLE = """
.block-container { padding-top: 3.4rem; padding-bottom: 3rem; max-width: 1500px; }
[data-testid="stMetricValue"] { font-size: 1.3rem; }
@media (max-width: 640px) { .block-container { padding-top: 4.75rem; } }
.stMain h1 { font-size: 1.75rem; padding: 0.25rem 0; }
.stMain h3 { font-size: 1.25rem; }
"""


def main() -> None:
    """Draw the page that the address names, once.

    Pages are words of the address and no paths: a path makes Streamlit look for its server below it, and complain.
    """
    st.set_page_config(page_title=tell("page.title"), layout="wide")
    _keep_what_is_imported()
    st.html(f"<style>\n{STYLE}\n</style>")
    page = st.query_params.get("page", first())
    name = page if page in PAGES else first()
    if not st.context.is_embedded:
        _choose(name)
    if page not in PAGES:
        st.error(tell("page.unknown", name=plain(page[:40])), icon=":material/link_off:")
    PAGES[name].draw()


@cache
def _keep_what_is_imported() -> None:
    """Streamlit looks for garbage among all objects after every run: what modules hold is none, and most of them."""
    len(PAGES)  # imports them all
    gc.collect()
    gc.freeze()


def _choose(name: str) -> None:
    """Pages on the left, languages on the right."""
    pages = sorted(PAGES.values(), key=lambda page: page.order)
    names = [page.name for page in pages if page.listed or page.name == name]
    titles = language_names()
    st.session_state.page, st.session_state.language = name, spoken()

    def turned() -> None:
        leave(st.session_state.page or name)

    def translated() -> None:
        st.query_params["lang"] = st.session_state.language or spoken()

    with st.container(horizontal=True, horizontal_alignment="distribute"):
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
