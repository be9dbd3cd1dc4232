"""What a browser is given of a talk: every run once, the scenes that show them, the words around; or all as a page."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

from ops.request import Request
from sim.errors import InputError, StalledError
from sim.trace import Trace
from sim.units import fmt_time
from ui.notebook.subject import read
from ui.player.component import ASSETS, WITH_TALK, Start, player_data, script, style
from ui.player.payload import FULL, pack
from ui.player.views import FIRST
from ui.scene.thumbnail import of_run
from ui.stage.algorithm_layout import MOST
from ui.talk import Talk, TalkScene
from ui.text import catalogue, say

FEW = 16
"""Up to so many ranks an algorithm's shape is understood at a glance."""
LARGEST = 64_000_000
"""Characters of all runs of a talk, packed: a page that every browser opens."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class PackedScene:
    """A scene as it is played: packed `runs` by their ids, a small `picture`, and what the page is told of it."""

    runs: dict[str, dict[str, Any]]
    picture: str
    shown: dict[str, Any]


def unseen(done: int, of: int) -> None:
    """What is told of the way there where nobody looks."""


def packed(entry: TalkScene, language: str) -> PackedScene:
    """Run a scene and pack it. Raises InputError, naming where it was written, for one that cannot be."""
    traces, titles = _runs(entry)
    _check(entry, max(trace.time for trace in traces))
    runs = [pack(trace, language) | {"note": _note(trace, language)} for trace in traces]
    view = entry.place.get("view") or usual(entry.scene, traces)
    start = {"t": float(entry.place.get("t", 0)), "view": view, "place": dict(entry.place)}
    title = entry.title or f"{traces[0].schedule.name} · {traces[0].topology.name}"
    shown = {
        "title": title,
        "lines": [{"at": line.at, "text": line.text} for line in entry.lines],
        "stops": list(entry.stops),
        "notes": entry.notes,
        "time": max(trace.time for trace in traces),
        "runs": [{"id": run["id"], "title": name} for run, name in zip(runs, titles, strict=True)],
        "start": start,
    }
    return PackedScene({run["id"]: run for run in runs}, of_run(traces[0], view, title), shown)


def usual(scene: Request, traces: Iterable[Trace]) -> str:
    """The view to begin with: the algorithm's shape for few ranks, the machine where it is what matters."""
    few = all(0 < trace.schedule.places <= min(FEW, MOST) and trace.schedule.transfers <= FULL for trace in traces)
    return "shape" if few and not (scene.capture or scene.trouble or scene.schedule) else FIRST


def _runs(entry: TalkScene) -> tuple[tuple[Trace, ...], tuple[str, ...]]:
    try:
        played = read(entry.scene)[0]
    except (InputError, StalledError) as error:
        raise _refused(entry, str(error)) from None
    return played.traces, played.titles  # type: ignore[union-attr]  # a request is a run


def _check(entry: TalkScene, time: float) -> None:
    """Raise InputError for what should happen after the end of the runs."""
    late = [("a stop", stop) for stop in entry.stops] + [("words", line.at) for line in entry.lines]
    for what, t in late:
        if t > time:
            raise _refused(
                entry, f"{what} at {fmt_time(t)}, but the run ends at {fmt_time(time)}: choose an instant of it"
            )


def _refused(entry: TalkScene, why: str) -> InputError:
    return InputError(f"{entry.origin}: {why}" if entry.origin else why)


def _note(trace: Trace, language: str) -> str:
    few = trace.schedule.transfers <= FULL
    return "" if few else say("page.large", language, count=trace.schedule.messages)


def together(talk: Talk, scenes: Iterable[PackedScene]) -> dict[str, Any]:
    """All that the page needs. Raises InputError for more than it can hold."""
    entries = list(scenes)
    runs = {name: run for entry in entries for name, run in entry.runs.items()}
    size = sum(len(run["tl"]) for run in runs.values())
    if size > LARGEST:
        raise InputError(f"the runs of this talk take {size / 1e6:.0f} MB: leave out the largest, or make two talks")
    words = {name: text for name, text in catalogue(talk.language).items() if name.startswith("talk.")}
    player = player_data([], talk.language, Start())
    shown = [entry.shown | {"picture": entry.picture} for entry in entries]
    title = talk.title or entries[0].shown["title"]
    return player | {
        "text": player["text"] | words,
        "title": title,
        "language": talk.language,
        "all": runs,
        "scenes": shown,
    }


def shown(talk: Talk, progress: Progress = unseen) -> dict[str, Any]:
    """Run all of a talk, for the page. Raises InputError."""
    entries = []
    for done, entry in enumerate(talk.scenes, 1):
        entries.append(packed(entry, talk.language))
        progress(done, len(talk.scenes))
    return together(talk, entries)


def page(data: dict[str, Any]) -> bytes:
    """A talk as one file that plays without a network."""
    text = (ASSETS / "talk" / "offline.html").read_text(encoding="utf-8")
    parts = {
        "language": "zh-Hans" if data["language"] == "zh" else data["language"],
        "title": escape(data["title"]),
        "style": style(),
        "script": f"const mount = {script(WITH_TALK)};".replace("</script", "<\\/script").replace("<!--", "<\\!--"),
        "data": json.dumps(data | {"is_linked": True}, ensure_ascii=False).replace("<", "\\u003c"),
    }
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text.encode()
