"""A stage in a figure: devices, links as full as they are, and what each rank holds."""

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.path import Path

from sim.units import fmt_share
from ui.drawing.figure_holdings import (
    MOST_NAMED,
    head_of_holdings,
    holdings_beside,
    landed,
    rows_of,
    strip_places,
    strips,
    strips_of,
)
from ui.drawing.figures import SENTENCE, SIDE, PagePart, Room, fonts, left, passing, right, rounded, sheet, words
from ui.drawing.lettering import Style
from ui.layout.lines import SIZES, along
from ui.layout.palette import IDLE, SIGN, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ui.drawing.frames import Block, Film
    from ui.drawing.geometry import Ground


BESIDE, ALONE = 1.43, 2.1
"""How many times as wide as high a picture is with what ranks hold beside it, and without."""
SMALL = 9
"""Points of a device's name."""


def stage(film: "Film", here: "Ground", width: float, look: Look) -> Figure:
    """A page with idle links and the rows below them, with room for the blocks of each rank."""
    figure = sheet(film, width, look, [2.2, 1.0] if rows_of(film) else [1.0, 1e-3])
    axes = figure.axes[0]
    frames = [rounded(box.x, box.y, box.width, box.height, 0.12) for box in here.boxes]
    axes.add_collection(PathCollection(frames, facecolors=look.panel, edgecolors="none", zorder=0), autolim=False)
    axes.add_collection(LineCollection(here.seen(), colors=look.ink, linewidths=0.9, alpha=0.16), autolim=False)
    corners = [(box.x + far * box.width, box.y + far * box.height) for box in here.boxes for far in (0, 1)]
    middles = np.stack([here.x, here.y], axis=1)
    around = np.array([1.0, 0.6])
    reach = np.concatenate([middles - around, middles + around, *here.lines, np.reshape(corners, (-1, 2))])
    (left, top), (right, bottom) = reach.min(axis=0), reach.max(axis=0)
    axes.set_xlim(left - 0.1, right + 0.1)
    axes.set_ylim(bottom + 0.1, top - 0.1)
    axes.set_aspect("equal")
    if rows_of(film):
        head_of_holdings(figure.axes[1], film, look)
    return figure


def place(film: "Film", view: str) -> "Ground":
    """What a view stands on, as wide as its part of the page."""
    return film.on_page(view, BESIDE if rows_of(film) else ALONE)


def standing(view: str) -> tuple[PagePart, ...]:
    """All of a stage but the blocks on their way: the sentence, devices and links, and what each rank holds, twice."""

    def here(film: "Film") -> "Ground":
        return place(film, view)

    def full(film: "Film", t: float) -> Hashable:
        faults = tuple((spell.link, spell.bandwidth) for spell in film.faulty(t))
        return film.loads(t, here(film)).round(3).tobytes(), faults

    def draw(figure: Figure, film: "Film", t: float, look: Look, since: float | None) -> None:
        ground(figure.axes[0], film, here(film), t, look)

    def held(figure: Figure, film: "Film", t: float, look: Look, since: float | None) -> None:
        strips(figure.axes[0], film, here(film), t, look, since)

    return (
        SENTENCE,
        PagePart(lambda figure, film: [left(figure)], full, draw),
        PagePart(lambda figure, film: strip_places(figure, film, here(film)), landed, held, adds=True),
        PagePart(lambda figure, film: [right(figure)], landed, holdings_beside, adds=True),
    )


Page = Callable[["Film", float, Look], Figure]
Moving = Callable[[Figure, "Film", float, Look], None]


def stage_of(view: str) -> tuple[Page, tuple[PagePart, ...], Moving]:
    """Return what the file of a view has whose picture is a stage: the page, its parts, and blocks on their way."""

    def page(film: "Film", width: float, look: Look) -> Figure:
        return stage(film, place(film, view), width, look)

    def moving(figure: Figure, film: "Film", t: float, look: Look) -> None:
        here = place(film, view)
        blocks = film.blocks(t, here, clear=True)
        passing(figure, film, blocks, t, look)
        lifted(figure, film, here, blocks, look)

    return page, standing(view), moving


def ground(axes: "Axes", film: "Film", here: "Ground", t: float, look: Look) -> None:
    """Devices, and the lines between them that are busy, as full as they are."""
    names = words(axes, 3)
    style = {"fontsize": SMALL, "color": look.quiet, "va": "center", "weight": "bold", "family": fonts(film.language)}
    room = Room(axes)
    for box in here.boxes:
        if room.holds(box.label, style, box.width - 0.6):
            names.add(box.x + 0.3, box.y + (box.height - 0.28 if box.side else 0.28), box.label, style)
    loads = film.loads(t, here)
    busy = loads > IDLE
    full = [line for line, full in zip(here.lines, busy, strict=True) if full]
    reds = film.waited_for(t, here)
    shades = [look.line(load, red=bool(red)) for load, red in zip(loads[busy], reds[busy], strict=True)]
    axes.add_collection(LineCollection(full, colors=shades, linewidths=2.4, capstyle="round"), autolim=False)
    _devices(axes, film, here, look)
    _marks(axes, film, here, t, look)


