"""The algorithm: every rank where its own shape puts it; the machine where that would be a smudge."""

from collections.abc import Hashable

from matplotlib.figure import Figure

from ui.files.figures import Look, passing, stage, standing, stays
from ui.stage.frames import Film


def page(film: Film, width: float, look: Look) -> Figure:
    """A picture and its margin."""
    return stage(film, film.shape, width, look)


def state(film: Film, t: float) -> Hashable:
    """Loads, holdings and the sentence."""
    return stays(film, film.shape, t)


def settled(figure: Figure, film: Film, t: float, look: Look) -> None:
    """Devices and links, and what each rank holds."""
    standing(figure, film, film.shape, t, look)


def moving(figure: Figure, film: Film, t: float, look: Look) -> None:
    """Blocks on their way."""
    passing(figure, film, film.blocks(t, film.shape), t, look)
