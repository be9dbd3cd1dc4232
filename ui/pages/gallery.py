"""The gallery: every example with a small picture, by what leads to it; a click opens it on the stage."""

import streamlit as st

from sim.errors import InputError, StalledError
from ui.navigation import first, leave
from ui.pages import page
from ui.plan.beginning import Beginning
from ui.plan.gallery import GROUPS, Exhibit, exhibits
from ui.simulate.past import restore
from ui.state import callback
from ui.text import plain, prose, retold, spoken, tell
from ui.workers import tasks
from ui.workers.asking import ask

ACROSS = 4


@page(order=60, listed=False)
def gallery() -> None:
    """Draw the page once."""
    every = exhibits()
    st.title(tell("examples.title"), anchor=False)
    st.caption(tell("examples.intro", count=len(every)))
    group = st.segmented_control(
        tell("examples.title"),
        list(GROUPS),
        default=GROUPS[0],
        format_func=lambda name: tell(f"examples.{name}"),
        required=True,
        label_visibility="collapsed",
        key="gallery_group",
    )
    examples = [exhibit for exhibit in every if exhibit.group == group]
    for at in range(0, len(examples), ACROSS):
        for column, exhibit in zip(st.columns(ACROSS), examples[at : at + ACROSS], strict=False):
            with column.container(border=True):
                _card(exhibit)


def _card(exhibit: Exhibit) -> None:
    """An example's name, which opens it, and its picture."""
    title = plain(exhibit.title(spoken()))
    st.button(title, key=f"exhibit_{exhibit.name}", on_click=_open, args=(exhibit,), type="tertiary", width="stretch")
    try:
        st.image(ask(tasks.small_picture, exhibit.plan, exhibit.view), alt=title, width="stretch")
    except (InputError, StalledError) as error:
        st.caption(prose(retold(error)))


@callback
def _open(exhibit: Exhibit) -> None:
    restore(exhibit.plan, Beginning(view=exhibit.view))
    leave(first())
