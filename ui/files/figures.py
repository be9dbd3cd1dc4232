"""What figures of print quality are made of: sheets, the stage, what ranks hold, blocks."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.patches import FancyBboxPatch
from matplotlib.path import Path

from sim.schedule import NOTHING
from sim.units import fmt_share, fmt_size, fmt_time
from ui.files.lettering import Lettering
from ui.player.payload import whole
from ui.stage.lines import SIZES, along
from ui.stage.palette import BLOCKS, IDLE, LOAD, MANY, SIGN, ink_on
from ui.text import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ui.stage.frames import Block, Film
    from ui.stage.geometry import Ground

PALETTE = BLOCKS
SHADES = LinearSegmentedColormap.from_list("load", LOAD)
SIDE, LEAST_SIDE, NAMED_SIDE = 0.38, 0.1, 0.24
"""Device widths across the largest block, across the smallest at least, and from which on one has its name."""
MOST_ROWS, MOST_WORDS, MOST_NAMED, MOST_LABELS, MOST_MESSAGES = 32, 24, 80, 300, 20_000
CHINESE = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Microsoft YaHei",
)


SNAPPED = 200
"""Rectangles of a shape, at most: of one with more corners the renderer does not put edges on whole pixels."""
Bar = tuple[float, float, float, float, str, float]
"""x, y, width, height, colour and opacity of a rectangle."""


@cache
def fonts(language: str) -> list[str]:
    """Font families that are here and have the language's characters, matplotlib's own last."""
    here = {entry.name for entry in fontManager.ttflist}
    return [*(name for name in CHINESE if language == "zh" and name in here), "DejaVu Sans"]


@dataclass(frozen=True)
class Look:
    """Ink and paper."""

    ink: str = "#31333f"
    paper: str = "#ffffff"
    panel: str = "#f4f5f7"


LIGHT, DARK = Look(), Look("#fafafa", "#0e1117", "#1c1e27")


def rows_of(film: "Film") -> int:
    """How many ranks' holdings stand beside a picture."""
    return min(film.trace.schedule.n, MOST_ROWS) if film.full else 0


LARGE = 11.5
"""Points of a sentence that has room."""


def stage(film: "Film", here: "Ground", width: float, look: Look) -> Figure:
    """A page with lines on which nothing flows and what is below them; there is room for what each rank holds."""
    figure = sheet(film, width, look, [2.2, 1.0] if rows_of(film) else [1.0, 1e-3])
    axes = figure.axes[0]
    frames = [_rounded(box.x, box.y, box.width, box.height, 0.12) for box in here.boxes]
    axes.add_collection(PathCollection(frames, facecolors=look.panel, edgecolors="none", zorder=0), autolim=False)
    axes.add_collection(LineCollection(here.lines, colors=look.ink, linewidths=0.9, alpha=0.16), autolim=False)
    corners = [(box.x + far * box.width, box.y + far * box.height) for box in here.boxes for far in (0, 1)]
    middles = np.stack([here.x, here.y], axis=1)
    around = np.array([1.0, 0.6])
    reach = np.concatenate([middles - around, middles + around, *here.lines, np.reshape(corners, (-1, 2))])
    (left, top), (right, bottom) = reach.min(axis=0), reach.max(axis=0)
    axes.set_xlim(left - 0.1, right + 0.1)
    axes.set_ylim(bottom + 0.1, top - 0.1)
    axes.set_aspect("equal")
    return figure


def standing(figure: Figure, film: "Film", here: "Ground", t: float, look: Look) -> None:
    """All of a stage but the blocks on their way."""
    say_now(figure, film, t, look)
    left, right = figure.axes
    ground(left, film, here, t, look)
    if rows_of(film):
        holdings(right, film, t, look, rows_of(film))


def stays(film: "Film", here: "Ground", t: float) -> Hashable:
    """What a stage without its blocks depends on."""
    troubles = tuple((spell.link, spell.bandwidth) for spell in film.troubled(t))
    return holds(film, t), film.loads(t, here).round(3).tobytes(), troubles


