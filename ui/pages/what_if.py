"""The list of what-ifs: every variant that was tried, its time and its answer beside the baseline."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ops.plan import Plan
from ops.plan.link import LONGEST
from ops.plan.packing import packed, unpacked
from ops.whatif import Sheet, Variant, VariantRow
from ops.whatif.file import read, write
from ops.whatif.table import failed_row, summary
from sim.errors import InputError, StalledError
from ui import address
from ui.controls import answer
from ui.pages import page
from ui.simulate.state import SimulateState
from ui.state import become, state
from ui.text import prose, retold, tell, worded
from ui.whatif import adding, bar, table
from ui.whatif.state import WhatIfState
from ui.workers import tasks
from ui.workers.asking import ask

LIST = "list"
"""The word of a link that holds the list, packed."""
CURVES = 4
"""Runs whose curves are drawn at once."""


@page(order=25, state=WhatIfState)
def what_if() -> None:
    """Draw the page once."""
    st.title(tell("page.what_if.title"), anchor=False)
    _arrive()
    now = state(WhatIfState)
    if now.problem:
        st.error(prose(now.problem), icon=":material/link_off:")
    _depart(now.sheet)
    try:
        rows = [ask(tasks.what_if_row, now.sheet.baseline, None)]
        rows += [_row(now.sheet.baseline, variant) for variant in now.sheet.variants]
    except (InputError, StalledError) as error:
        bar.draw(now, [])
        st.error(prose(retold(error)), icon=":material/error:")
        return
    chosen = rows[now.row + 1]
    lead = st.empty()
    _lead(lead, now, rows, chosen)
    bar.draw(now, rows)
    table.draw(now, rows)
    left, right = st.columns([1, 2], gap="large")
    with left:
        st.subheader(tell("whatif.add.title"), anchor=False)
        adding.form(now.sheet.baseline)
    with right:
        st.subheader(tell("whatif.vary"), anchor=False)
        plans = {rows[0].title(worded): now.sheet.baseline}
        for row in [rows[now.row + 1], *reversed(rows[1:])]:
            if row.plan and not row.problem and len(plans) < (2 if now.row >= 0 else CURVES):
                plans.setdefault(row.title(worded), row.plan)
        adding.sliders(now.sheet.baseline, plans)
    if chosen.answer and now.row >= 0 and chosen.factor > 1:  # what would win it back takes many runs
        row = ask(tasks.what_if_answer, now.sheet.baseline, now.sheet.variants[now.row])
        _lead(lead, now, rows, row, "remedy")


def _row(baseline: Plan, variant: Variant) -> VariantRow:
    """The row of a variant; one that takes too long says so."""
    try:
        return ask(tasks.what_if_row, baseline, variant)
    except (InputError, StalledError) as error:
        return failed_row(baseline, variant, error)


def _lead(place: DeltaGenerator, now: WhatIfState, rows: list[VariantRow], row: VariantRow, name: str = "") -> None:
    """The answer of the row that is chosen, else that of the list."""
    if row.problem:
        place.error(prose(row.sentences(worded)), icon=":material/error:")
    elif now.row < 0 and len(rows) > 1:
        answer.lead(place, [summary(rows)])
    else:
        answer.lead(place, [message for message, _ in row.answer.evidence] if row.answer else [], name)


def _arrive() -> None:
    """Take the list from the address, or go on with that of the visit."""
    now = state(WhatIfState)
    if now.is_read:
        return
    word = address.words().get(LIST, "")
    try:
        if word:
            now = now.began(read(unpacked(word, {}, LIST), tell("page.what_if.title")))
        elif not now.has_baseline:
            now = now.began(Sheet(state(SimulateState).plan))
    except InputError as error:
        now = replace(now, problem=retold(error))
    become(replace(now, is_read=True))


def _depart(sheet: Sheet) -> None:
    """Write the list into the address."""
    word = packed(write(sheet), {}, LONGEST)
    address.write({LIST: word} if word else {}, sheet)
    if not word:
        st.caption(tell("whatif.long", most=f"{LONGEST:,}"))
