"""Messages over time: ranks downwards, a line for every message from where it leaves to where it has arrived."""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from sim.units import fmt_time
from ui.drawing.figures import MOST_MESSAGES, SENTENCE, PagePart, left, sheet, tell_time
from ui.drawing.frames import Film, Indices
from ui.layout.palette import Look
from ui.text import say


def page(film: Film, width: float, look: Look) -> Figure:
    """Time across, ranks down."""
    trace = film.trace
    figure = sheet(film, width, look, [1.0, 1e-3], ruled=True)
    axes = figure.axes[0]
    places = range(trace.schedule.places)
    axes.set_yticks([p for p in places if p % max(1, len(places) // 24) == 0])
    axes.set_ylim(len(places) - 0.5, -0.5)
    axes.set_xlim(trace.began, max(trace.ended, trace.began + 1e-12))
    for spell in film.spells:
        axes.axvspan(spell.begin, spell.end, 0, 0.012, color=look.ink, linewidth=0)
    axes.xaxis.set_major_formatter(lambda seconds, _: fmt_time(float(seconds)))
    axes.set_ylabel(say("figure.rank", film.language))
    axes.set_axis_on()
    axes.grid(axis="y", color=look.ink, alpha=0.12, linewidth=0.6)
    return figure


def _draw(figure: Figure, film: Film, t: float, look: Look, since: float | None) -> None:
    """Every message that has left, to where it arrives."""
    trace, axes, away = film.trace, figure.axes[0], _left(film, t)
    ends = [[(trace.left[i], trace.schedule.src[i]), (trace.end[i], trace.schedule.dst[i])] for i in away.tolist()]
    first = trace.schedule.moves[away]
    numbers = (
        film.contents.block[np.minimum(first, len(film.contents.block) - 1)] if len(film.contents.block) else first
    )
    colours = [look.block(int(number)) for number in numbers]
    widths = max(0.4, min(1.8, 60 / max(1, trace.schedule.n)))
    axes.add_collection(LineCollection(ends, colors=colours, linewidths=widths), autolim=False)
    axes.plot(
        [end[1][0] for end in ends],
        [end[1][1] for end in ends],
        ".",
        color=look.ink,
        markersize=2.5,
        scalex=False,
        scaley=False,
    )


PARTS = (SENTENCE, PagePart(lambda figure, film: [left(figure)], lambda film, t: len(_left(film, t)), _draw))
"""Messages, and the sentence."""


def moving(figure: Figure, film: Film, t: float, look: Look) -> None:
    """The instant."""
    tell_time(figure, film, t, look)
    figure.axes[0].axvline(t, color=look.ink, linewidth=0.8, alpha=0.5)


def _left(film: Film, t: float) -> Indices:
    trace = film.trace
    away: Indices = np.nonzero((trace.schedule.src != trace.schedule.dst) & (trace.left <= t))[0][:MOST_MESSAGES]
    return away
