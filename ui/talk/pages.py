"""What a browser is given of a talk: every run once, the scenes that show them, the words around; or all as a page."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ops.plan import Plan
from sim.errors import InputError, Message, StalledError
from sim.trace import Trace
from sim.units import fmt_time
from ui.drawing.fonts import faces
from ui.drawing.thumbnail import of_run
from ui.layout.algorithm_layout import MOST
from ui.plan.beginning import instant_in
from ui.plan.subject import Played, read
from ui.player.component import Start, player_data, style
from ui.player.payload import has_rows
from ui.player.scripts import ASSETS, WITH_TALK, script
from ui.player.views import FIRST
from ui.talk import Talk, TalkScene
from ui.text import catalogue

FEW = 16
"""Up to so many ranks an algorithm's shape is understood at a glance."""
LARGEST = 64_000_000
"""Characters of all runs of a talk, packed: a page that every browser opens."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class PackedScene:
    """What runs in a scene, packed, each with its title beside others; how it is shown small, and what it is called."""

    runs: tuple[dict[str, Any], ...]
    titles: tuple[str, ...]
    name: str
    time: float
    view: str
    picture: str
    answer: dict[str, Any]


def unseen(done: int, of: int) -> None:
    """What is told of the way there where nobody looks."""


def packed(plan: Plan, view: str, language: str) -> PackedScene:
    """Run a plan and pack it, to be seen in a view or the usual one. Raises InputError and StalledError."""
    played = read(plan)[0]
    assert isinstance(played, Played), "a plan is a run"
    traces = played.traces
    view = view or usual(plan, traces)
    name = played.heading(language)
    time = max(trace.time for trace in traces)
    runs = tuple(played.packed(language))
    answer = played.answer(language) | {"title": name}
    return PackedScene(runs, played.names(language), name, time, view, of_run(traces[0], view, name), answer)


def check(entry: TalkScene, time: float) -> None:
    """Raise InputError, naming where it was written, for what should happen after the end of the runs."""
    late = [("a stop", stop) for stop in entry.stops] + [("words", line.at) for line in entry.lines]
    for what, t in late:
        if t > time:
            why = Message("talk.after_end", what=Message(what), at=fmt_time(t), end=fmt_time(time))
            raise _refused(entry, why)


def usual(plan: Plan, traces: Iterable[Trace]) -> str:
    """The view to begin with: the algorithm's shape for few ranks, the machine where it is what matters."""
    few = all(0 < trace.schedule.places <= min(FEW, MOST) and has_rows(trace) for trace in traces)
    return "shape" if few and not (plan.capture or plan.fault or plan.schedule) else FIRST


def _refused(entry: TalkScene, why: Message) -> InputError:
    return InputError(Message("at.place", place=entry.origin, what=why) if entry.origin else why)


def together(talk: Talk, scenes: Sequence[PackedScene]) -> dict[str, Any]:
    """All that the page needs of a talk whose scenes are packed. Raises InputError for more than it can hold."""
    runs = {run["id"]: run for scene in scenes for run in scene.runs}
    size = sum(len(run["tl"]) for run in runs.values())
    if size > LARGEST:
        raise InputError("talk.megabytes", megabytes=size / 1000000.0)
    words = {name: text for name, text in catalogue(talk.language).items() if name.startswith("talk.")}
    player = player_data([], talk.language, Start())
    entries = [_shown(entry, scene) for entry, scene in zip(talk.scenes, scenes, strict=True)]
    return player | {
        "text": player["text"] | words,
        "title": talk.title or entries[0]["title"],
        "language": talk.language,
        "all": runs,
        "scenes": entries,
    }


def _shown(entry: TalkScene, scene: PackedScene) -> dict[str, Any]:
    """What the page is told of a scene."""
    return {
        "title": entry.title or scene.name,
        "lines": [{"at": line.at, "text": line.text} for line in entry.lines],
        "stops": list(entry.stops),
        "notes": entry.notes,
        "time": scene.time,
        "runs": [{"id": run["id"], "title": name} for run, name in zip(scene.runs, scene.titles, strict=True)],
        "start": {"t": instant_in(entry.place) or 0.0, "view": scene.view, "place": dict(entry.place)},
        "picture": scene.picture,
        "answer": scene.answer,
    }


def shown(talk: Talk, progress: Progress = unseen) -> dict[str, Any]:
    """Run all of a talk, for the page. Raises InputError, naming where a scene was written."""
    scenes = []
    for done, entry in enumerate(talk.scenes, 1):
        try:
            scenes.append(packed(entry.plan, entry.place.get("view", ""), talk.language))
        except (InputError, StalledError) as error:
            raise _refused(entry, error.message) from None
        check(entry, scenes[-1].time)
        progress(done, len(talk.scenes))
    return together(talk, scenes)


def page(data: dict[str, Any], lessons: dict[str, Any]) -> bytes:
    """A talk as one file that plays without a network, and lessons as they are packed, below it."""
    text = (ASSETS / "talk" / "offline.html").read_text(encoding="utf-8")
    parts = {
        "language": "zh-Hans" if data["language"] == "zh" else data["language"],
        "title": escape(data["title"]),
        "fonts": faces(),
        "style": style(),
        "script": f"const mount = {script(WITH_TALK)};".replace("</script", "<\\/script").replace("<!--", "<\\!--"),
        "data": json.dumps(data | {"is_linked": True, "lessons": lessons}, ensure_ascii=False).replace("<", "\\u003c"),
    }
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text.encode()
