"""What figures of print quality are made of: sheets and their places, the sentence, the clock, blocks."""

from collections.abc import Callable, Hashable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.font_manager import fontManager
from matplotlib.patches import FancyBboxPatch
from matplotlib.path import Path

from sim.units import fmt_time
from ui.drawing.fonts import FAMILY, FOLDER
from ui.drawing.lettering import Lettering, Style, across
from ui.layout.palette import MANY, Look, ink_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ui.drawing.frames import Block, Film

SIDE, LEAST_SIDE, NAMED_SIDE = 0.42, 0.1, 0.24
"""Device widths across the largest block, across the smallest at least, and from which on one has its name."""
OVER = 1.1
"""How many times as wide as what it stands on a name may be."""
MOST_MESSAGES = 20_000
CHINESE = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Microsoft YaHei",
)


Place = tuple[slice, slice]
"""Rows and columns of a page's pixels."""


@cache
def fonts(language: str) -> list[str]:
    """Font families that are here and have the language's characters: ours, a Chinese one, matplotlib's own last."""
    for path in sorted(FOLDER.glob("*.ttf")):
        fontManager.addfont(path)
    here = {entry.name for entry in fontManager.ttflist}
    return [FAMILY, *(name for name in CHINESE if language == "zh" and name in here), "DejaVu Sans"]


class PagePart(NamedTuple):
    """What is the same as long as its state is.

    `places` are the rows and columns of the page that it has to itself, or that lie upon those of a part before it;
    `draw(figure, film, t, look, since)` draws it. One that `adds` draws what has changed since an instant upon what it
    drew then, all of it where `since` is None; the others always draw all.
    """

    places: Callable[[Figure, "Film"], Sequence[Place]]
    state: Callable[["Film", float], Hashable]
    draw: Callable[[Figure, "Film", float, Look, float | None], None]
    adds: bool = False


HEAD, FOOT, RULE, GAP = 0.98, 0.34, 0.26, 0.06
"""Inches of a wide page for its head, the sentence below its picture, the numbers of an axis, and between them."""
WIDE = 9.6
"""Inches of a page on which letters have their whole size; on others they are smaller, to the half of it."""
SIZES = {"title": 11.5, "headline": 19.0, "reason": 11.5, "now": 11.5}
"""Points of a line that has room."""
DOWN = {"title": 0.27, "headline": 0.61, "reason": 0.88}
"""Inches from a page's top to where a line of its head stands."""
UP = 0.15
"""Inches from its bottom to where the sentence of an instant stands."""


def head(figure: Figure) -> Place:
    """Where the title and the answer are."""
    return np.s_[: _fold(figure)[0], :]


def left(figure: Figure) -> Place:
    """Below that, where the picture is."""
    below, foot, across = _fold(figure)
    return np.s_[below:foot, :across]


def right(figure: Figure) -> Place:
    """Beside the picture."""
    below, foot, across = _fold(figure)
    return np.s_[below:foot, across:]


def bottom(figure: Figure) -> Place:
    """Below the picture, where the sentence of an instant is."""
    return np.s_[_fold(figure)[1] :, :]


def _fold(figure: Figure) -> tuple[int, int, int]:
    """The row below the head, that of the sentence, and the column between two axes."""
    one, two = (axes.get_position(original=True) for axes in figure.axes)
    middle, dots = (one.x1 + two.x0) / 2, figure.dpi * scale_of(figure)
    rows = round(HEAD * dots), round(figure.bbox.height - FOOT * dots)
    return *rows, round(middle * figure.bbox.width)


def scale_of(figure: Figure | SubFigure) -> float:
    """How large letters are on a page, as a share of their size on a wide one."""
    return max(0.5, min(1.0, figure.bbox.width / figure.dpi / WIDE))


def sheet(film: "Film", width: float, look: Look, ratios: list[float], *, ruled: bool = False) -> Figure:
    """Return a page with title, answer and two axes; `ruled` draws a grid in the first."""
    figure = Figure(figsize=(width, width * 0.5625), facecolor=look.paper, dpi=100)
    axes = figure.subplots(1, 2, width_ratios=ratios)
    inch = scale_of(figure) / figure.get_figheight()
    low = (FOOT + RULE * ruled + GAP) * inch
    figure.subplots_adjust(
        left=0.05 if ruled else 0.02, right=0.985, top=1 - (HEAD + GAP) * inch, bottom=low, wspace=0.04
    )
    clock = across(_clock(film, film.trace.ended), _style(film, "title"), float(figure.dpi)) / figure.bbox.width
    _say(figure, film, "title", film.title, look, room=0.94 - clock, color=look.quiet)
    _say(figure, film, "headline", film.answer[0], look, weight="bold")
    _say(figure, film, "reason", film.answer[1], look, color=look.quiet)
    for each in axes:
        each.set_facecolor(look.paper)
        each.set_axis_off()
        each.set_anchor("N")
        each.tick_params(colors=look.ink, labelsize=8, labelfontfamily=fonts(film.language))
        each.yaxis.label.set_color(look.ink)
        each.yaxis.label.set_fontfamily(fonts(film.language))
        for spine in each.spines.values():
            spine.set_visible(False)
    return figure


