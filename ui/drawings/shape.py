"""The algorithm: every rank where its own shape puts it; the machine where that would be a smudge."""

from matplotlib.figure import Figure

from ui.drawing.figure_stage import lifted, place, stage, standing
from ui.drawing.figures import passing
from ui.drawing.frames import Film
from ui.layout.palette import Look


def page(film: Film, width: float, look: Look) -> Figure:
    """A picture and its margin."""
    return stage(film, place(film, "shape"), width, look)


PARTS = standing("shape")
"""Devices and links, what each rank holds, and the sentence."""


def moving(figure: Figure, film: Film, t: float, look: Look) -> None:
    """Blocks on their way."""
    here = place(film, "shape")
    blocks = film.blocks(t, here, clear=True)
    passing(figure, film, blocks, t, look)
    lifted(figure, film, here, blocks, look)
