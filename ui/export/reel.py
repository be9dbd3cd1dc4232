"""Frames of a film: what stays is drawn when it changes, what moves on top of it in every frame."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import NDArray

from ui.drawing.figures import Place
from ui.drawing.frames import Film
from ui.drawings import drawing
from ui.layout.palette import Look

Pixels = NDArray[np.uint8]
"""`[row, column, rgba]`, of which all are opaque."""


class Reel:
    """One page for all frames of a film of a view, `width` inches wide. Quickest in the order of time."""

    def __init__(self, film: Film, view: str, width: float, look: Look) -> None:
        self._film, self._look, self._draws = film, look, drawing(view)
        self._figure = self._draws.page(film, width, look)
        self._own = set(self._artists())
        canvas: Any = FigureCanvasAgg(self._figure)
        canvas.draw()
        self._renderer = canvas.get_renderer()
        self._page: Pixels = np.asarray(canvas.buffer_rgba())
        self._paper = self._page.copy()
        self._shown = -np.inf
        self._places = [part.places(self._figure, film) for part in self._draws.PARTS]
        self._above = [
            [j for j in range(k + 1, len(self._places)) if _overlap(self._places[k], self._places[j])]
            for k in range(len(self._places))
        ]
        self._rewind()

    def frame(self, t: float) -> Pixels:
        """The picture of an instant."""
        if t < self._shown:
            self._rewind()
        for k, part in enumerate(self._draws.PARTS):
            state = part.state(self._film, t)
            if k not in self._states or state != self._states[k]:
                self._settle(k, t)
                self._states[k] = state
        self._shown = t
        self._page[:] = self._settled
        self._draws.moving(self._figure, self._film, t, self._look)
        self._paint()
        return self._page.copy()

    def _rewind(self) -> None:
        """Begin with empty paper."""
        self._settled = self._paper.copy()
        self._states: dict[int, Hashable] = {}
        self._shown = -np.inf

    def _settle(self, k: int, t: float) -> None:
        """Draw a part where it is; what lies upon it stays there."""
        part, again = self._draws.PARTS[k], k in self._states
        start = self._paper if again and not part.adds else self._settled
        for place in self._places[k]:
            self._page[place] = start[place]
        part.draw(self._figure, self._film, t, self._look, self._shown if again and part.adds else None)
        self._paint()
        above = [place for j in self._above[k] if j in self._states for place in self._places[j]]
        kept = [self._settled[place].copy() for place in above]
        for place in self._places[k]:
            self._settled[place] = self._page[place]
        for place, pixels in zip(above, kept, strict=True):
            self._settled[place] = pixels

    def _paint(self) -> None:
        """Draw what has come onto the page, axes before the figure as the page itself would, and take it away."""
        for group in (*(axes.get_children() for axes in self._figure.axes), self._figure.artists):
            new = [artist for artist in group if artist not in self._own]
            for artist in sorted(new, key=lambda artist: artist.get_zorder()):
                artist.draw(self._renderer)
        self._clear()

    def _clear(self) -> None:
        for artist in [artist for artist in self._artists() if artist not in self._own]:
            artist.remove()

    def _artists(self) -> Iterator[Artist]:
        """Everything on the page, in the order in which it came."""
        yield from self._figure.artists
        for axes in self._figure.axes:
            yield from axes.get_children()


def _overlap(some: Sequence[Place], others: Sequence[Place]) -> bool:
    return any(_meet(a[0], b[0]) and _meet(a[1], b[1]) for a in some for b in others)


def _meet(a: slice, b: slice) -> bool:
    last = max(a.start or 0, b.start or 0)
    return all(end is None or last < end for end in (a.stop, b.stop))
