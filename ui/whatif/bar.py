"""What one does with the whole list: undo, sort, another machine, a new list, files."""

from dataclasses import replace
from functools import partial

import streamlit as st

from ops.plan import Plan
from ops.whatif import Sheet, VariantRow, to_csv
from ops.whatif.file import write
from ops.whatif.table import SORTS, order_of
from sim.machines import MACHINES
from ui.controls.parameter import fresh
from ui.export import whatif_page
from ui.plan.picture import file_name
from ui.share import saving
from ui.simulate.state import SimulateState
from ui.state import callback, state, value
from ui.text import spoken, tell, worded
from ui.whatif.state import WhatIfState, act
from ui.workers import tasks
from ui.workers.asking import ask


def draw(now: WhatIfState, rows: list[VariantRow]) -> None:
    """Draw the bar above a table."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="whatif_bar"):
        _undo(now)
        _sort(rows)
        _machine()
        _new()
        with st.popover(tell("whatif.save"), icon=":material/download:"):
            name = f"{file_name(now.sheet.baseline)}-what-if"
            saving.button("CSV", f"{name}.csv", "text/csv", partial(to_csv, rows, worded), key="whatif_csv")
            saving.button("YAML", f"{name}.yaml", "text/yaml", partial(write, now.sheet), key="whatif_yaml")
            pictures = partial(whatif_page.page, rows, _small_picture, spoken())
            saving.button(tell("whatif.pictures"), f"{name}.html", "text/html", pictures, key="whatif_html")


def _undo(now: WhatIfState) -> None:
    @callback
    def undone() -> None:
        act(WhatIfState.undone)

    @callback
    def redone() -> None:
        act(WhatIfState.redone)

    past, future = now.history.past, now.history.future
    st.button(tell("page.undo"), icon=":material/undo:", on_click=undone, key="whatif_undo", disabled=not past)
    st.button(tell("page.redo"), icon=":material/redo:", on_click=redone, key="whatif_redo", disabled=not future)


def _sort(rows: list[VariantRow]) -> None:
    key = fresh("whatif_sort")

    @callback
    def ordered() -> None:
        sort = value(key)
        if sort and rows:
            act(lambda now: now.did(now.sheet.ordered(order_of(rows, sort, worded)), -1))

    st.selectbox(
        tell("whatif.sort"),
        SORTS,
        index=None,
        format_func=lambda name: tell(f"whatif.sort.{name}"),
        placeholder=tell("whatif.sort"),
        label_visibility="collapsed",
        on_change=ordered,
        key=key,
        width=160,
    )


def _machine() -> None:
    key = fresh("whatif_machine")

    @callback
    def moved() -> None:
        if value(key):
            act(lambda now: now.did(now.sheet.on(Plan(machine=value(key))), now.row))

    st.selectbox(
        tell("whatif.machine"),
        list(MACHINES),
        index=None,
        placeholder=tell("whatif.machine"),
        label_visibility="collapsed",
        accept_new_options=True,
        on_change=moved,
        key=key,
        width=220,
    )


def _new() -> None:
    @callback
    def begun() -> None:
        plan = replace(state(SimulateState).plan, against="")
        act(lambda now: now.began(Sheet(plan)))

    st.button(tell("whatif.new"), icon=":material/playlist_add:", on_click=begun, key="whatif_new")


def _small_picture(plan: Plan) -> str:
    return ask(tasks.small_picture, plan, "machine")
