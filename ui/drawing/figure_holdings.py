"""What ranks hold, in a figure: beside a picture, and in small in each device."""

import math
from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.path import Path

from sim.schedule import NOTHING
from ui.drawing.figures import Place, Room, fonts, scale_of, words
from ui.layout.lines import SIZES
from ui.layout.palette import Look, ink_on
from ui.player.payload import rank_numbers, whole
from ui.text import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ui.drawing.frames import Film
    from ui.drawing.geometry import Ground

MOST_NUMBERS = 24
"""Ranks of whom each has its number beside what it holds."""
MOST_ROWS, MOST_WORDS, MOST_NAMED, MOST_LABELS = 32, 24, 80, 300
GUTTER = 0.06
"""Between two places for blocks."""
LETTER = 9
"""Points of a block's name, and of a rank's number."""
STRIP = 0.42
"""How high a strip of what a rank holds is, in device widths."""
SNAPPED = 200
"""Rectangles of a shape, at most: of one with more corners the renderer does not put edges on whole pixels."""
FAINT = 0.22
"""How much of its colour has what has no contributions yet."""
Bar = tuple[float, float, float, float, str, bool]
"""x, y, width, height and colour of a rectangle, and whether it stands upon another."""


def rows_of(film: "Film") -> int:
    """How many ranks' holdings stand beside a picture."""
    return min(film.trace.schedule.n, MOST_ROWS) if film.full else 0


def columns_of(film: "Film") -> int:
    """How many slots of each."""
    return min(film.trace.schedule.slots, MOST_ROWS)


def landed(film: "Film", t: float) -> Hashable:
    """What ranks hold depends on how many transfers have ended."""
    return film.landed(t)


def head_of_holdings(axes: "Axes", film: "Film", look: Look, wide: float = 1.0) -> None:
    """What is above what ranks hold, and room for that; places are so many times as wide as high."""
    style = {"color": look.ink, "weight": "bold", "va": "bottom", "family": fonts(film.language), "fontsize": LETTER}
    style["fontsize"] = LETTER * scale_of(axes.figure)
    words(axes, 3).add(0, -0.35, say("figure.holds", film.language), style)
    every = math.ceil(rows_of(film) / MOST_NUMBERS)
    numbers = {"color": look.quiet, "ha": "right", "va": "center", "family": fonts(film.language), "fontsize": LETTER}
    for rank, number in list(enumerate(rank_numbers(film.trace)))[: rows_of(film) : every]:
        words(axes, 3).add(-0.15, rank + 0.46, str(number), numbers)
    axes.set_xlim(-0.9, wide * max(columns_of(film), 4))
    axes.set_ylim(max(rows_of(film), 4), -1.1)


def holdings_beside(figure: Figure, film: "Film", t: float, look: Look, since: float | None) -> None:
    """What each rank holds, beside a picture."""
    if rows_of(film):
        holdings(figure.axes[1], film, t, look, since)


def holdings(axes: "Axes", film: "Film", t: float, look: Look, since: float | None, wide: float = 1.0) -> None:
    """Ranks down, slots across: the block in every place that has changed, filled as far as contributions are in."""
    held, complete = film.held(t), whole(film.trace.schedule)
    rows, columns = rows_of(film), columns_of(film)
    room = _letters(axes, wide) if columns * rows <= MOST_LABELS else 0
    bars: list[Bar] = []
    names = words(axes, 3)
    inks = {
        ink: {"color": ink, "ha": "center", "va": "center", "fontsize": LETTER, "family": fonts(film.language)}
        for ink in (look.ink, *map(ink_on, look.blocks))
    }
    for rank, slot in film.changed(since, t, rows, columns):
        number, share = int(held.block[rank, slot]), float(held.count[rank, slot]) / complete
        bars += _filled((slot * wide, rank + 0.92, wide - GUTTER, -0.92), number, share, look)
        name = film.place_name(rank, slot) if number != NOTHING else ""
        if name and len(name) <= room:
            style = inks[ink_on(look.block(number)) if share > 0.6 else look.ink]
            names.add((slot + 0.5) * wide - GUTTER / 2, rank + 0.46, name, style)
    _bars(axes, bars, 1)


