"""What each rank holds, and every block on its way from the place that holds it to the one that will."""

from matplotlib.figure import Figure

from ui.drawing.figure_holdings import columns_of, head_of_holdings, holdings, landed, rows_of
from ui.drawing.figures import SENTENCE, PagePart, left, passing, sheet, tell_time
from ui.drawing.frames import Film
from ui.layout.palette import Look


def page(film: Film, width: float, look: Look) -> Figure:
    """One wide picture."""
    figure = sheet(film, width, look, [1.0, 1e-3])
    if rows_of(film):
        head_of_holdings(figure.axes[0], film, look)
        figure.axes[0].set_aspect("equal", adjustable="box", anchor="NW")
        figure.axes[0].apply_aspect()
    return figure


def _draw(figure: Figure, film: Film, t: float, look: Look, since: float | None) -> None:
    """The first rows and columns of a large run."""
    if rows_of(film):
        holdings(figure.axes[0], film, t, look, since)


PARTS = (SENTENCE, PagePart(lambda figure, film: [left(figure)], landed, _draw, adds=True))
"""What each rank holds, and the sentence."""


def moving(figure: Figure, film: Film, t: float, look: Look) -> None:
    """Blocks between places that are drawn."""
    if not film.full:
        tell_time(figure, film, t, look)
        return
    rows, columns = rows_of(film), columns_of(film)
    flights = film.flights(t, lambda rank, slot: (slot + 0.47, rank + 0.46))
    passing(figure, film, [block for block in flights if block.x < columns and block.y < rows], t, look)
