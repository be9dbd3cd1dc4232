"""Pictures of results for a cell of a notebook: a still of a run, the timeline of a step, a chart of transfers."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ops.run import Run
from ops.run.part import shown
from ops.run.transfers import columns
from ops.training.step import TrainingStep
from sim.trace import Trace
from sim.units import TimeScale
from ui.charts import training
from ui.drawing.frames import Film
from ui.drawings import still
from ui.layout.palette import BLOCKS, LIGHT
from ui.notebook.stills import image
from ui.player.views import FIRST
from ui.text import ENGLISH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 20_000
"""Transfers up to which a run has a picture below its table."""
ROWS = 8
"""Ranks of a training step that are drawn."""
WIDTH = 9.6
"""Inches."""


def run(what: Run) -> str:
    """Return a still of the middle of a run as HTML; empty where the run is too long for one."""
    if what.is_written_out and what.timing.messages > MOST:
        return ""
    trace = shown(what)
    if trace.schedule.transfers > MOST:
        return ""
    film, middle = Film(trace, ENGLISH), trace.began + trace.time / 2
    return image(still(FIRST, film, middle, WIDTH, LIGHT), film.caption(middle))


def step(what: TrainingStep) -> str:
    """Return the timeline of a training step as HTML."""
    words = training.texts_of(what, ENGLISH)
    return str(training.timeline(what, range(min(what.ranks, ROWS)), (0.0, what.time), words))


def plot(trace: Trace, ax: "Axes | None" = None) -> "Axes":
    """Draw when every transfer flowed, a row for each sender and a colour for each step; return the axes."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(WIDTH, 4))[1]
    table = columns(trace)
    places, row = np.unique(table["src"], return_inverse=True)
    scale = TimeScale.of(trace.time)
    start, wide = table["start_s"] / scale.scale, (table["end_s"] - table["start_s"]) / scale.scale
    lane, lanes = _lanes(row, table["start_s"], table["end_s"])
    height = 0.8 / lanes[row]
    colours = [BLOCKS[k % len(BLOCKS)] for k in (table["step"] - 1).tolist()]
    ax.barh(row - 0.4 + (lane + 0.5) * height, wide, height, start, color=colours, edgecolor="white", linewidth=0.3)
    devices = dict(zip(table["src"].tolist(), table["src_device"].tolist(), strict=True))
    ax.set_yticks(range(len(places)), [f"{place} ({devices[place]})" for place in places.tolist()])
    ax.invert_yaxis()
    ax.set(
        xlim=(0, trace.time / scale.scale),
        title=f"{trace.schedule.name} on {trace.topology.name}",
        xlabel=f"time ({scale.unit})",
        ylabel="sender",
    )
    return ax


def _lanes(row: Any, start: Any, end: Any) -> tuple[Any, Any]:
    """The lane of every bar within its row, so that bars lie beside each other, and how many lanes each row has."""
    lane = np.zeros(len(row), np.int64)
    free: dict[int, list[float]] = {}
    for i in np.lexsort((start, row)).tolist():
        ends = free.setdefault(int(row[i]), [])
        lane[i] = next((k for k, until in enumerate(ends) if until <= start[i]), len(ends))
        ends[lane[i] : lane[i] + 1] = [float(end[i])]
    return lane, np.array([len(free[k]) for k in sorted(free)], np.int64)
