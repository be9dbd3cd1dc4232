"""The lab's answers as figures of print quality: maps, curves, tornados, bars."""

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ops.lab.sensitivity import Loss, Swing
from ops.lab.winners import WinnerMap
from sim.units import fmt_bandwidth, fmt_size, fmt_time
from ui.layout.palette import BLOCKS as PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 24
ENDINGS = ("png", "svg", "pdf")
MARKS = "os^Dv<>PX*"

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""By name, x and y."""


def colours(count: int) -> list[str]:
    """As many as asked for; beyond the palette, tints of it."""
    return [PALETTE[k % len(PALETTE)] + ("" if k < len(PALETTE) else "90") for k in range(count)]


def winners(places: WinnerMap, title: str) -> Figure:
    """Sizes across, ranks up, every cell in its winner's colour with how much longer the runner-up takes."""
    first = places.winners
    cells = np.array(
        [[first.index(name) if (name := places.winner(n, s)) else -1 for s in places.sizes] for n in places.ranks]
    )
    figure, axes = _figure(title, 1.6 + 0.62 * len(places.sizes), 1.9 + 0.42 * len(places.ranks))
    paint = ListedColormap(["#ffffff", *colours(len(first))])
    axes.imshow(cells, origin="lower", aspect="auto", cmap=paint, vmin=-1.5, vmax=len(first) - 0.5)
    for r, n in enumerate(places.ranks):
        for s, size in enumerate(places.sizes):
            margin = places.margin(n, size)
            if math.isfinite(margin):
                axes.text(s, r, f"{min(margin, 99):.3g}", ha="center", va="center", fontsize=7)
    axes.set_xticks(range(len(places.sizes)), [fmt_size(size) for size in places.sizes], rotation=45, ha="right")
    axes.set_yticks(range(len(places.ranks)), [str(n) for n in places.ranks])
    axes.set_xlabel("size")
    axes.set_ylabel("ranks")
    legend = [Patch(color=colour, label=name) for name, colour in zip(first, colours(len(first)), strict=True)]
    axes.legend(handles=legend, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8)
    return figure


def bandwidths(curves: Curves, title: str) -> Figure:
    """Bus bandwidth (B/s) against size, as nccl-tests' tables are drawn."""
    figure = _lines(curves, title)
    axes = figure.axes[0]
    axes.set_xlabel("size")
    axes.set_ylabel("bus bandwidth")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: fmt_size(x) if x > 0 else ""))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: fmt_bandwidth(y)))
    axes.set_ylim(bottom=0)
    return figure


def scaling(curves: Curves, title: str) -> Figure:
    """Time (s) against the number of ranks."""
    figure = _lines(curves, title)
    axes = figure.axes[0]
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda y, _: fmt_time(y)))
    ticks = sorted({x for xs, _ in curves.values() for x in xs})
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("ranks")
    axes.set_ylabel("time")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: fmt_time(y)))
    return figure


def tornado(plain: float, swings: Sequence[Swing], factor: float, title: str) -> Figure:
    """The largest swings on top, bars from the run's own time to what it becomes."""
    shown = [swing for swing in swings if swing.range > 0][:MOST_BARS] or list(swings[:1])
    figure, axes = _figure(title, 9.0, 1.5 + 0.34 * max(2, len(shown)))
    at = np.arange(len(shown))[::-1]
    for times, colour, label in (
        ([swing.slower for swing in shown], PALETTE[3], f"{factor:g} times slower"),
        ([swing.faster for swing in shown], PALETTE[0], f"{factor:g} times faster"),
    ):
        axes.barh(at, np.array(times) - plain, left=plain, color=colour, height=0.62, label=label)
    axes.set_yticks(at, [f"{swing.name}: {swing.what}" for swing in shown], fontsize=8)
    axes.axvline(plain, color="#333333", linewidth=0.8)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: fmt_time(x)))
    axes.set_xlabel("time")
    axes.legend(frameon=False, fontsize=8)
    return figure


def failures(plain: float, losses: Sequence[Loss], title: str) -> Figure:
    """How many times as long the run takes without each cable; hatched bars never end."""
    shown = losses[:MOST_BARS]
    figure, axes = _figure(title, 9.0, 1.5 + 0.3 * max(2, len(shown)))
    ends = [loss.time / plain for loss in shown if loss.time is not None and plain > 0]
    longest = 1.1 * max([1.0, *ends])
    at = np.arange(len(shown))[::-1]
    for y, loss in zip(at, shown, strict=True):
        if loss.time is None:
            axes.barh(y, longest, color="#ffffff", edgecolor=PALETTE[3], hatch="///", height=0.62)
            axes.text(longest / 2, y, "never ends", ha="center", va="center", fontsize=8)
        else:
            axes.barh(y, loss.time / plain, color=PALETTE[0], height=0.62)
            axes.text(loss.time / plain, y, f" {loss.time / plain:.3g} x", va="center", fontsize=7)
    axes.axvline(1.0, color="#333333", linewidth=0.8)
    axes.set_yticks(at, [loss.name for loss in shown], fontsize=8)
    axes.set_xlabel("time without it, times the time with it")
    return figure


def write(figure: Figure, ending: str) -> bytes:
    """The figure as the bytes of a .png, .svg or .pdf."""
    data = io.BytesIO()
    figure.savefig(data, format=ending, dpi=150, bbox_inches="tight")
    return data.getvalue()


def _figure(title: str, width: float, height: float) -> tuple[Figure, "Axes"]:
    """Paper of so many inches, and the axes on it."""
    figure = Figure(figsize=(min(width, 24.0), min(height, 24.0)), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _lines(curves: Curves, title: str) -> Figure:
    figure, axes = _figure(title, 9.0, 5.0)
    for k, (name, (x, y)) in enumerate(curves.items()):
        colour = PALETTE[k % len(PALETTE)]
        axes.plot(x, y, color=colour, marker=MARKS[k % len(MARKS)], markersize=4, linewidth=1.4, label=name)
    axes.set_xscale("log", base=2)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False, fontsize=8)
    return figure
