"""Files dropped and text pasted anywhere on a page: workers tell what each is, and the page that shows it opens."""

import base64
import binascii
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException, StopException

from ops.plan import Plan
from ops.plan.notation import kept
from sim.base.files.textfile import decoded
from sim.errors import InputError, StalledError
from sim.units import fmt_size
from ui.navigation import leave, visit
from ui.plan.beginning import FROM_THE_START, Beginning, left_at
from ui.player.page_script import page_script
from ui.share import talks
from ui.simulate.machines import machine_of
from ui.simulate.past import restore
from ui.simulate.state import SimulateState
from ui.state import become, callback, change, put, state, value
from ui.text import prose, retold, tell
from ui.train.state import TrainState
from ui.visit import Refusal, VisitState
from ui.whatif.state import WhatIfState
from ui.workers import reading, tasks
from ui.workers.asking import ask, read
from ui.workers.reading import Arrived, Text, WrittenPlan

STAYS = 20.0
"""Seconds for which a refusal is told on its page, however often that is drawn anew meanwhile for other reasons."""


def receive() -> None:
    """Listen on the whole page; what has arrived is opened, or refused in one sentence beside a page that stays."""

    @callback
    def arrived() -> None:
        received = value("script_drop").received
        if received is not None:
            change(VisitState, received=received)

    page_script("drop", "frame")(key="script_drop", data={"text": tell("page.drop")}, on_received_change=arrived)
    place = st.empty()  # there whether or not anything is said, so that what follows keeps its place
    received = state(VisitState).received
    if received is not None:
        with place.container():
            _take(received)
    refusal = state(VisitState).refusal
    if refusal and refusal.page == st.query_params.get("page") and time.monotonic() < refusal.until:
        place.error(prose(retold(refusal.error)), icon=":material/error:")


def _take(received: Any) -> None:
    """Open what has arrived and draw the page that shows it, or keep what it is refused with.

    It stays in the state until then: the page may be drawn again, for another reason, before it is opened.
    """
    change(VisitState, refusal=None)
    try:
        _open(_texts(received))
    except (InputError, StalledError) as error:
        refusal = Refusal(error, st.query_params.get("page"), time.monotonic() + STAYS)
        change(VisitState, received=None, refusal=refusal, stopped=None)  # who drops it once more means it
        return
    except (RerunException, StopException):
        raise
    except Exception:
        change(VisitState, received=None)
        raise
    change(VisitState, received=None)
    st.rerun()


def _texts(received: Any) -> list[Text]:
    """What a browser sent, which may be anything. Raises InputError for what is no text, or too much."""
    entries = received.get("files") if isinstance(received, Mapping) else None
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise InputError(tell("page.drop.damaged"))
    if not entries:
        size = received.get("size")
        words = fmt_size(size) if isinstance(size, int) and size >= 0 else "?"
        raise InputError(tell("page.drop.large", size=words, count=str(received.get("count"))[:8]))
    texts = [_text(entry) for entry in entries]
    for text, name in texts:
        if not text.strip():
            raise InputError(tell("page.text.empty", name=name))
    return texts


def _text(entry: Mapping[str, Any]) -> Text:
    name = str(entry.get("name") or tell("page.drop.name"))[:80]
    if "bytes" not in entry:
        return str(entry.get("text", "")), name
    try:
        return decoded(base64.b64decode(str(entry["bytes"]), validate=True), name), name
    except binascii.Error:
        raise InputError(tell("page.drop.damaged")) from None


def _open(texts: Sequence[Text]) -> None:
    """Open what texts are. Raises InputError for ones that no reader takes, in the words of machines' readers."""
    arrived = read(reading.arrived, tuple(texts))
    if arrived.kind not in OPENERS:
        raise InputError(tell("page.drop.damaged"))
    OPENERS[arrived.kind](arrived)


def _machine(arrived: Arrived) -> None:
    before = state(SimulateState).plan
    plan = Plan(capture=arrived.text, capture_name=arrived.name, against=kept(before.against))
    machine_of(plan)
    _stage(replace(plan, capture_name=Plan().capture_name), Beginning(view="machine"))


def _trace(arrived: Arrived) -> None:
    plan = Plan(schedule=arrived.text, schedule_name=arrived.name)
    ask(tasks.can_be_run, plan)
    _stage(replace(plan, schedule_name=Plan().schedule_name))


def _schedule(arrived: Arrived) -> None:
    plan = Plan(schedule=arrived.text, schedule_name=arrived.name)
    ranks = read(tasks.load, replace(plan, machine="")).n
    before = state(SimulateState).plan
    machine = replace(before, schedule="", against="", fault="", settings="", algorithm=Plan().algorithm)
    if before.is_kept or machine_of(machine).n < ranks:
        machine = Plan(machine=f"switch:ranks={ranks}")
    plan = replace(machine, schedule=arrived.text, schedule_name=arrived.name, ranks=0, root=0)
    ask(tasks.can_be_run, plan)
    _stage(replace(plan, schedule_name=Plan().schedule_name))


def _plan(arrived: Arrived) -> None:
    written: WrittenPlan = arrived.thing
    ask(tasks.can_be_run, written.plan)
    _stage(written.plan, left_at(written.place))


def _training(arrived: Arrived) -> None:
    ask(tasks.step, arrived.thing)
    leave("train")
    become(replace(state(TrainState), plan=arrived.thing, program=None, is_read=True))
    become(state(VisitState).renewed())


def _what_if(arrived: Arrived) -> None:
    leave("what_if")
    become(replace(state(WhatIfState).began(arrived.thing), is_read=True))
    become(state(VisitState).renewed())


def _program(arrived: Arrived) -> None:
    leave("train")
    change(TrainState, program=(arrived.text, arrived.name))


def _measured(arrived: Arrived) -> None:
    leave("measured")
    put("measured_text", arrived.text)


def _stage(plan: Plan, start: Beginning = FROM_THE_START) -> None:
    restore(plan, start)
    leave("stage")


def _talk(arrived: Arrived) -> None:
    talks.opened(arrived.thing)
    visit({"page": "talk"})


OPENERS: dict[str, Callable[[Arrived], None]] = {
    "talk": _talk,
    "plan": _plan,
    "program": _program,
    "what_if": _what_if,
    "training": _training,
    "trace": _trace,
    "machine": _machine,
    "schedule": _schedule,
    "measured": _measured,
}
"""What opens each kind of text that may arrive."""
