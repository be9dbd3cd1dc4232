"""A talk: given here, and put together from scenes of the stage; kept in the visit and in files, nowhere else."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from sim.errors import InputError, StalledError
from ui.navigation import first, leave
from ui.pages import page
from ui.plan.beginning import left_at
from ui.player import component
from ui.share import saving, talks
from ui.simulate.past import restore
from ui.state import become, callback, change, state, value
from ui.talk import LONGEST_NOTES, LONGEST_TITLE, Talk, TalkScene, document, pages
from ui.talk.example import example
from ui.talk.notation import in_lines, in_words, lines_of, stops_of
from ui.talk.pages import PackedScene
from ui.talk.state import TalkState
from ui.text import plain, prose, retold, spoken, tell
from ui.workers import tasks
from ui.workers.asking import ask

FIELDS: dict[str, tuple[Callable[[TalkScene], str], Callable[[str], Any]]] = {
    "title": (lambda entry: entry.title, lambda text: " ".join(text.split())),
    "lines": (lambda entry: in_lines(entry.lines), lines_of),
    "stops": (lambda entry: in_words(entry.stops), stops_of),
    "notes": (lambda entry: entry.notes, str),
}
"""What is written to a scene: how it is typed, and how that is read."""


@page(order=70, listed=False)
def talk() -> None:
    """Draw the page once."""
    st.title(tell("page.talk.title"), anchor=False)
    own = talks.current()
    if not own.scenes:
        st.markdown(tell("page.talk.intro"))
        with st.container(horizontal=True):
            st.button(
                tell("page.talk.stage"), on_click=callback(leave), args=(first(),), type="primary", key="talk_stage"
            )
            st.button(tell("page.talk.example"), on_click=_show_example, key="talk_example")
        return
    above = st.container(horizontal=True, vertical_alignment="bottom", key="talk_bar")
    scenes = _packed(own)
    entries = [entry for entry, scene in zip(own.scenes, scenes, strict=True) if scene]
    data = _data(replace(own, scenes=tuple(entries)), [scene for scene in scenes if scene])
    with above:
        _bar(own, data)
    if data:
        component.show_talk(data, key="talk_player")
    st.subheader(tell("page.talk.scenes"), anchor=False)
    _edit(own)


@callback
def _show_example() -> None:
    talks.opened(example(spoken()))


def _packed(own: Talk) -> list[PackedScene | None]:
    """Every scene as it is played; what cannot be run is told, and is None. Runs are kept as long as they are shown."""
    before: Mapping[Any, PackedScene] = state(TalkState).packed
    now: dict[Any, PackedScene] = {}
    for number, entry in enumerate(own.scenes, 1):
        key = entry.plan, entry.place.get("view", ""), own.language
        try:
            now[key] = before.get(key) or now.get(key) or ask(tasks.talk_scene, *key)
            pages.check(replace(entry, origin=""), now[key].time)
        except (InputError, StalledError) as error:
            st.error(plain(f"{number}. {entry.title}: {error}"), icon=":material/error:")
    change(TalkState, packed=now)
    return [now.get((entry.plan, entry.place.get("view", ""), own.language)) for entry in own.scenes]


def _data(own: Talk, scenes: Sequence[PackedScene]) -> dict[str, Any]:
    """What the browser plays; nothing where nothing can be."""
    try:
        return pages.together(own, scenes) if scenes else {}
    except InputError as error:
        st.error(prose(retold(error)), icon=":material/error:")
        return {}


def _bar(own: Talk, data: dict[str, Any]) -> None:
    """What the talk is called, and ways to keep it."""
    key = _fresh("title")

    @callback
    def named() -> None:
        change(TalkState, own=replace(talks.current(), title=" ".join(value(key).split())))

    st.text_input(tell("page.talk.name"), own.title, LONGEST_TITLE, key=key, on_change=named, width=380)
    name = document.file_name(own)
    text = partial(document.to_text, own)
    save, whole = tell("page.talk.save"), tell("page.talk.save.page")
    saving.button(save, f"{name}.talk.yaml", "application/yaml", text, key="talk_save")
    if data:
        saving.button(whole, f"{name}.html", "text/html", partial(_page, data), key="talk_page")


def _page(data: dict[str, Any]) -> bytes:
    return pages.page(data, ask(tasks.lesson_pages, data["language"]))


def _fresh(name: str) -> str:
    """A widget's key: another one once scenes have changed places, so that widgets forget theirs."""
    return f"talk_{name}_{state(TalkState).turn}_{spoken()}"


