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
        self._settled: Any = None

    def frame(self, t: float) -> Pixels:
        """The picture of an instant."""
        state = self._draws.state(self._film, t)
        if self._settled is None or state != self._state:
            self._settle(t)
            self._state = state
        else:
            self._canvas.restore_region(self._settled)
        before = {*self._artists()}
        self._draws.moving(self._figure, self._film, t, self._look)
        new = [artist for artist in self._artists() if artist not in before]
        for artist in sorted(new, key=lambda artist: artist.get_zorder()):
            artist.draw(self._canvas.get_renderer())
        for artist in new:
            artist.remove()
        pixels: Pixels = np.array(self._canvas.buffer_rgba())
        return pixels

    def _settle(self, t: float) -> None:
        for artist in [artist for artist in self._artists() if artist not in self._own]:
            artist.remove()
        self._draws.settled(self._figure, self._film, t, self._look)
        self._canvas.draw()
        self._settled = self._canvas.copy_from_bbox(self._figure.bbox)

    def _artists(self) -> Iterator[Artist]:
        """Everything on the page, in the order in which it came."""
        yield from self._figure.artists
        for axes in self._figure.axes:
            yield from axes.get_children()
