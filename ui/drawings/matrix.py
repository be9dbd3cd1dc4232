"""What each rank holds, and every block on its way from the place that holds it to the one that will."""

from matplotlib.figure import Figure

from ui.drawing.figure_holdings import GUTTER, columns_of, head_of_holdings, holdings, landed, rows_of
from ui.drawing.figure_stage import ALONE
from ui.drawing.figures import SENTENCE, PagePart, left, passing, sheet, tell_time
from ui.drawing.frames import Film
from ui.layout.palette import Look

WIDEST = 2.2


def page(film: Film, width: float, look: Look) -> Figure:
    """One wide picture."""
    figure = sheet(film, width, look, [1.0, 1e-3])
    if rows_of(film):
        head_of_holdings(figure.axes[0], film, look, _wide(film))
        figure.axes[0].set_aspect("equal", adjustable="box", anchor="NW")
        figure.axes[0].apply_aspect()
    return figure


def _wide(film: Film) -> float:
    """How many times as wide as high places are, so that they fill a page."""
    return min(WIDEST, max(1.0, ALONE * max(rows_of(film), 4) / max(columns_of(film), 4)))


def _draw(figure: Figure, film: Film, t: float, look: Look, since: float | None) -> None:
    """The first rows and columns of a large run."""
    if rows_of(film):
        holdings(figure.axes[0], film, t, look, since, _wide(film))


PARTS = (SENTENCE, PagePart(lambda figure, film: [left(figure)], landed, _draw, adds=True))
"""What each rank holds, and the sentence."""


def moving(figure: Figure, film: Film, t: float, look: Look) -> None:
    """Blocks between places that are drawn."""
    if not film.full:
        tell_time(figure, film, t, look)
        return
    rows, columns = rows_of(film), columns_of(film)
    wide = _wide(film)
    flights = film.flights(t, lambda rank, slot: ((slot + 0.5) * wide - GUTTER / 2, rank + 0.46))
    passing(figure, film, [block for block in flights if block.x < columns * wide and block.y < rows], t, look)
