"""The page's title: a sentence about the plan whose words are controls, each chosen where it stands."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.libraries import LIBRARIES
from ops.plan import Plan
from ops.plan.library_choice import collective_of, library_of
from ops.plan.notation import kept
from sim.errors import InputError, StalledError
from sim.machines import MACHINES
from sim.topology import Topology
from ui.controls.parameter import fresh
from ui.player.titles import begun, machine_title
from ui.simulate.load import sizes
from ui.simulate.machines import able_on, likely, offered
from ui.simulate.past import restore, undo
from ui.state import callback, value
from ui.text import plain, tell, titled
from ui.workers import tasks
from ui.workers.asking import ask

EDITED = " ✎"
"""What stands behind the name of a machine that was edited."""
LETTER, AROUND, WIDEST = 8.5, 30, 380
"""Pixels that a letter of the title takes, that a word has around it, and that it takes at most."""
ANOTHER: dict[str, Any] = {
    **dict.fromkeys(("capture", "rates", "network", "placement", "edits", "calibration", "fault"), ""),
    **dict.fromkeys(("ranks", "root"), 0),
}
"""What is left of a plan on another machine."""
Change = Callable[[str], Plan]


def draw(plan: Plan, machine: str) -> None:
    """Draw the title of a plan on a machine of this name."""
    words: dict[str, Callable[[], None]] = {
        "collective": lambda: _collective(plan),
        "algorithm": lambda: _algorithm(plan),
        "machine": lambda: _machine(plan, machine),
        "size": lambda: _size(plan),
    }
    sized, unsized = ("title.file", "title.file.whole") if plan.schedule else ("title.plan", "title.barrier")
    form = sized if _is_sized(plan) else unsized
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="title"):
        for literal, word in re.findall(r"([^{}]*)(?:\{(\w+)\})?", _sentence(form, words)):
            if literal.strip():
                st.markdown(literal.strip(), width="content")
            if word:
                words[word]()


@contextmanager
def line(plan: Plan, machine: str) -> Iterator[None]:
    """Draw the title of a plan on a machine of this name; what is drawn in it stands beside the title."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="over"):
        draw(plan, machine)
        with st.container(horizontal=True, horizontal_alignment="right", gap="small", key="beside"):
            yield


def without_a_run(plan: Plan, topology: Topology) -> None:
    """Draw the title of a plan on a machine of one rank, which runs nothing."""
    with line(plan, topology.name):
        undo()
    st.warning(tell("page.nothing", machine=plain(topology.name)), icon=":material/error:")


def actions() -> DeltaGenerator:
    """What stands in the header beside the way to settings: where to find a plan, and how to pass one on."""
    return st.container(horizontal=True, vertical_alignment="center", gap="small", key="actions")


def _sentence(form: str, words: Mapping[str, object]) -> str:
    """The text of an id with its words still in braces."""
    return tell(form, **{name: f"{{{name}}}" for name in words})


def _is_sized(plan: Plan) -> bool:
    if not plan.schedule:
        return COLLECTIVES[collective_of(plan.algorithm)].sized
    try:
        return ask(tasks.load, plan).sized
    except (InputError, StalledError):
        return False


def _word(label: str, options: Sequence[str], now: str, change: Change, shown: Callable[[str], str] = str) -> None:
    """One word: what it is now, and what it may be instead."""
    key = fresh(f"{label}_{shown(now)}")  # a browser keeps the words of a choice whose key stays

    @callback
    def changed() -> None:
        word = value(key)
        if word != now and word in options:  # else of a title that is no longer there, which a browser still sends
            restore(change(word))

    st.selectbox(
        tell(label),
        options,
        index=options.index(now),
        format_func=shown,
        label_visibility="collapsed",
        width=min(WIDEST, AROUND + int(LETTER * _wide(shown(now)))),
        on_change=changed,
        key=key,
    )


def _wide(words: str) -> int:
    """How many letters wide a text is; a Chinese character is two.

    >>> _wide("ring"), _wide("环")
    (4, 2)
    """
    return sum(1 + (ord(letter) > 0x2E80) for letter in words)


def _without(plan: Plan) -> dict[str, Any]:
    """What is left out with another algorithm: parameters, and runs beside it that say only what they do otherwise."""
    return {"settings": "", "against": kept(plan.against)}


def _collective(plan: Plan) -> None:
    names, now = offered(), collective_of(plan.algorithm)

    def change(name: str) -> Plan:
        library = library_of(plan.algorithm)
        own = plan.algorithm.partition(".")[2]
        return replace(
            plan,
            algorithm=f"{library}.{name}" if library else likely(name, own),
            settings="",
            against=kept(plan.against),
        )

    _word("title.collective", names, now, change, lambda name: begun(titled("collective", name)))


def _algorithm(plan: Plan) -> None:
    collective, library = collective_of(plan.algorithm), library_of(plan.algorithm)
    names = able_on([plan], (name for name in ALGORITHMS if name.startswith(f"{collective}.")))
    names += [f"{library}.{collective}" for library in LIBRARIES]

    def shown(name: str) -> str:
        return titled("algorithm", name) if name in ALGORITHMS else LIBRARIES.title(library_of(name))

    now = f"{library}.{collective}" if library else plan.algorithm.partition(":")[0]
    _word(
        "title.algorithm",
        names,
        now,
        lambda name: replace(plan, algorithm=name, **_without(plan)),
        shown,
    )


def _machine(plan: Plan, machine: str) -> None:
    now = "" if plan.capture else plan.machine
    names = [*([] if now in MACHINES else [now]), *MACHINES]

    def change(name: str) -> Plan:
        if name == now:
            return plan
        return replace(plan, machine=name, against=kept(plan.against), **ANOTHER)

    _word(
        "title.machine",
        names,
        now,
        change,
        lambda name: f"{machine_title(name) if name else machine}{EDITED if plan.edits and name == now else ''}",
    )


def _size(plan: Plan) -> None:
    _word("title.size", sizes(plan.size), plan.size, lambda size: replace(plan, size=size), size_title)


def size_title(size: str) -> str:
    """A size with a space before its unit.

    >>> size_title("64MiB")
    '64 MiB'
    """
    return re.sub(r"(?<=\d)(?=[A-Za-z])", " ", size)
