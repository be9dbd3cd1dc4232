"""Views as figures, one file for each view of the player that files can show.

A file has `page(film, width, look)`, the paper and its axes; `PARTS`, what stays until it changes, each in a place of
its own; and `moving(figure, film, t, look)`, which draws what never is the same. A film draws a part seldom.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ui.drawing.figures import PagePart
    from ui.drawing.frames import Film
    from ui.layout.palette import Look

DRAWINGS = frozenset(path.stem for path in Path(__file__).parent.glob("*.py")) - {"__init__"}
"""The views that can be drawn; how is loaded when one is, as it takes a while."""


class Drawing(Protocol):
    """What the file of a view has; `width` in inches, `t` in seconds."""

    PARTS: "tuple[PagePart, ...]"

    def page(self, film: "Film", width: float, look: "Look") -> "Figure":
        """Paper and axes."""

    def moving(self, figure: "Figure", film: "Film", t: float, look: "Look") -> None:
        """Draw what moves."""


@cache
def drawing(view: str) -> Drawing:
    """How a view is drawn."""
    return cast(Drawing, import_module(f"{__name__}.{view}"))


def settle(view: str, figure: "Figure", film: "Film", t: float, look: "Look") -> None:
    """Draw all that stays."""
    for part in drawing(view).PARTS:
        part.draw(figure, film, t, look, None)


def still(view: str, film: "Film", t: float, width: float, look: "Look") -> "Figure":
    """A view at an instant, `width` inches wide."""
    figure = drawing(view).page(film, width, look)
    settle(view, figure, film, t, look)
    drawing(view).moving(figure, film, t, look)
    return figure
