"""The gallery: every scene with a small picture, by what leads to it; a click opens it on the stage."""

import streamlit as st

from sim.errors import InputError, StalledError
from ui.navigation import first, leave
from ui.pages import page
from ui.refusals import retold
from ui.scene.beginning import Beginning
from ui.scene.gallery import GROUPS, Exhibit, exhibits
from ui.share.ways import ways
from ui.simulate.past import restore
from ui.state import callback
from ui.text import plain, spoken, tell
from ui.workers import tasks
from ui.workers.asking import ask

ACROSS = 4


@page(order=60, listed=False)
def gallery() -> None:
    """Draw the page once."""
    every = exhibits()
    st.title(tell("scenes.title"), anchor=False)
    st.caption(tell("scenes.intro", count=len(every)))
    group = st.segmented_control(
        tell("scenes.title"),
        list(GROUPS),
        default=GROUPS[0],
        format_func=lambda name: tell(f"scenes.{name}"),
        required=True,
        label_visibility="collapsed",
        key="gallery_group",
    )
    scenes = [exhibit for exhibit in every if exhibit.group == group]
    for at in range(0, len(scenes), ACROSS):
        for column, exhibit in zip(st.columns(ACROSS), scenes[at : at + ACROSS], strict=False):
            with column.container(border=True):
                _card(exhibit)


def _card(exhibit: Exhibit) -> None:
    """A scene's name, which opens it, and its picture."""
    title = plain(exhibit.title(spoken()))
    st.button(title, key=f"exhibit_{exhibit.name}", on_click=_open, args=(exhibit,), type="tertiary", width="stretch")
    try:
        st.image(ask(tasks.small_picture, exhibit.scene, exhibit.view), alt=title, width="stretch")
    except (InputError, StalledError) as error:
        st.caption(plain(retold(error)))
    ways(exhibit)


@callback
def _open(exhibit: Exhibit) -> None:
    restore(exhibit.scene, Beginning(view=exhibit.view))
    leave(first())
