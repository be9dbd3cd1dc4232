"""Messages over time: ranks downwards, a line for every message from where it leaves to where it has arrived."""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from sim.units import fmt_time
from ui.files.figures import LIGHT, MOST_MESSAGES, Look, colour_of, sheet
from ui.stage.frames import Film
from ui.text import say


def draw(film: Film, t: float | None = None, *, width: float = 12.8, look: Look = LIGHT) -> Figure:
    """Up to an instant, or the whole run."""
    trace = film.trace
    now = trace.ended if t is None else t
    figure, (axes, _) = sheet(film, now, width, look, [1.0, 1e-3])
    away = np.nonzero((trace.schedule.src != trace.schedule.dst) & (trace.ready <= now))[0][:MOST_MESSAGES]
    ends = [[(trace.ready[i], trace.schedule.src[i]), (trace.end[i], trace.schedule.dst[i])] for i in away.tolist()]
    first = trace.schedule.moves[away]
    numbers = (
        film.contents.block[np.minimum(first, len(film.contents.block) - 1)] if len(film.contents.block) else first
    )
    colours = [colour_of(int(number)) for number in numbers]
    arrows = LineCollection(ends, colors=colours, linewidths=max(0.4, min(1.8, 60 / max(1, trace.schedule.n))))
    axes.add_collection(arrows)
    axes.plot([end[1][0] for end in ends], [end[1][1] for end in ends], ".", color=look.ink, markersize=2.5)
    places = range(trace.schedule.places)
    axes.set_yticks([p for p in places if p % max(1, len(places) // 24) == 0])
    axes.set_ylim(len(places) - 0.5, -0.5)
    axes.set_xlim(trace.began, max(trace.ended, trace.began + 1e-12))
    for spell in film.spells:
        axes.axvspan(spell.begin, spell.end, 0, 0.012, color=look.ink, linewidth=0)
    axes.axvline(now, color=look.ink, linewidth=0.8, alpha=0.5)
    axes.xaxis.set_major_formatter(lambda seconds, _: fmt_time(float(seconds)))
    axes.set_ylabel(say("figure.rank", film.language))
    axes.set_axis_on()
    axes.grid(axis="y", color=look.ink, alpha=0.12, linewidth=0.6)
    return figure
