"""The player under a cell of JupyterLab or marimo: `show` is all there is to it, and pictures of results as they are.

Once this is imported a run at a cell's end is a table with a still, and `Run.plot` draws. What `show` returns is a
widget, drawn when it is a cell's last line. Its `time` and `view` are the player's: setting them moves it, and they are
what a person has moved it to. A saved notebook keeps a still and a link.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ops.cells import draw_with
from ui.text import ENGLISH

if TYPE_CHECKING:
    from ui.notebook.widgets import MapWidget, RunWidget, TrainingWidget

ADDRESS = "http://localhost:8501/"
"""Where the dashboard is, to which stills link."""
HEIGHT = 460
"""Pixels that the picture of a run takes, with the buttons below it."""


def show(
    what: Any,
    *,
    view: str = "",
    time: float | None = None,
    language: str = ENGLISH,
    height: int = HEIGHT,
    address: str = ADDRESS,
) -> "RunWidget | MapWidget | TrainingWidget":
    """What there is to see of a run, of several on one clock, of a sweep or of a training step.

    | `what` | shows |
    |---|---|
    | a trace, an outcome or a plan | the player; a plan brings the runs beside it |
    | a list of these, or a mapping of names to them | up to four on one clock |
    | a grid, rows of a sweep, their map of winners, or `TABLE.parquet` | the map; `cell` is the one that is chosen |
    | a training step or a plan of one | its timeline |
    | a link of the dashboard, or a file (a plan, a kept run) | what the page shows |

    `time` is in seconds from the run's beginning, `height` in pixels. Raises InputError for what cannot be shown, and
    ImportError where anywidget is missing.
    """
    try:
        from ui.notebook import widgets
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("anywidget", "traitlets"):
            raise
        raise ImportError("a notebook shows nothing without anywidget: run `pip install anywidget`") from None
    from ui.plan.subject import Played, Trained, read

    subject, words = read(what)
    said = dict(words)
    language = said.get("lang", language) if language == ENGLISH else language
    display = widgets.Display(language, address, int(height))
    display.check()
    if isinstance(subject, Played):
        start = float(said.get("t") or 0) if time is None else time
        return widgets.RunWidget(subject, display, view or said.get("view", ""), start)
    if isinstance(subject, Trained):
        return widgets.TrainingWidget(subject, display, time or 0.0)
    return widgets.MapWidget(subject, display)


def _drawn(what: str, *arguments: Any) -> Any:
    """A picture; how it is drawn is loaded with the first one, as that takes a while."""
    return getattr(import_module(f"{__name__}.pictures"), what)(*arguments)


draw_with(**{what: partial(_drawn, what) for what in ("run", "step", "plot")})
