"""What each rank holds, and every block on its way from the place that holds it to the one that will."""

from collections.abc import Hashable

from matplotlib.figure import Figure

from ui.files.figures import MOST_ROWS, Look, holdings, holds, passing, rows_of, say_now, sheet, tell_time
from ui.stage.frames import Film


def page(film: Film, width: float, look: Look) -> Figure:
    """One wide picture."""
    return sheet(film, width, look, [1.0, 1e-3])


def state(film: Film, t: float) -> Hashable:
    """Holdings and the sentence."""
    return holds(film, t)


def settled(figure: Figure, film: Film, t: float, look: Look) -> None:
    """The first rows and columns of a large run."""
    say_now(figure, film, t, look)
    if rows_of(film):
        holdings(figure.axes[0], film, t, look, rows_of(film))
        figure.axes[0].set_aspect("equal", adjustable="box", anchor="NW")


def moving(figure: Figure, film: Film, t: float, look: Look) -> None:
    """Blocks between places that are drawn."""
    if not film.full:
        tell_time(figure, film, t, look)
        return
    rows, columns = rows_of(film), min(film.held(t).block.shape[1], MOST_ROWS)
    flights = film.flights(t, lambda rank, slot: (slot + 0.47, rank + 0.46))
    passing(figure, film, [block for block in flights if block.x < columns and block.y < rows], t, look)
