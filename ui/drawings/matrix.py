"""What each rank holds, and every block on its way from the place that holds it to the one that will."""

from matplotlib.figure import Figure

from ui.files.figures import LIGHT, MOST_ROWS, Look, holdings, paint_blocks, sheet
from ui.stage.frames import Film


def draw(film: Film, t: float, *, width: float = 12.8, look: Look = LIGHT) -> Figure:
    """At an instant; the first rows and columns of a large run."""
    rows = min(film.trace.schedule.n, MOST_ROWS) if film.full else 0
    figure, (axes, _) = sheet(film, t, width, look, [1.0, 1e-3])
    if not rows:
        return figure
    holdings(axes, film, t, look, rows)
    columns = min(film.held(t).block.shape[1], MOST_ROWS)
    flights = film.flights(t, lambda rank, slot: (slot + 0.47, rank + 0.46))
    paint_blocks(axes, [block for block in flights if block.x < columns and block.y < rows], look)
    axes.set_aspect("equal", adjustable="box", anchor="NW")
    return figure
