"""Files dropped and text pasted anywhere on a page: the readers know what each is, and the page that shows it opens."""

import base64
import binascii
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException, StopException

from ops.formats import SCHEDULE_FORMATS
from ops.measured.formats import MEASUREMENTS
from ops.request import Request
from ops.request import training as training_request
from ops.request.model import is_trace
from ops.request.notation import kept
from ops.request.scenario import from_yaml, is_scenario, place_in
from sim.base.formats import Formats
from sim.base.textfile import decoded
from sim.errors import InputError, StalledError
from sim.formats import FORMATS
from sim.topology.pair_rates import beside, matrices
from sim.units import fmt_size
from ui.page_script import page_script
from ui.pages import leave, visit
from ui.refusals import retold
from ui.scene.beginning import instant_in
from ui.scene.machines import machine_of
from ui.share import talks
from ui.talk import document
from ui.text import plain, tell
from ui.widgets.past import restore
from ui.workers import tasks
from ui.workers.asking import ask

Text = tuple[str, str]
"""What it says, and what it is called."""
STAYS = 20.0
"""Seconds for which a refusal is told on its page, however often that is drawn anew meanwhile for other reasons."""


class Refusal(NamedTuple):
    """What was refused on which page, and the time of the monotonic clock until which it is told."""

    error: Exception
    page: str | None
    until: float


class Arrival(NamedTuple):
    """A kind of text that may arrive: how it is told, and what opens it."""

    matches: Callable[[str], bool]
    opens: Callable[[str, str], None]


def receive() -> None:
    """Listen on the whole page; what has arrived is opened, or refused in one sentence beside a page that stays."""
    state = st.session_state

    def arrived() -> None:
        state.received = state.script_drop.received

    page_script("drop")(key="script_drop", data={"text": tell("page.drop")}, on_received_change=arrived)
    place = st.empty()  # there whether or not anything is said, so that what follows keeps its place
    if state.get("received") is not None:
        with place.container():
            _take(state.pop("received"))
    refusal: Refusal | None = state.get("refusal")
    if refusal and refusal.page == st.query_params.get("page") and time.monotonic() < refusal.until:
        place.error(plain(retold(refusal.error)), icon=":material/error:")


def _take(received: Any) -> None:
    """Open what has arrived and draw the page that shows it, or keep what it is refused with."""
    state = st.session_state
    state.pop("refusal", None)
    try:
        _open(*together(_texts(received)))
    except (InputError, StalledError) as error:
        state.refusal = Refusal(error, st.query_params.get("page"), time.monotonic() + STAYS)
        state.pop("stopped", None)  # who drops it once more means it
        return
    except (RerunException, StopException):  # the page is drawn anew before this was opened
        state.received = received
        raise
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


def together(texts: Sequence[Text]) -> Text:
    """Several texts as one: a capture, and what was measured between its GPUs. Raises InputError for other ones."""
    (whole, first), *measured = sorted(texts, key=lambda text: bool(matrices(text[0])))
    for text, name in measured:
        whole = beside(whole, text, name)
    return whole, first


def _open(text: str, name: str) -> None:
    """Open what a text is. Raises InputError for one that no reader takes, in the words of machines' readers."""
    arrival = next((each for each in ARRIVALS if each.matches(text)), None)
    if arrival is None:
        FORMATS.recognise(text, name)  # tells what it is instead
        raise InputError(tell("page.drop.damaged"))
    arrival.opens(text, name)


def _is_one(formats: Formats[Any]) -> Callable[[str], bool]:
    """Whether a text is for one of the readers of a list."""

    def is_one(text: str) -> bool:
        try:
            formats.recognise(text, "")
        except InputError:
            return False
        return True

    return is_one


def _machine(text: str, name: str) -> None:
    before = st.session_state.get("scene", Request())
    scene = Request(capture=text, capture_name=name, against=kept(before.against))
    machine_of(scene)
    _stage(replace(scene, capture_name=Request().capture_name), view="machine")


def _schedule(text: str, name: str) -> None:
    scene = Request(schedule=text, schedule_name=name)
    if not is_trace(text):
        ranks = ask(tasks.load, replace(scene, machine="")).n
        before = st.session_state.get("scene", Request())
        machine = replace(before, schedule="", against="", trouble="", settings="", algorithm=Request().algorithm)
        if before.is_kept or machine_of(machine).n < ranks:
            machine = Request(machine=f"switch:ranks={ranks}")
        scene = replace(machine, schedule=text, ranks=0, root=0)
    ask(tasks.can_be_run, scene)
    _stage(replace(scene, schedule_name=Request().schedule_name))


def _scenario(text: str, name: str) -> None:
    scene = from_yaml(text, name)
    ask(tasks.can_be_run, scene)
    _stage(scene, place=place_in(text, name))


def _training(text: str, name: str) -> None:
    request = training_request.from_yaml(text, name)
    ask(tasks.step, request)
    state = st.session_state
    leave("train")
    state.train = request
    state.turn = state.get("turn", 0) + 1


def _measured(text: str, name: str) -> None:
    MEASUREMENTS.read(text, name)
    leave("measured")
    st.session_state.measured_text = text


def _stage(scene: Request, view: str = "", place: Mapping[str, str] = MappingProxyType({})) -> None:
    restore(scene, view or place.get("view", ""), instant_in(place) or 0.0, place)
    leave("stage")


def _talk(text: str, name: str) -> None:
    talks.opened(document.from_text(text, name))
    visit({"page": "talk"})


ARRIVALS = (
    Arrival(document.is_talk, _talk),
    Arrival(is_scenario, _scenario),
    Arrival(training_request.is_training, _training),
    Arrival(is_trace, _schedule),
    Arrival(_is_one(FORMATS), _machine),
    Arrival(_is_one(SCHEDULE_FORMATS), _schedule),
    Arrival(_is_one(MEASUREMENTS), _measured),
)
"""What may arrive; the readers of the lists say what they take."""