def holds(film: "Film", t: float) -> Hashable:
    """What the sentence and what ranks hold depend on."""
    return film.caption(t), film.landed(t)


def sheet(film: "Film", width: float, look: Look, ratios: list[float]) -> Figure:
    """A page with its title and two axes."""
    trace = film.trace
    figure = Figure(figsize=(width, width * 0.5625), facecolor=look.paper, dpi=100)
    axes = figure.subplots(1, 2, width_ratios=ratios)
    figure.subplots_adjust(left=0.05, right=0.985, top=0.83, bottom=0.06, wspace=0.04)
    size = f" · {fmt_size(trace.size)}" if trace.size else ""
    title = f"{trace.schedule.name} · {trace.topology.name}{size}"
    _line(figure, film, title, look, fontsize=15, weight="bold")
    for each in axes:
        each.set_facecolor(look.paper)
        each.set_axis_off()
        each.tick_params(colors=look.ink, labelsize=8)
        each.yaxis.label.set_color(look.ink)
        for spine in each.spines.values():
            spine.set_visible(False)
    return figure


def say_now(figure: Figure, film: "Film", t: float, look: Look) -> None:
    """The sentence of an instant, below the title, as large as it fits."""
    said = film.caption(t)
    size = _fitted(said, tuple(fonts(film.language)), float(figure.bbox.width), float(figure.dpi))
    _line(figure, film, said, look, at=(0.02, 0.885), fontsize=size)


def _line(
    figure: Figure, film: "Film", text: str, look: Look, *, at: tuple[float, float] = (0.02, 0.945), **style: Any
) -> None:
    """A line of the page's head; `at` is a share of its width and of its height."""
    line = Lettering(3)
    line.set_transform(figure.transFigure)
    figure.add_artist(line)
    line.add(*at, text, {"color": look.ink, "family": fonts(film.language)} | style)


@lru_cache(maxsize=1024)
def _fitted(text: str, family: tuple[str, ...], width: float, dpi: float) -> float:
    """Points at which a sentence ends on a page so many pixels wide."""
    figure = Figure(figsize=(width / dpi, 1), dpi=dpi)
    said = figure.text(0, 0, text, fontsize=LARGE, family=list(family))
    canvas: Any = FigureCanvasAgg(figure)
    renderer, room = canvas.get_renderer(), 0.96 * width
    while (across := said.get_window_extent(renderer).width) > room:  # letters grow by whole pixels
        said.set_fontsize(0.98 * float(said.get_fontsize()) * room / across)
    return float(said.get_fontsize())


def tell_time(figure: Figure, film: "Film", t: float, look: Look) -> None:
    """The instant, and when all has ended."""
    trace = film.trace
    clock = f"{fmt_time(t - trace.began)} / {fmt_time(trace.time)}"
    _line(figure, film, clock, look, at=(0.98, 0.945), fontsize=12, ha="right")


def passing(figure: Figure, film: "Film", blocks: Sequence["Block"], t: float, look: Look) -> None:
    """What is at another place in every instant: blocks and the clock."""
    tell_time(figure, film, t, look)
    paint_blocks(figure.axes[0], blocks, look)


def colour_of(block: int) -> str:
    """The colour of a block."""
    return PALETTE[block % len(PALETTE)]


def ground(axes: "Axes", film: "Film", here: "Ground", t: float, look: Look) -> None:
    """Devices, and the lines between them that are busy, as full as they are."""
    names = _words(axes, 3)
    style = {"fontsize": 7.5, "color": look.ink, "alpha": 0.6, "va": "center", "weight": "bold"}
    for box in here.boxes:
        names.add(box.x + 0.3, box.y + (box.height - 0.28 if box.side else 0.28), box.label, style)
    loads = film.loads(t, here)
    busy = loads > IDLE
    full = [line for line, full in zip(here.lines, busy, strict=True) if full]
    shades = SHADES(np.minimum(1, loads[busy]))
    axes.add_collection(LineCollection(full, colors=shades, linewidths=2.4, capstyle="round"), autolim=False)
    _devices(axes, film, here, t, look)
    _marks(axes, film, here, t, look)


