"""The machine with every block on its way, and what each rank holds."""

from matplotlib.figure import Figure

from ui.files.figures import LIGHT, Look, stage
from ui.stage.frames import Film


def draw(film: Film, t: float, *, width: float = 12.8, look: Look = LIGHT) -> Figure:
    """At an instant."""
    return stage(film, film.machine, t, width, look)
