"""One menu for all ways to share a run: link, picture, film, page, embed code, notebook cell, data, talk, QR code."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from ops.plan import Plan
from ops.plan.link import LONGEST, PLACE
from ops.plan.plan_file import to_yaml
from sim.base.numbers import real
from ui import address
from ui.controls.parameter import fresh
from ui.drawings import DRAWINGS
from ui.export.exports import EXPORTS, Shot
from ui.files.site import notebook
from ui.plan import picture
from ui.plan.beginning import instant_in
from ui.player.page_script import page_script
from ui.player.views import FIRST, VIEWS
from ui.share import embed, qr, talks
from ui.share.saving import FileRequest, SavingState
from ui.simulate.state import SimulateState
from ui.state import become, callback, state, value
from ui.text import catalogue, spoken, tell
from ui.workers import tasks
from ui.workers.asking import ask

WIDTHS = (640, 960, 1280, 1920)
SECONDS = 1.0, 10.0, 60.0
"""How long a film may take at least, usually, and at most."""
EMBED, CELL = "embed", "ipynb"
"""Files beside those of a run: a frame with the run in it, and a notebook."""
LOCAL = "localhost", "127.0.0.1", "::1"
"""Names of a computer that mean another one elsewhere."""
KEY = "share_menu"
Place = Callable[[], Mapping[str, str]]


@dataclass(frozen=True)
class Standing:
    """A plan and where in its runs a player is, in the words of a link."""

    plan: Plan
    place: Mapping[str, str]

    @property
    def view(self) -> str:
        """The view on the screen."""
        return self.place["view"]

    @property
    def query(self) -> str:
        """The words of a link to it."""
        language = {"lang": spoken()} if spoken() != "en" else {}
        return urlencode(address.words_of(self.plan) | language | {k: v for k, v in self.place.items() if k in PLACE})

    @property
    def steps(self) -> str:
        """The words of a link to its steps, for the phones of an audience."""
        language = {"lang": spoken()} if spoken() != "en" else {}
        words = address.words_of(replace(self.plan, against="")) | language | {"view": self.view}
        return urlencode({"page": "steps", "embed": "true"} | words)

    def shot(self, kind: str, options: Mapping[str, Any]) -> Shot:
        """Return how a file of a kind shows it; `options` of a film come from a browser, and may be anything."""
        drawn = self.view if self.view in DRAWINGS or kind not in EXPORTS or not EXPORTS[kind].drawn else FIRST
        shot = Shot(drawn, instant_in(self.place), language=spoken())
        if kind not in EXPORTS or not EXPORTS[kind].filmed:
            return shot
        length = ask(tasks.run, replace(self.plan, against=""), spoken()).seconds
        begin, end = (_number(options.get(name), usual, 0, 100) for name, usual in (("begin", 0.0), ("end", 100.0)))
        least, usual, most = SECONDS
        width = options.get("width")
        return replace(
            shot,
            begin=length * min(begin, 99.9) / 100,
            end=length * max(end, begin + 0.1) / 100,
            seconds=_number(options.get("seconds"), usual, least, most),
            width=width if width in WIDTHS else 1280,
            dark=options.get("theme") == "dark",
        )

    def file(self, kind: str, options: Mapping[str, Any]) -> FileRequest:
        """Return the request for a file of a kind."""
        name, plan = picture.file_name(self.plan), self.plan
        if kind == CELL:
            return FileRequest(f"{name}.ipynb", "application/x-ipynb+json", partial(notebook, name, self.query))
        if kind == "yaml":
            return FileRequest(f"{name}.yaml", EXPORTS[kind].media, partial(to_yaml, plan, dict(self.place)))
        if kind in (EMBED, "html"):
            page = partial(ask, tasks.page_alone, plan, self.shot(kind, options))
            if kind == "html":
                return FileRequest(f"{name}.html", "text/html", page)
            return FileRequest(f"{name}.embed.html", "text/html", lambda: embed.around(page(), name))
        return FileRequest(f"{name}.{kind}", EXPORTS[kind].media, lambda: self._exported(kind, options))

    def _exported(self, kind: str, options: Mapping[str, Any]) -> bytes:
        return ask(tasks.export, self.plan, kind, self.shot(kind, options))


def _standing(plan: Plan, place: Place) -> Standing:
    """A plan where its player is now; a place without a view is in the one that the player began with."""
    words, now = dict(place()), state(SimulateState)
    view = words.get("view") or (now.stood[1] if now.stood else now.start.view)
    return Standing(plan, words | {"view": view if view in VIEWS else FIRST})


def draw(plan: Plan, place: Place, *, is_here: bool = True) -> None:
    """Draw the menu of a plan; `place()` says where in its runs the player is when something is clicked.

    The plan is that of the page's address where it `is_here`.
    """
    with st.popover(tell("page.share"), icon=":material/share:", key=fresh("share"), on_change="rerun"):
        _menu(plan, place, is_here=is_here)


def _menu(plan: Plan, place: Place, *, is_here: bool) -> None:
    standing, url = _standing(plan, place), st.context.url or ""
    is_long = address.length_of(plan) > LONGEST
    link = "" if is_long else f"{url}?{standing.query}"
    own = ("page.share.", "export.")

    @callback
    def chosen() -> None:
        options = value(KEY).file
        kind = options.get("kind") if isinstance(options, Mapping) else None
        if kind in (*EXPORTS, EMBED, CELL):
            become(state(SavingState).requested(_standing(plan, place).file(kind, options)))

    @callback
    def added() -> None:
        talks.add(plan, place())

    page_script("share", "share")(
        key=KEY,
        data={
            "link": link,
            "is_here": is_here,
            "is_local": urlsplit(url).hostname in LOCAL,
            "code": qr.picture_of(link) if link else "",
            "steps_code": qr.picture_of(f"{url}?{standing.steps}") if link else "",
            "frames": bool(embed.origins()) and not is_long,
            "brush": _percent(standing),
            "widths": WIDTHS,
            "scenes": len(talks.current().scenes),
            "is_full": talks.is_full() or bool(plan.python),
            "language": spoken(),
            "text": {name: text for name, text in catalogue(spoken()).items() if name.startswith(own)},
        },
        on_file_change=chosen,
        on_add_change=added,
        on_open_change=callback(talks.open_page),
    )


def _percent(standing: Standing) -> tuple[float, float]:
    """The stretch of time that is marked in the player, in % of the run; all of it where none is."""
    word = standing.place.get("brush", "")
    if not word:
        return 0.0, 100.0
    length = ask(tasks.run, replace(standing.plan, against=""), spoken()).seconds
    begin, end = marked(word, length)
    return (100 * begin / length, 100 * end / length) if length else (0.0, 100.0)


def marked(word: str, length: float) -> tuple[float, float]:
    """The stretch of time that a link marks, s; all of the run where there is none.

    >>> marked("0.001_0.003", 0.002), marked("", 1.0), marked("x_y", 1.0)
    ((0.001, 0.002), (0.0, 1.0), (0.0, 1.0))
    """
    begin, end = (real(part) for part in (word.split("_") if word.count("_") == 1 else ("0", "")))
    if begin is None or end is None or not 0 <= begin < min(end, length):
        return 0.0, length
    return begin, min(end, length)


def _number(entered: object, usual: float, low: float, high: float) -> float:
    is_number = isinstance(entered, int | float) and math.isfinite(entered)
    return min(high, max(low, float(entered))) if is_number else usual  # type: ignore[arg-type]