def _marks(axes: "Axes", film: "Film", here: "Ground", t: float, look: Look) -> None:
    """On links that cannot carry what the machine says: what is left of it."""
    lines = {here.link(line): line for line in range(len(here.lines))}
    for spell in film.troubled(t):
        if spell.link not in lines:
            continue
        share = spell.bandwidth / float(film.trace.topology.bandwidth[spell.link])
        frame = {"boxstyle": "round,pad=0.3", "fc": look.paper, "ec": look.ink}
        style: dict[str, Any] = {"color": look.ink, "ha": "center", "va": "center", "weight": "bold", "zorder": 8}
        x, y = along(here.lines[lines[spell.link]], SIGN)
        axes.text(x, y, fmt_share(share) if share else "×", fontsize=6.5, bbox=frame, **style)


@lru_cache(maxsize=1024)
def _frame(x: float, y: float, width: float, height: float, radius: float) -> Path:
    """The same for what stands where it is in every frame."""
    return _rounded(x, y, width, height, radius)


def _rounded(x: float, y: float, width: float, height: float, radius: float) -> Path:
    """The outline of a rectangle with round corners."""
    outline = _outline(width, height, radius)
    return Path(outline.vertices + np.array([x, y]), outline.codes)


@lru_cache(maxsize=256)
def _outline(width: float, height: float, radius: float) -> Path:
    return FancyBboxPatch((0, 0), width, height, boxstyle=f"round,pad=0,rounding_size={radius}").get_path()


def _words(axes: "Axes", zorder: float) -> Lettering:
    """Words to be, at places of the data."""
    words = Lettering(zorder)
    axes.add_artist(words)
    words.set_clip_path(None)
    return words


def _bars(axes: "Axes", bars: list[Bar], zorder: float) -> None:
    """Many rectangles at once, none upon another: faint ones first, those of a colour as one shape."""
    alike: dict[tuple[float, str], list[Bar]] = {}
    for bar in bars:
        alike.setdefault((bar[5], bar[4]), []).append(bar)
    shapes, colours = [], []
    for (alpha, colour), group in sorted(alike.items()):
        x, y, width, height = np.array([bar[:4] for bar in group]).T
        corners = np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]]).transpose(2, 0, 1)
        for k in range(0, len(group), SNAPPED):
            shapes.append(Path.make_compound_path_from_polys(corners[k : k + SNAPPED]))
            colours.append(to_rgba(colour, alpha))
    axes.add_collection(PathCollection(shapes, facecolors=colours, linewidths=0, zorder=zorder), autolim=False)


def _devices(axes: "Axes", film: "Film", here: "Ground", t: float, look: Look) -> None:
    held = film.held(t) if film.full else None
    frames: list[Path] = []
    paint: list[tuple[str, float]] = []
    bars: list[Bar] = []
    names = _words(axes, 4)
    middle = {"color": look.ink, "ha": "center", "va": "center", "fontsize": 6.5, "family": fonts(film.language)}
    bold, normal = middle | {"weight": "bold"}, middle | {"weight": "normal"}
    for i, (x, y, kind, device, rank) in enumerate(
        zip(here.x, here.y, here.kinds, here.names, here.ranks, strict=True)
    ):
        width, height = here.bars.get(i, SIZES[kind][0]), SIZES[kind][1]
        paint.append((look.paper, 1.1) if rank >= 0 else (look.panel, 0.4))
        frames.append(_frame(x - width / 2, y - height / 2, width, height, 0.1))
        if len(here.kinds) > MOST_NAMED:
            continue
        name = say("caption.rank", film.language, ranks=rank).strip() if rank >= 0 else device
        lower = height * 0.26 if rank >= 0 else 0
        names.add(x, y - lower, name, bold if rank >= 0 else normal)
        if rank >= 0 and held is not None:
            bars += _strip(held.block[rank], held.count[rank], whole(film.trace.schedule), x, y)
    fills, lines = [fill for fill, _ in paint], [line for _, line in paint]
    style: dict[str, Any] = {"facecolors": fills, "edgecolors": look.ink, "linewidths": lines, "zorder": 3}
    axes.add_collection(PathCollection(frames, **style), autolim=False)
    _bars(axes, bars, 4)


