"""A plan in every form in which it can be taken along: as link, file, cell of a notebook, offline page."""

from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from ops.plan.link import to_link
from ops.plan.plan_file import to_yaml
from ui.files.site import notebook
from ui.plan.gallery import Exhibit
from ui.text import spoken, tell
from ui.workers import tasks
from ui.workers.asking import ask_apart, visitor


def ways(exhibit: Exhibit) -> None:
    """A menu of them; what a file holds is made when it is asked for."""
    name, plan, language = exhibit.name, exhibit.plan, spoken()
    words = to_link(plan) | {"view": exhibit.view} | ({"lang": language} if language != "en" else {})
    page = partial(ask_apart, visitor(), tasks.page_alone, plan, exhibit.view, language)
    with st.popover(tell("examples.take"), icon=":material/ios_share:", key=f"take_{name}"):
        st.link_button(tell("examples.link"), f"?{urlencode(words)}", icon=":material/link:", type="tertiary")
        _download("file", partial(to_yaml, plan), f"{name}.yaml", "text/yaml")
        _download("notebook", partial(notebook, exhibit), f"{name}.ipynb", "application/x-ipynb+json")
        _download("keep", page, f"{name}.html", "text/html")


def _download(form: str, make: Callable[[], str | bytes], file: str, mime: str) -> None:
    label, icon = tell(f"examples.{form}"), ":material/download:"
    st.download_button(label, make, file, mime, key=f"{form}_{file}", on_click="ignore", icon=icon, type="tertiary")