def _marks(axes: "Axes", film: "Film", here: "Ground", t: float, look: Look) -> None:
    """On links that cannot carry what the machine says: what is left of it."""
    lines = {here.link(line): line for line in range(len(here.lines))}
    for spell in film.faulty(t):
        if spell.link not in lines:
            continue
        share = spell.bandwidth / float(film.trace.topology.bandwidth[spell.link])
        frame = {"boxstyle": "round,pad=0.3", "fc": look.paper, "ec": look.ink}
        style: dict[str, Any] = {"color": look.ink, "ha": "center", "va": "center", "weight": "bold", "zorder": 8}
        style["family"] = fonts("en")
        x, y = along(here.lines[lines[spell.link]], SIGN)
        axes.text(x, y, fmt_share(share) if share else "×", fontsize=SMALL, bbox=frame, **style)


def _devices(axes: "Axes", film: "Film", here: "Ground", look: Look) -> None:
    frames: list[Path] = []
    paint: list[tuple[str, float]] = []
    names = words(axes, 4)
    for i, (x, y, rank) in enumerate(zip(here.x, here.y, here.ranks, strict=True)):
        if i in here.hidden:
            continue
        width, height = here.size(i)
        paint.append((look.surface, 0.8 if rank >= 0 else 0.5))
        frames.append(_frame(x - width / 2, y - height / 2, width, height, 0.1))
    for name in _named(axes, film, here, look):
        names.add(name.x, name.y, name.text, name.style)
    fills, lines = [fill for fill, _ in paint], [line for _, line in paint]
    drawn: dict[str, Any] = {"facecolors": fills, "edgecolors": look.quiet, "linewidths": lines, "zorder": 3}
    axes.add_collection(PathCollection(frames, **drawn), autolim=False)


class Name(NamedTuple):
    """A device's name where it stands, with half its width and height, in device widths."""

    x: float
    y: float
    text: str
    style: Style
    reach: tuple[float, float]


def _named(axes: "Axes", film: "Film", here: "Ground", look: Look) -> list[Name]:
    """Names that have room in their devices."""
    if len(here.kinds) - len(here.hidden) > MOST_NAMED:
        return []
    middle = {"color": look.ink, "ha": "center", "va": "center", "fontsize": SMALL, "family": fonts(film.language)}
    room = Room(axes)
    bold, normal = middle | {"weight": "bold"}, middle | {"weight": "normal"}
    form, names = _form(here, room, bold), []
    beside = strips_of(axes, film, here)
    for i, (x, y, called, rank) in enumerate(zip(here.x, here.y, here.names, here.ranks, strict=True)):
        if i in here.hidden:
            continue
        width, height = here.size(i)
        style = bold if rank >= 0 else normal
        fitting = called if rank < 0 else called[form:]
        text = next((name for name in fitting if room.holds(name, style, width)), "")
        if text and room.high(style) <= height:
            down = height * 0.26 if rank in beside else 0.0
            names.append(Name(x, y - down, text, style, (room.wide(text, style) / 2, room.high(style) / 2)))
    return names


def lifted(figure: Figure, film: "Film", here: "Ground", blocks: Sequence["Block"], look: Look) -> None:
    """Write names once more, on paper over the blocks that pass them."""
    axes = figure.axes[0]
    again = words(axes, 9)
    for name in _named(axes, film, here, look):
        wide, high = name.reach
        if any(abs(b.x - name.x) < wide + SIDE / 2 and abs(b.y - name.y) < high + SIDE / 2 for b in blocks):
            paper = rounded(name.x - wide, name.y - high, 2 * wide, 2 * high, 0.04)
            axes.add_collection(
                PathCollection([paper], facecolors=look.surface, edgecolors="none", zorder=8), autolim=False
            )
            again.add(name.x, name.y, name.text, name.style)


def _form(here: "Ground", room: Room, style: Style) -> int:
    """Which of their names all ranks have room for, so that all are named alike."""
    ranks = [called for called, rank in zip(here.names, here.ranks, strict=True) if rank >= 0]
    forms = range(min(map(len, ranks), default=0))
    return next((k for k in forms if all(room.holds(called[k], style, SIZES["GPU"][0]) for called in ranks)), 0)


@lru_cache(maxsize=1024)
def _frame(x: float, y: float, width: float, height: float, radius: float) -> Path:
    """The same for what stands where it is in every frame."""
    return rounded(x, y, width, height, radius)
