"""The report of a machine: what a capture leads to, with hosts and NICs to set, as a file to save or print."""

from dataclasses import dataclass, field
from functools import partial

import streamlit as st

from ops.plan import Plan
from sim.base.numbers import whole
from sim.errors import InputError, StalledError
from ui import address
from ui.navigation import leave
from ui.pages import page
from ui.plan.picture import file_name
from ui.player.page_script import page_script
from ui.share import saving
from ui.simulate.past import restore
from ui.simulate.state import SimulateState
from ui.state import PageState, become, callback, change, state, value
from ui.text import plain, prose, retold, spoken, tell
from ui.workers import tasks
from ui.workers.asking import ask

MOST = {"hosts": 1024, "nics": 64}
"""The most of each that a field takes."""


@dataclass(frozen=True)
class ReportState(PageState):
    """The machine that is reported on, and how many hosts and NICs per host it is given; 0 as it is."""

    plan: Plan = field(default_factory=Plan)
    hosts: int = 0
    nics: int = 0


@page(order=15, listed=False, state=ReportState)
def report() -> None:
    """Draw the page once."""
    st.title(tell("page.report.title"), anchor=False)
    problem = _arrive()
    if problem:
        st.error(prose(problem), icon=":material/link_off:")
        return
    now = state(ReportState)
    bar = st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="report_bar")
    with bar:
        _count("hosts")
        _count("nics")
        label, icon = tell("report.simulate"), ":material/play_circle:"
        st.button(label, icon=icon, key="report_simulate", on_click=_simulated, args=(now.plan,))
    address.write(_words(now), now)
    try:
        made = partial(ask, tasks.report_page, now.plan, now.hosts, now.nics, spoken())
        text = made().decode()
    except (InputError, StalledError) as error:
        st.error(prose(retold(error)), icon=":material/error:")
        return
    name = f"{file_name(now.plan)}-report.html"
    with bar:
        saving.button(tell("report.save"), name, "text/html", made, key="report_save", icon=":material/download:")
    data = {"page": text, "title": tell("page.report.title"), "print": tell("report.print")}
    page_script("report")(key="report", data=data)


@callback
def _simulated(plan: Plan) -> None:
    restore(plan)
    leave("stage")


def _count(name: str) -> None:
    """A field for a number of hosts or NICs."""

    @callback
    def chosen() -> None:
        change(ReportState, **{name: int(value(f"report_{name}") or 0)})

    now = getattr(state(ReportState), name)
    label, hint = tell(f"report.set.{name}"), tell(f"report.set.{name}.help")
    st.number_input(label, 0, MOST[name], now, key=f"report_{name}", on_change=chosen, width=160, help=hint)


def _arrive() -> str:
    """Take the machine from the address, else that of the Simulate page; returns what was wrong with it."""
    if state(ReportState).is_read:
        return ""
    words = address.words()
    try:
        counts = {name: _number(words.pop(name, "0"), name) for name in MOST}
        simulated = state(SimulateState)
        plan = simulated.plan if simulated.has_plan and not words.keys() - {*address.FRAME} else None
        plan = plan or address.plan_of(words)
    except InputError as error:
        return retold(error)
    if plan is None:
        return tell("report.elsewhere")
    become(ReportState(is_read=True, plan=tasks.machine_words(plan), **counts))
    return ""


def _number(text: str, name: str) -> int:
    number = whole(text)
    if number is None or not 0 <= number <= MOST[name]:
        raise InputError("report.count", word=name, text=plain(text[:20]), most=MOST[name])
    return number


def _words(now: ReportState) -> dict[str, str]:
    counts = {name: str(count) for name in MOST if (count := getattr(now, name))}
    return {**address.words_of(now.plan), **counts}
