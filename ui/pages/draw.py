"""The page on which one draws a machine from an empty page, and takes it to every other page."""

import json
from functools import partial
from typing import Literal

import streamlit as st

from ops.plan import Plan
from ops.plan.link import LONGEST
from ops.plan.packing import packed, unpacked
from sim.errors import InputError
from ui import address
from ui.draw import component
from ui.draw.checks import DrawingChecks, check_drawing
from ui.draw.document import read_drawing
from ui.draw.state import DrawState, empty
from ui.navigation import is_turning, leave
from ui.pages import page
from ui.plan.beginning import Beginning
from ui.share import saving
from ui.simulate.past import restore
from ui.state import become, callback, change, fragment, state, value
from ui.text import prose, retold, spoken, tell, worded
from ui.workers.asking import read

WORD = "drawing"
"""What an address calls the drawing."""
BOARD = "draw_board"


@page(order=46, listed=False, state=DrawState)
def draw() -> None:
    """Draw the page once."""
    _arrive()
    st.title(tell("draw.title"), anchor=False)
    st.caption(tell("draw.tagline"))
    _board()


def _arrive() -> None:
    """Take the drawing from the address, unless it was taken before."""
    now = state(DrawState)
    if now.is_read:
        return
    word = address.words().get(WORD, "")
    try:
        text = unpacked(word, {}, WORD) if word else ""
        read_drawing(text or empty(spoken()))
        become(now.arrived(text))
    except InputError as error:
        become(now.arrived("", retold(error)))


@fragment
def _board() -> None:
    """The board, and ways to take the machine along."""
    if is_turning():
        st.rerun()
    now = state(DrawState)
    if now.problem:
        st.error(prose(now.problem), icon=":material/error:")
    try:
        checks = read(check_drawing, now.text or empty(spoken()))
    except InputError as error:
        st.error(prose(retold(error)), icon=":material/error:")
        return
    fits = _depart(now)
    _take_along(checks)
    problems = [(worded(problem.sentence), problem.devices) for problem in checks.problems]
    component.show(now, problems, _summary(checks), spoken(), key=BOARD, drawn=_drawn)
    st.caption(tell("draw.link.address" if fits else "draw.link.long"))
    with st.expander(tell("draw.yaml"), expanded=True):
        st.code(checks.yaml, language="yaml", wrap_lines=True)


def _summary(checks: DrawingChecks) -> str:
    if not checks.devices:
        return tell("draw.empty")
    return tell("draw.ready", gpus=checks.gpus, devices=checks.devices, links=checks.links)


@callback
def _drawn() -> None:
    """Take what a person has drawn; it comes from a browser, so it is checked like a link."""
    drawn, now = value(BOARD).drawn, state(DrawState)
    if not isinstance(drawn, dict) or drawn.get("token") != now.token or type(drawn.get("revision")) is not int:
        return
    text = json.dumps(drawn.get("document"), ensure_ascii=False, separators=(",", ":"))
    try:
        read_drawing(text)
        become(now.drawn(text, drawn["revision"]))
    except InputError as error:
        change(DrawState, problem=retold(error))


def _depart(now: DrawState) -> bool:
    """Write the drawing into the address; returns whether it has room for it."""
    word = packed(now.text, {}, LONGEST) if now.text else ""
    address.write({WORD: word} if word else {}, now.text)
    return bool(word) or not now.text


def _take_along(checks: DrawingChecks) -> None:
    """The way to the Simulate page with the machine, and its file."""
    with st.container(horizontal=True, gap="small", key="draw_bar"):
        ready = bool(checks.devices and not checks.problems)
        kind: Literal["primary", "secondary"] = "primary" if ready else "secondary"
        st.button(
            tell("draw.simulate"),
            icon=":material/play_circle:",
            type=kind,
            disabled=not ready,
            key="draw_simulate",
            on_click=_simulated,
            args=(checks.yaml,),
        )
        make = partial(str, checks.yaml)
        label, icon = tell("draw.save"), ":material/download:"
        saving.button(label, "machine.yaml", "application/yaml", make, key="draw_save", icon=icon, disabled=not ready)


@callback
def _simulated(machine: str) -> None:
    restore(Plan(capture=machine), Beginning(view="machine"))
    leave("stage")