def _strip(block: Any, count: Any, full: int, x: float, y: float) -> list[Bar]:
    """A rank's slots in small: colour is the block, height how many contributions are in."""
    shown = min(len(block), MOST_WORDS)
    cell, high = 1.0 / shown, 0.42
    bars: list[Bar] = []
    for slot in range(shown):
        if block[slot] != NOTHING:
            left, colour = x - 0.5 + slot * cell, colour_of(int(block[slot]))
            bars.append((left, y + 0.42, cell * 0.88, -high, colour, 0.25))
            bars.append((left, y + 0.42, cell * 0.88, -high * min(1.0, float(count[slot]) / full), colour, 1.0))
    return bars


def paint_blocks(axes: "Axes", blocks: Sequence["Block"], look: Look) -> None:
    """Blocks with their names, or dots where there are very many."""
    if len(blocks) > MANY:
        axes.scatter(
            [b.x for b in blocks],
            [b.y for b in blocks],
            s=[max(1.0, 4 * b.side**2) for b in blocks],
            c=[colour_of(b.number) for b in blocks],
            zorder=6,
        )
        return
    sides = [max(LEAST_SIDE, SIDE * b.side) for b in blocks]
    frames = [
        _rounded(b.x - side / 2, b.y - side / 2, side, side, side / 5) for b, side in zip(blocks, sides, strict=True)
    ]
    fills = [colour_of(b.number) for b in blocks]
    style: dict[str, Any] = {"facecolors": fills, "edgecolors": look.ink, "linewidths": 0.8, "zorder": 6}
    axes.add_collection(PathCollection(frames, **style), autolim=False)
    labels = _words(axes, 7)
    for b, side in zip(blocks, sides, strict=True):
        if side < NAMED_SIDE:
            continue
        style = {"color": ink_on(colour_of(b.number)), "ha": "center", "va": "center", "weight": "bold"}
        labels.add(b.x, b.y, b.label, style | {"fontsize": 7 if len(b.label) < 3 else 5})


def holdings(axes: "Axes", film: "Film", t: float, look: Look, rows: int) -> None:
    """Ranks down, slots across: the block in every place, filled as far as contributions are in."""
    held, complete = film.held(t), whole(film.trace.schedule)
    columns = min(held.block.shape[1], MOST_ROWS)
    labelled = columns * rows <= MOST_LABELS
    bars: list[Bar] = []
    names = _words(axes, 3)
    inks = {
        ink: {"color": ink, "ha": "center", "va": "center", "fontsize": 6.5}
        for ink in (look.ink, *map(ink_on, PALETTE))
    }
    for rank in range(rows):
        for slot in range(columns):
            number = int(held.block[rank, slot])
            if number == NOTHING:
                continue
            share, colour = min(1.0, float(held.count[rank, slot]) / complete), colour_of(number)
            bars.append((slot, rank, 0.94, 0.92, colour, 0.22))
            bars.append((slot, rank + 0.92, 0.94, -0.92 * share, colour, 1.0))
            if labelled and len(film.name(number)) < 4:
                style = inks[ink_on(colour) if share > 0.6 else look.ink]
                names.add(slot + 0.47, rank + 0.46, film.name(number), style)
    _bars(axes, bars, 1)
    title = say("figure.holds", film.language)
    head = {"color": look.ink, "weight": "bold", "va": "bottom", "family": fonts(film.language), "fontsize": 9}
    names.add(0, -0.35, title, head)
    axes.set_xlim(-0.6, max(columns, 4))
    axes.set_ylim(max(rows, 4), -1.1)
