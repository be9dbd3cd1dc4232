"""Frames of a film: what stays is drawn when it changes, what moves on top of it in every frame."""

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import NDArray

from ui.drawings import drawing
from ui.files.figures import Look
from ui.stage.frames import Film

Pixels = NDArray[np.uint8]
"""`[row, column, rgba]`, of which all are opaque."""


class Reel:
    """One page for all frames of a film of a view, `width` inches wide."""

    def __init__(self, film: Film, view: str, width: float, look: Look) -> None:
        self._film, self._look, self._draws = film, look, drawing(view)
        self._figure = self._draws.page(film, width, look)
        self._canvas: Any = FigureCanvasAgg(self._figure)
        self._own = set(self._artists())
        self._state: Hashable = None
        self._paper: Any = None
        self._settled: Any = None

    def frame(self, t: float) -> Pixels:
        """The picture of an instant."""
        state = self._draws.state(self._film, t)
        if self._settled is None or state != self._state:
            self._settle(t)
            self._state = state
        else:
            self._canvas.restore_region(self._settled)
        self._draws.moving(self._figure, self._film, t, self._look)
        self._paint()
        pixels: Pixels = np.array(self._canvas.buffer_rgba())
        return pixels

    def _settle(self, t: float) -> None:
        if self._paper is None:  # empty, once all has its place: where axes end up depends on what is in them
            self._draws.settled(self._figure, self._film, t, self._look)
            self._canvas.draw()
            self._clear()
            self._canvas.draw()
            self._paper = self._canvas.copy_from_bbox(self._figure.bbox)
        self._canvas.restore_region(self._paper)
        self._draws.settled(self._figure, self._film, t, self._look)
        self._paint()
        self._settled = self._canvas.copy_from_bbox(self._figure.bbox)

    def _paint(self) -> None:
        """Draw what has come onto the page, axes before the figure as the page itself would, and take it away."""
        renderer = self._canvas.get_renderer()
        for group in (*(axes.get_children() for axes in self._figure.axes), self._figure.artists):
            new = [artist for artist in group if artist not in self._own]
            for artist in sorted(new, key=lambda artist: artist.get_zorder()):
                artist.draw(renderer)
        self._clear()

    def _clear(self) -> None:
        for artist in [artist for artist in self._artists() if artist not in self._own]:
            artist.remove()

    def _artists(self) -> Iterator[Artist]:
        """Everything on the page, in the order in which it came."""
        yield from self._figure.artists
        for axes in self._figure.axes:
            yield from axes.get_children()