def _letters(axes: "Axes", wide: float) -> int:
    """How many small letters have room in a place for a block, three at most."""
    (x, y), (right, low) = axes.transData.transform([(0, 0), (wide - GUTTER, 0.92)])
    point = axes.figure.dpi / 72
    return min(3, int((right - x) / (0.6 * LETTER * point))) if y - low > LETTER * point else 0


def strips_of(axes: "Axes", film: "Film", here: "Ground") -> dict[int, tuple[float, float]]:
    """Left and lower end of every strip, by rank: what a rank holds in small, in its device below its name."""
    is_small = Room(axes).high({"fontsize": LETTER}) > SIZES["GPU"][1] / 2
    if not film.full or is_small or len(here.kinds) - len(here.hidden) > MOST_NAMED:
        return {}
    places = zip(here.ranks, here.x, here.y, strict=True)
    return {rank: (x - 0.5, y + 0.42) for rank, x, y in places if rank >= 0}


def strip_places(figure: Figure, film: "Film", here: "Ground") -> list[Place]:
    """The pixels of every strip."""
    corners = [((x, low - STRIP), (x + 1.0, low)) for x, low in strips_of(figure.axes[0], film, here).values()]
    if not corners:
        return []
    ends = figure.axes[0].transData.transform(np.reshape(corners, (-1, 2))).reshape(-1, 2, 2)
    tall, low, high = int(figure.bbox.height), *np.floor([ends.min(axis=1) + 0.5, ends.max(axis=1) + 0.5])
    edges = np.maximum(0, np.stack([tall - high[:, 1], tall - low[:, 1], low[:, 0], high[:, 0]], axis=1)).astype(int)
    return [np.s_[top:bottom, begin:end] for top, bottom, begin, end in edges.tolist()]


def strips(axes: "Axes", film: "Film", here: "Ground", t: float, look: Look, since: float | None) -> None:
    """Ranks' slots in small, those that have changed: colour is the block, height how many contributions are in."""
    ends = strips_of(axes, film, here)
    if not ends:
        return
    held, complete = film.held(t), whole(film.trace.schedule)
    shown = min(held.block.shape[1], MOST_WORDS)
    cell = 1.0 / shown
    bars: list[Bar] = []
    for rank, slot in film.changed(since, t, film.trace.schedule.n, shown):
        if rank in ends:
            x, low = ends[rank]
            area = x + slot * cell, low, cell * 0.88, -STRIP
            bars += _filled(area, int(held.block[rank, slot]), float(held.count[rank, slot]) / complete, look)
    _bars(axes, bars, 4)


def _filled(area: tuple[float, float, float, float], block: int, share: float, look: Look) -> list[Bar]:
    """A place that is filled from where its area begins, as far as contributions are in."""
    if block == NOTHING:
        return [(*area, look.paper, False)]
    x, low, width, height = area
    colour = look.block(block)
    return [(*area, _faint(colour, look.paper), False), (x, low, width, height * min(1.0, share), colour, True)]


def _bars(axes: "Axes", bars: list[Bar], zorder: float) -> None:
    """Many rectangles at once, those of a colour as one shape; those upon others last."""
    alike: dict[tuple[bool, str], list[Bar]] = {}
    for bar in bars:
        alike.setdefault((bar[5], bar[4]), []).append(bar)
    shapes, colours = [], []
    for (_, colour), group in sorted(alike.items()):
        x, y, width, height = np.array([bar[:4] for bar in group]).T
        corners = np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]]).transpose(2, 0, 1)
        for k in range(0, len(group), SNAPPED):
            shapes.append(Path.make_compound_path_from_polys(corners[k : k + SNAPPED]))
            colours.append(colour)
    axes.add_collection(PathCollection(shapes, facecolors=colours, linewidths=0, zorder=zorder), autolim=False)


@cache
def _faint(colour: str, paper: str) -> str:
    """A colour as it looks where it is faint: solid, so that whatever was in a place is gone once it is drawn anew."""
    red, green, blue = (FAINT * a + (1 - FAINT) * b for a, b in zip(to_rgb(colour), to_rgb(paper), strict=True))
    return to_hex((red, green, blue))
