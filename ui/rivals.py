"""Runs that stand beside a scene's own on one clock: what each of them does otherwise, as words of the scene.

In `Scene.against` runs stand with `|` between them; each is what differs, as `algorithm=…`, `machine=…`,
`trouble=…`, with `&` between.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import chain

import streamlit as st

from ops import ALGORITHMS
from sim.errors import InputError
from sim.machines import MACHINES
from ui import whatif
from ui.fields import fresh
from ui.scenes import STALLED, Picture, Scene, crossings
from ui.text import tell
from ui.units import fmt_time

MOST = 3
"""So many runs stand beside the scene's own."""
CHANGEABLE = ("algorithm", "machine", "size", "settings", "trouble", "ranks")
COMPARED = ("run", "time", "busbw", "messages", "waiting", "flowing")
"""Columns of the table below the runs."""
Changes = dict[str, str]
Run = tuple[Scene, Picture, str]
"""A scene, what it looks like run, and what it is called beside others."""


def changes(scene: Scene) -> list[Changes]:
    """What each of the other runs does otherwise. Raises InputError."""
    parts = [part for part in scene.against.split("|") if part][:MOST]
    return [dict(_change(word) for word in part.split("&")) for part in parts]


def _change(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if name not in CHANGEABLE or not equals or (name == "ranks" and not (value.isdecimal() and len(value) < 7)):
        raise InputError(f"the link's against has {word[:40]!r}: write one of {', '.join(CHANGEABLE)}, then =value")
    return name, value


def against(runs: Sequence[Changes]) -> str:
    """The words of a scene for other runs, each once."""
    parts = ["&".join(f"{name}={value}" for name, value in run.items()) for run in runs]
    return "|".join(dict.fromkeys(parts))


def others(scene: Scene) -> list[Scene]:
    """The scenes beside this one. Raises InputError."""
    found = []
    for run in changes(scene):
        other = replace(scene, against="", **({"settings": ""} if "algorithm" in run else {}))
        kinds = {field.name: type(getattr(other, field.name)) for field in fields(other)}
        found.append(replace(other, **{name: kinds[name](value) for name, value in run.items()}))
    return found


def forked(scene: Scene, trouble: str) -> Scene:
    """The scene in one more trouble, beside what it would have been without."""
    now = ";".join(filter(None, (scene.trouble, trouble)))
    runs = [*changes(scene), {"trouble": scene.trouble}]
    return replace(scene, trouble=now, against=against(runs[-MOST:]))


def titles(scene: Scene) -> list[str]:
    """What every run is called, its own first: the words in which they differ."""
    runs = changes(scene)
    differing = dict.fromkeys(chain.from_iterable(runs))
    own = {name: str(getattr(scene, name)) for name in differing}
    return [" · ".join(_words(name, value) for name, value in {**own, **run}.items()) for run in ({}, *runs)]


def _words(name: str, value: str) -> str:
    if name == "trouble":
        told = [whatif.describe(spec) for spec in value.split(";") if spec]
        return "; ".join(told) or tell("page.compare.untroubled")
    return value or tell("page.compare.usual")


def choose(scene: Scene) -> Scene:
    """Draw the choice of other runs; returns the scene beside them."""
    try:
        runs = changes(scene)
    except InputError:
        st.session_state.scene = replace(st.session_state.scene, against="")
        raise
    with st.expander(tell("page.compare"), expanded=bool(runs), icon=":material/compare_arrows:"):
        kept = [run for run in runs if set(run) - {"algorithm", "machine"} and run != {"trouble": ""}]
        room = MOST - len(kept)
        wanted: list[Changes] = []
        for name, there in (("algorithm", _algorithms(scene)), ("machine", _machines(scene))):
            now = [run[name] for run in runs if set(run) == {name} and run[name] in there]
            if there:
                label = tell(f"page.compare.{name}")
                chosen = st.multiselect(
                    label, there, default=now, max_selections=room, key=fresh(f"against_{name}_{there[0]}")
                )
                wanted += [{name: word} for word in chosen]
        if scene.trouble and st.checkbox(tell("page.compare.without"), {"trouble": ""} in runs, key=fresh("without")):
            wanted.append({"trouble": ""})
        for number, run in enumerate(kept):
            words = " · ".join(_words(name, value) for name, value in run.items())
            if not st.checkbox(words, value=True, key=fresh(f"against_{number}_{words}")):
                kept = [other for other in kept if other is not run]
    return replace(scene, against=against([*kept, *wanted][:MOST]))


def _algorithms(scene: Scene) -> list[str]:
    """Other algorithms of the same collective, where it is one of the catalogue."""
    collective = scene.algorithm.partition(".")[0] + "."
    return [] if scene.schedule else [a for a in ALGORITHMS if a.startswith(collective) and a != scene.algorithm]


def _machines(scene: Scene) -> list[str]:
    """Other machines as they usually are, where the scene's own is a model."""
    return [] if scene.capture else [name for name in MACHINES if name != scene.machine]


def _row(picture: Picture, title: str) -> tuple[str, ...]:
    """What the table says of a run, in the order of COMPARED."""
    if picture.verdict == STALLED:
        return (title, tell("page.compare.never"), *("–" for _ in COMPARED[2:]))
    waits = (fmt_time(picture.waiting), fmt_time(picture.flowing))
    return (title, picture.time, picture.busbw, str(picture.messages), *waits)


def show(runs: Sequence[Run]) -> None:
    """Who wins, and why: what every run's critical path is made of, and the sizes at which the winner changes."""
    if len(runs) < 2:
        return
    best = min(runs, key=lambda run: run[1].seconds)
    if best[1].verdict != STALLED:
        st.markdown(f"**{tell('page.compare.won', name=best[2], time=best[1].time)}**")
    words = [tell(f"page.compare.{word}") for word in COMPARED]
    st.dataframe([dict(zip(words, _row(p, title), strict=True)) for _, p, title in runs], hide_index=True)
    compared = [scene for scene, _, _ in runs]
    if len({scene.algorithm for scene in compared}) < len(runs) or any(s.trouble or s.schedule for s in compared):
        return
    crossed = crossings(compared[0], tuple(compared))
    for below, above, size in crossed:
        st.markdown(f"- {tell('page.compare.crossing', below=below, above=above, size=size)}")
    if not crossed:
        st.caption(tell("page.compare.same"))
