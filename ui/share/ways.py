"""A plan in every form in which it can be taken along: as link, file, cell of a notebook, offline page."""

from functools import partial
from urllib.parse import urlencode

import streamlit as st

from ops.plan.link import to_link
from ops.plan.plan_file import to_yaml
from ui.files.site import notebook
from ui.plan.gallery import Exhibit
from ui.share import saving
from ui.text import spoken, tell
from ui.workers import tasks
from ui.workers.asking import ask


def ways(exhibit: Exhibit) -> None:
    """A menu of them; what a file holds is made when it is asked for."""
    name, plan, language = exhibit.name, exhibit.plan, spoken()
    words = to_link(plan) | {"view": exhibit.view} | ({"lang": language} if language != "en" else {})
    page = partial(ask, tasks.page_alone, plan, exhibit.view, language)
    with st.popover(tell("examples.take"), icon=":material/ios_share:", key=f"take_{name}"):
        st.link_button(tell("examples.link"), f"?{urlencode(words)}", icon=":material/link:", type="tertiary")
        for form, file, media, make in (
            ("file", f"{name}.yaml", "text/yaml", partial(to_yaml, plan)),
            ("notebook", f"{name}.ipynb", "application/x-ipynb+json", partial(notebook, exhibit)),
            ("keep", f"{name}.html", "text/html", page),
        ):
            looks = {"icon": ":material/download:", "type": "tertiary"}
            saving.button(tell(f"examples.{form}"), file, media, make, key=f"{form}_{file}", **looks)
