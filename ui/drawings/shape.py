"""The algorithm: every rank where its own shape puts it; the machine where that would be a smudge."""

from matplotlib.figure import Figure

from ui.files.figures import LIGHT, Look, stage
from ui.stage.frames import Film


def draw(film: Film, t: float, *, width: float = 12.8, look: Look = LIGHT) -> Figure:
    """At an instant."""
    return stage(film, film.shape, t, width, look)