def _say(
    figure: Figure, film: "Film", part: str, text: str, look: Look, *, room: float = 0.96, at: float = 0.02, **more: Any
) -> None:
    """A line of a page, as large as it fits into a share of its width."""
    style = _style(film, part) | {"color": look.ink} | more
    family, weight = tuple(style["family"]), str(style.get("weight", "normal"))
    scale, (wide, high) = scale_of(figure), figure.get_size_inches().tolist()
    style["fontsize"] = _fitted(text, family, weight, scale * style["fontsize"], room * wide * figure.dpi, figure.dpi)
    up = UP * scale if part == "now" else high - DOWN[part] * scale
    line = Lettering(3)
    line.set_transform(figure.transFigure)
    figure.add_artist(line)
    line.add(at, up / high, text, style)


def _style(film: "Film", part: str) -> dict[str, Any]:
    return {"family": fonts(film.language), "fontsize": SIZES[part]}


@lru_cache(maxsize=1024)
def _fitted(text: str, family: tuple[str, ...], weight: str, size: float, room: float, dpi: float) -> float:
    """Points at which a line has room, `size` at most."""
    style = {"family": family, "weight": weight}
    while (wide := across(text, style | {"fontsize": size}, dpi)) > room:  # letters grow by whole pixels
        size *= 0.98 * room / wide
    return size


SENTENCE = PagePart(
    lambda figure, film: [bottom(figure)],
    lambda film, t: film.caption(t),
    lambda figure, film, t, look, since: _say(figure, film, "now", film.caption(t), look),
)
"""What happens now, below the picture."""


def tell_time(figure: Figure, film: "Film", t: float, look: Look) -> None:
    """The instant, and when all has ended."""
    _say(figure, film, "title", _clock(film, t), look, at=0.985, ha="right")


def _clock(film: "Film", t: float) -> str:
    return f"{fmt_time(t - film.trace.began)} / {fmt_time(film.trace.time)}"


def passing(figure: Figure, film: "Film", blocks: Sequence["Block"], t: float, look: Look) -> None:
    """What is at another place in every instant: blocks and the clock."""
    tell_time(figure, film, t, look)
    paint_blocks(figure.axes[0], blocks, look)


def rounded(x: float, y: float, width: float, height: float, radius: float) -> Path:
    """The outline of a rectangle with round corners."""
    outline = _outline(width, height, radius)
    return Path(outline.vertices + np.array([x, y]), outline.codes)


@lru_cache(maxsize=256)
def _outline(width: float, height: float, radius: float) -> Path:
    return FancyBboxPatch((0, 0), width, height, boxstyle=f"round,pad=0,rounding_size={radius}").get_path()


class Room:
    """How many pixels a device width has, for names that are left out where they would reach over others."""

    def __init__(self, axes: "Axes") -> None:
        axes.apply_aspect()  # as drawing will, after which its data stand where they are drawn
        (self._left, _), (self._right, _) = axes.transData.transform([(0, 0), (1, 0)]).tolist()
        self._dpi = float(axes.figure.dpi)

    def holds(self, text: str, style: Style, width: float) -> bool:
        """Whether a name reaches over something so many device widths wide by no more than a little."""
        pixels = float(self._right - self._left)
        return across(text, style, self._dpi) <= OVER * width * pixels

    def wide(self, text: str, style: Style) -> float:
        """How many device widths a name takes."""
        return across(text, style, self._dpi) / float(self._right - self._left)

    def high(self, style: Style) -> float:
        """How many device widths high it is."""
        return float(style["fontsize"]) * self._dpi / 72 / float(self._right - self._left)


def words(axes: "Axes", zorder: float) -> Lettering:
    """Words to be, at places of the data."""
    words = Lettering(zorder)
    axes.add_artist(words)
    words.set_clip_path(None)
    return words


def paint_blocks(axes: "Axes", blocks: Sequence["Block"], look: Look) -> None:
    """Blocks with their names, or dots where there are very many."""
    if len(blocks) > MANY:
        axes.scatter(
            [b.x for b in blocks],
            [b.y for b in blocks],
            s=[max(1.0, 4 * b.side**2) for b in blocks],
            c=[look.block(b.number) for b in blocks],
            zorder=6,
        )
        return
    sides = [max(LEAST_SIDE, SIDE * b.side) for b in blocks]
    frames = [
        rounded(b.x - side / 2, b.y - side / 2, side, side, side / 5) for b, side in zip(blocks, sides, strict=True)
    ]
    fills = [look.block(b.number) for b in blocks]
    style: dict[str, Any] = {"facecolors": fills, "edgecolors": look.surface, "linewidths": 1.0, "zorder": 6}
    axes.add_collection(PathCollection(frames, **style), autolim=False)
    labels = words(axes, 7)
    room = Room(axes)
    for b, side in zip(blocks, sides, strict=True):
        if side < NAMED_SIDE:
            continue
        style = {
            "color": ink_on(look.block(b.number)),
            "ha": "center",
            "va": "center",
            "weight": "bold",
            "family": fonts("en"),
        }
        style["fontsize"] = 9.5
        if room.holds(b.label, style, side) and room.high(style) <= side:
            labels.add(b.x, b.y, b.label, style)
