"""A film of a part of a run, as a person wants it: how long, how wide, on which paper; made with a bar."""

from dataclasses import replace

import streamlit as st

from ops.request import Request
from sim.errors import InputError, StalledError
from sim.units import fmt_time
from ui.files.exports import EXPORTS, Shot
from ui.text import plain, tell
from ui.workers import tasks
from ui.workers.asking import ask

WIDTHS = (640, 960, 1280, 1920)
USUAL = 10.0
"""Seconds of a film."""
PAPERS = ("light", "dark")


def choose(shot: Shot, length: float) -> Shot:
    """Draw the choices; returns the shot with them. `length` is the run's, in s."""
    begin, end = st.slider(tell("page.film.part"), 0, 100, (0, 100), format="%d %%", key="film_part")
    left, middle, right = st.columns(3)
    seconds = left.number_input(tell("page.film.seconds"), 1.0, 60.0, USUAL, 1.0, format="%g", key="film_seconds")
    width = middle.selectbox(tell("page.film.width"), WIDTHS, index=WIDTHS.index(1280), key="film_width")
    theme = right.selectbox(
        tell("page.film.theme"), PAPERS, format_func=lambda name: tell(f"page.film.{name}"), key="film_theme"
    )
    end = max(end, begin + 1)
    part = length * min(begin, 99) / 100, length * end / 100
    st.caption(tell("page.film.tempo", begin=fmt_time(part[0]), end=fmt_time(part[1]),
                    tempo=fmt_time((part[1] - part[0]) / seconds)))  # fmt: skip
    return replace(shot, begin=part[0], end=part[1], seconds=seconds, width=width, dark=theme == "dark")


def make(scene: Request, kind: str, shot: Shot, name: str) -> None:
    """A button that makes the film, a bar while it is made, and a button that saves it."""
    chosen = scene, kind, shot

    def begun() -> None:
        st.session_state.film = chosen

    st.button(tell("page.export.make"), on_click=begun, key="film_make")
    if st.session_state.get("film") != chosen:
        return
    try:
        data = ask(tasks.export, scene, kind, shot)
    except (InputError, StalledError) as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.download_button(
        tell("page.film.save", size=f"{len(data) / 1e6:.1f}"), data, name, EXPORTS[kind].media, on_click="ignore",
        type="primary", key="film_save",
    )  # fmt: skip
