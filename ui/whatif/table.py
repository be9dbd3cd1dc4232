"""The table of what-ifs, and what one does with one of its rows."""

from dataclasses import replace

import streamlit as st

from ops.plan.notation import beside
from ops.whatif import VariantRow
from ui.controls.parameter import fresh
from ui.navigation import leave
from ui.simulate.past import restore
from ui.state import callback, value
from ui.text import tell, worded
from ui.whatif.state import WhatIfState, act


def draw(now: WhatIfState, rows: list[VariantRow]) -> None:
    """Draw all rows, and below them what one does with the row that is chosen."""
    key = fresh(f"whatif_table_{now.row}")

    @callback
    def chosen() -> None:
        picked = value(key).selection.get("rows", [])
        act(lambda now: replace(now, row=picked[0] - 1 if picked else -1))

    data = [
        {
            tell("whatif.run"): row.title(worded),
            tell("page.time"): row.shown_time or "–",
            tell("whatif.factor"): f"{row.factor:.3g}×" if row.shown_time else "–",
            tell("whatif.answer"): row.sentences(worded),
        }
        for row in rows
    ]
    st.dataframe(
        data,
        hide_index=True,
        width="stretch",
        on_select=chosen,
        selection_mode="single-row",
        selection_default={"selection": {"rows": [now.row + 1]}} if now.row >= 0 else None,
        key=key,
        column_config={tell("whatif.answer"): st.column_config.TextColumn(width="large")},
    )
    st.caption(tell("whatif.click"))
    if now.row >= 0:
        _row(now, rows[now.row + 1])


def _row(now: WhatIfState, row: VariantRow) -> None:
    """What one does with the variant that is chosen."""
    place, variant = now.row, now.sheet.variants[now.row]
    key = fresh(f"whatif_name_{place}")

    @callback
    def renamed() -> None:
        act(lambda now: now.did(now.sheet.renamed(place, str(value(key) or "")), place))

    @callback
    def removed() -> None:
        act(lambda now: now.did(now.sheet.removed(place), place - 1))

    @callback
    def rebased() -> None:
        act(lambda now: now.did(now.sheet.rebased(place), -1))

    @callback
    def opened() -> None:
        if row.plan:
            restore(replace(row.plan, against=beside([now.sheet.baseline.kept_beside()])))
            leave("stage")

    with st.container(horizontal=True, vertical_alignment="bottom", key="whatif_row"):
        title = row.title(worded)
        st.text_input(tell("whatif.name"), variant.name, placeholder=title, key=key, on_change=renamed, width=320)
        st.button(tell("whatif.remove"), icon=":material/delete:", on_click=removed, key="whatif_remove")
        if row.plan:
            st.button(tell("whatif.show"), icon=":material/play_circle:", on_click=opened, key="whatif_show")
            st.button(tell("whatif.rebase"), icon=":material/flag:", on_click=rebased, key="whatif_rebase")
    st.code(row.changes, language=None)
