"""The frame around every page: the way from one to another, and the language they speak."""

import streamlit as st

from ui.pages import PAGES
from ui.text import keep_language, tell

STYLE = """
.block-container { padding-top: 3.4rem; padding-bottom: 3rem; max-width: 1500px; }
[data-testid="stMetricValue"] { font-size: 1.3rem; }
"""


def main() -> None:
    """Draw the page that the address names, once."""
    keep_language()
    st.set_page_config(page_title=tell("page.title"), layout="wide")
    st.html(f"<style>\n{STYLE}\n</style>")
    pages = sorted(PAGES.values(), key=lambda page: page.order)
    chosen = st.navigation(
        [
            st.Page(page.draw, title=tell(f"page.{page.name}.title"), url_path=page.name, default=not k)
            for k, page in enumerate(pages)
        ],
        position="top",
    )
    chosen.run()
