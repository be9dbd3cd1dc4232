"""Runs that stand beside a scene's own on one clock: what each of them does otherwise, as words of the scene."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import streamlit as st

from ops import ALGORITHMS
from ops.libraries import LIBRARIES
from ops.request import Request
from ops.request.library_choice import collective_of
from ops.request.notation import MOST, Changes, beside, differences, entries, listed
from sim.breakdown import PARTS
from sim.edits import EDITS
from sim.errors import InputError
from sim.machines import MACHINES
from sim.topology.networks import NETWORKS, has_network
from sim.units import TimeScale
from ui.scene.machines import machine_of
from ui.scene.picture import STALLED, Picture
from ui.text import plain, tell
from ui.widgets import whatif
from ui.widgets.parameter import fresh
from ui.workers import tasks
from ui.workers.asking import ask

COMPARED = ("run", "time", "busbw", "messages")
"""Columns of the table below the runs, before those of what their times are made of."""
Run = tuple[Request, Picture, str]
"""A scene, what it looks like run, and what it is called beside others."""


def forked(scene: Request, spec: str) -> Request:
    """The scene with one more trouble or edit, beside what it would have been without."""
    if spec.partition(":")[0] in EDITS:
        changed, before = replace(scene, edits=listed([*entries(scene.edits), spec])), {"edits": scene.edits}
    else:
        changed, before = replace(scene, trouble=listed([*scene.troubles, spec])), {"trouble": scene.trouble}
    return replace(changed, against=beside([*differences(scene.against), before][-MOST:]))


def titles(scene: Request) -> list[str]:
    """What every run is called, its own first: the words in which they differ."""
    runs = differences(scene.against)
    differing = dict.fromkeys(chain.from_iterable(runs))
    own = {name: str(getattr(scene, name)) for name in differing}
    return [" · ".join(_words(name, value) for name, value in {**own, **run}.items()) for run in ({}, *runs)]


def _words(name: str, value: str) -> str:
    if name in ("trouble", "edits"):
        words = [whatif.describe(spec) for spec in entries(value)]
        return "; ".join(words) or tell("page.compare.untroubled" if name == "trouble" else "page.compare.unedited")
    if name == "network":
        return value or tell("page.network.own")
    return value or tell("page.compare.usual")


def choose(scene: Request) -> Request:
    """Draw the choice of other runs; returns the scene beside them."""
    try:
        runs = differences(scene.against)
    except InputError:
        st.session_state.scene = replace(st.session_state.scene, against="")
        raise
    with st.expander(tell("page.compare"), expanded=bool(runs), icon=":material/compare_arrows:"):
        others = [run for run in runs if set(run) - {"algorithm", "machine", "network"} and run != {"trouble": ""}]
        room = MOST - len(others)
        chosen_runs: list[Changes] = []
        words = {"algorithm": _algorithms(scene), "machine": _machines(scene), "network": _networks(scene)}
        for name, names in words.items():
            now = [run[name] for run in runs if set(run) == {name} and run[name] in names]
            if names:
                label = tell(f"page.compare.{name}")
                chosen = st.multiselect(
                    label,
                    names,
                    default=now,
                    max_selections=room,
                    format_func=lambda word: word or tell("page.network.own"),
                    key=fresh(f"against_{name}_{names[0]}"),
                )
                chosen_runs += [{name: word} for word in chosen]
        if scene.trouble and st.checkbox(tell("page.compare.without"), {"trouble": ""} in runs, key=fresh("without")):
            chosen_runs.append({"trouble": ""})
        for number, run in enumerate(others):
            title = " · ".join(_words(name, value) for name, value in run.items())
            if not st.checkbox(plain(title), value=True, key=fresh(f"against_{number}_{title}")):
                others = [other for other in others if other is not run]
    return replace(scene, against=beside([*others, *chosen_runs][:MOST]))


def _algorithms(scene: Request) -> list[str]:
    """Other algorithms of the same collective, where it is one of the catalogue."""
    collective = collective_of(scene.algorithm)
    names = [name for name in ALGORITHMS if name.startswith(f"{collective}.")]
    names += [f"{library}.{collective}" for library in LIBRARIES]
    return [] if scene.schedule else [name for name in names if name != scene.algorithm]


def _machines(scene: Request) -> list[str]:
    """Other machines as they usually are, where the scene's own is a model."""
    return [] if scene.capture else [name for name in MACHINES if name != scene.machine]


def _networks(scene: Request) -> list[str]:
    """Other networks, the machine's own among them, where its hosts are joined by one."""
    joined = not scene.is_kept and has_network(machine_of(replace(scene, network="")))
    return [name for name in ("", *NETWORKS) if name != scene.network] if joined else []


def _table(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Runs by rows: what each took, and the parts that its time is made of, in figures that add up."""
    ended = [picture for _, picture, _ in runs if picture.verdict != STALLED]
    scale = TimeScale.of(max((picture.seconds for picture in ended), default=0.0))
    parts = [part for part in PARTS if any(picture.parts[part] for picture in ended)]
    words = [*(tell(f"page.compare.{word}") for word in COMPARED), *(tell(f"player.why.{part}") for part in parts)]
    return [dict(zip(words, _row(picture, title, scale, parts), strict=True)) for _, picture, title in runs]


def _row(picture: Picture, title: str, scale: TimeScale, parts: Sequence[str]) -> tuple[str, ...]:
    if picture.verdict == STALLED:
        return (title, tell("page.compare.never"), *("–" for _ in [*COMPARED[2:], *parts]))
    counts = scale.counts([picture.parts[part] for part in parts])
    return (title, scale.text(sum(counts)), picture.busbw, str(picture.messages), *map(scale.text, counts))


def show(runs: Sequence[Run]) -> None:
    """Who wins, and why: what every run's critical path is made of, and the sizes at which the winner changes."""
    if len(runs) < 2:
        return
    best = min(runs, key=lambda run: run[1].seconds)
    if best[1].verdict != STALLED:
        st.markdown(f"**{tell('page.compare.won', name=plain(best[2]), time=best[1].time)}**")
    st.dataframe(_table(runs), hide_index=True)
    compared = [scene for scene, _, _ in runs]
    if len({scene.algorithm for scene in compared}) < len(runs) or any(s.trouble or s.schedule for s in compared):
        return
    crossed = ask(tasks.crossings, compared[0], tuple(compared))
    for below, above, size in crossed:
        st.markdown(f"- {tell('page.compare.crossing', below=below, above=above, size=size)}")
    if not crossed:
        st.caption(tell("page.compare.same"))
