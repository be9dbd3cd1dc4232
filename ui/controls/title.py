"""The page's title: a sentence about the scene whose words are controls, each chosen where it stands."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ops import ALGORITHMS
from ops.collectives import COLLECTIVES
from ops.libraries import LIBRARIES
from ops.request import Request
from ops.request.library_choice import collective_of, library_of
from ops.request.notation import kept
from sim.errors import InputError, StalledError
from sim.machines import MACHINES
from sim.topology import Topology
from ui.controls.parameter import fresh
from ui.controls.sidebar import likely, offered, scenarios
from ui.simulate.load import sizes
from ui.simulate.machines import able_on
from ui.simulate.past import restore, undo
from ui.state import callback, value
from ui.text import plain, tell
from ui.workers import tasks
from ui.workers.asking import ask

EDITED = " ✎"
"""What stands behind the name of a machine that was edited."""
LETTER, AROUND, WIDEST = 11, 30, 420
"""Pixels that a letter of the title takes, that a word has around it, and that it takes at most."""
ANOTHER: dict[str, Any] = {
    **dict.fromkeys(("capture", "rates", "network", "placement", "edits", "trouble"), ""),
    **dict.fromkeys(("ranks", "root"), 0),
}
"""What is left of a scene on another machine."""
Change = Callable[[str], Request]


def draw(scene: Request, machine: str) -> None:
    """Draw the title of a scene on a machine of this name."""
    words: dict[str, Callable[[], None]] = {
        "collective": lambda: _collective(scene),
        "algorithm": lambda: _algorithm(scene),
        "machine": lambda: _machine(scene, machine),
        "size": lambda: _size(scene),
    }
    sized, unsized = ("title.file", "title.file.whole") if scene.schedule else ("title.scene", "title.barrier")
    form = sized if _is_sized(scene) else unsized
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="title"):
        for literal, word in re.findall(r"([^{}]*)(?:\{(\w+)\})?", _sentence(form, words)):
            if literal.strip():
                st.markdown(literal.strip(), width="content")
            if word:
                words[word]()


def without_a_run(scene: Request, topology: Topology) -> None:
    """Draw the title of a scene on a machine of one rank, which runs nothing, and what leads to another one."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="over"):
        draw(scene, topology.name)
        with actions():
            scenarios()
            undo()
    st.warning(tell("page.nothing", machine=plain(topology.name)), icon=":material/error:")


def actions() -> DeltaGenerator:
    """What holds the controls beside the title; where it leaves them no room for their words they are pictures."""
    return st.container(
        horizontal=True, horizontal_alignment="right", vertical_alignment="center", gap="small", key="actions"
    )


def _sentence(form: str, words: Mapping[str, object]) -> str:
    """The text of an id with its words still in braces."""
    return tell(form, **{name: f"{{{name}}}" for name in words})


def _is_sized(scene: Request) -> bool:
    if not scene.schedule:
        return COLLECTIVES[collective_of(scene.algorithm)].sized
    try:
        return ask(tasks.load, scene).sized
    except (InputError, StalledError):
        return False


def _word(label: str, options: Sequence[str], now: str, change: Change, shown: Callable[[str], str] = str) -> None:
    """One word: what it is now, and what it may be instead."""
    key = fresh(f"{label}_{now}")

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
        width=min(WIDEST, AROUND + LETTER * len(shown(now))),
        on_change=changed,
        key=key,
    )


def _without(scene: Request) -> dict[str, Any]:
    """What is left out with another algorithm: parameters, and runs beside it that say only what they do otherwise."""
    return {"settings": "", "against": kept(scene.against)}


def _collective(scene: Request) -> None:
    names, now = offered(), collective_of(scene.algorithm)

    def change(name: str) -> Request:
        library = library_of(scene.algorithm)
        own = scene.algorithm.partition(".")[2]
        return replace(
            scene,
            algorithm=f"{library}.{name}" if library else likely(name, own),
            settings="",
            against=kept(scene.against),
        )

    _word("title.collective", names, now, change)


def _algorithm(scene: Request) -> None:
    collective, library = collective_of(scene.algorithm), library_of(scene.algorithm)
    names = able_on([scene], (name for name in ALGORITHMS if name.startswith(f"{collective}.")))
    names += [f"{library}.{collective}" for library in LIBRARIES]

    def shown(name: str) -> str:
        return name.removeprefix(f"{collective}.").removesuffix(f".{collective}")

    now = f"{library}.{collective}" if library else scene.algorithm.partition(":")[0]
    _word(
        "title.algorithm",
        names,
        now,
        lambda name: replace(scene, algorithm=name, **_without(scene)),
        shown,
    )


def _machine(scene: Request, machine: str) -> None:
    now = "" if scene.capture else scene.machine
    names = [*([] if now in MACHINES else [now]), *MACHINES]

    def change(name: str) -> Request:
        if name == now:
            return scene
        return replace(scene, machine=name, against=kept(scene.against), **ANOTHER)

    _word(
        "title.machine",
        names,
        now,
        change,
        lambda name: f"{name or machine}{EDITED if scene.edits and name == now else ''}",
    )


def _size(scene: Request) -> None:
    _word("title.size", sizes(scene.size), scene.size, lambda size: replace(scene, size=size))
