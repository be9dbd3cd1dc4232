"""A film of a part of a run, as a person wants it: how long, how wide, on which paper."""

from dataclasses import replace

import streamlit as st

from sim.base.numbers import real
from sim.units import fmt_time
from ui.export.exports import Shot
from ui.text import tell

WIDTHS = (640, 960, 1280, 1920)
USUAL = 10.0
"""Seconds of a film."""
PAPERS = ("light", "dark")


def marked(word: str, length: float) -> tuple[float, float]:
    """The stretch of time that is marked in the player, as a link tells it, s; all of the run where none is.

    >>> marked("0.001_0.003", 0.002), marked("", 1.0), marked("x_y", 1.0)
    ((0.001, 0.002), (0.0, 1.0), (0.0, 1.0))
    """
    begin, end = (real(part) for part in (word.split("_") if word.count("_") == 1 else ("0", "")))
    if begin is None or end is None or not 0 <= begin < min(end, length):
        return 0.0, length
    return begin, min(end, length)


def choose(shot: Shot, length: float, brush: str = "") -> Shot:
    """Draw the choices; returns the shot with them. `length` is the run's, in s, `brush` what is marked of it."""
    part = marked(brush, length)
    percent = 100 / length if length else 0.0
    usual = (round(part[0] * percent, 1), round(part[1] * percent, 1) or 100.0)
    key = f"film_part_{brush}" if brush else "film_part"
    begin, end = st.slider(tell("page.film.part"), 0.0, 100.0, usual, 0.1, format="%.1f%%", key=key)
    left, middle, right = st.columns(3)
    seconds = left.number_input(tell("page.film.seconds"), 1.0, 60.0, USUAL, 1.0, format="%g", key="film_seconds")
    width = middle.selectbox(tell("page.film.width"), WIDTHS, index=WIDTHS.index(1280), key="film_width")
    theme = right.selectbox(
        tell("page.film.theme"), PAPERS, format_func=lambda name: tell(f"page.film.{name}"), key="film_theme"
    )
    if (begin, end) != usual:
        part = length * min(begin, 99.9) / 100, length * max(end, begin + 0.1) / 100
    st.caption(tell("page.film.tempo", begin=fmt_time(part[0]), end=fmt_time(part[1]),
                    tempo=fmt_time((part[1] - part[0]) / seconds)))  # fmt: skip
    return replace(shot, begin=part[0], end=part[1], seconds=seconds, width=width, dark=theme == "dark")