def _edit(own: Talk) -> None:
    """The scenes in their order, and what is written to the chosen one."""
    chosen = min(state(TalkState).chosen, len(own.scenes) - 1)
    order, fields = st.columns([1, 2], gap="medium")
    key = _fresh("scene")

    @callback
    def picked() -> None:
        if value(key) in range(len(own.scenes)):  # else a browser has sent a title that was changed at that moment
            change(TalkState, chosen=value(key))

    with order:
        st.radio(
            tell("page.talk.scenes"),
            range(len(own.scenes)),
            chosen,
            lambda k: plain(f"{k + 1}. {_called(own.scenes[k])}"),
            key=key,
            on_change=picked,
            label_visibility="collapsed",
        )
        _order(own, chosen)
    with fields:
        for name in FIELDS:
            _field(own, chosen, name)


def _called(entry: TalkScene) -> str:
    plan = entry.plan
    return entry.title or f"{plan.algorithm or tell('page.talk.schedule')} · {plan.machine}"


def _order(own: Talk, chosen: int) -> None:
    """Move the chosen scene, take it out, or stand there on the stage."""
    last = len(own.scenes) - 1

    @callback
    def moved(to: int) -> None:
        become(state(TalkState).moved(chosen, to))

    @callback
    def removed() -> None:
        become(state(TalkState).removed(chosen))

    @callback
    def shown() -> None:
        entry = own.scenes[chosen]
        restore(entry.plan, left_at(entry.place))
        leave(first())

    with st.container(horizontal=True, gap="small", key="talk_order"):
        up, down = (f":material/arrow_{way}ward:" for way in ("up", "down"))
        upward, downward = tell("page.talk.up"), tell("page.talk.down")
        st.button(upward, on_click=moved, args=(chosen - 1,), disabled=chosen == 0, icon=up, key="talk_up")
        st.button(downward, on_click=moved, args=(chosen + 1,), disabled=chosen == last, icon=down, key="talk_down")
        st.button(tell("page.talk.remove"), on_click=removed, icon=":material/delete:", key="talk_remove")
        st.button(tell("page.talk.show"), on_click=shown, icon=":material/open_in_new:", key="talk_show")


def _field(own: Talk, chosen: int, name: str) -> None:
    """A field of the chosen scene; what cannot be read stays in it and is told below."""
    shown, read = FIELDS[name]
    key = f"{_fresh(name)}_{chosen}"

    @callback
    def changed() -> None:
        try:
            entered = read(value(key))
        except InputError as error:
            change(TalkState, refused=(key, retold(error)))
            return
        become(state(TalkState).written(chosen, **{name: entered}))

    label, text = tell(f"page.talk.scene.{name}"), shown(own.scenes[chosen])
    words = tell(f"page.talk.scene.{name}.help") if name != "title" else None
    if name in ("lines", "notes"):
        most, high = (LONGEST_NOTES, 220) if name == "notes" else (None, 90)
        st.text_area(label, text, high, most, key=key, help=words, on_change=changed)
    else:
        most = LONGEST_TITLE if name == "title" else None
        st.text_input(label, text, most, key=key, help=words, on_change=changed)
    refused, why = state(TalkState).refused
    if refused == key:
        st.error(plain(why), icon=":material/error:")
