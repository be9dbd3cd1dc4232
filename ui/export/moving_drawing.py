"""A film as a drawing that moves by itself: what stays is drawn when it changes, what moves for every frame."""

import io
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import groupby

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from sim.errors import InputError
from ui.drawing.frames import Film
from ui.drawings import drawing, settle
from ui.layout.palette import Look

LARGEST = 64_000_000
"""Characters that browsers open."""
LAST = 1.0
"""Seconds for which the end stays, before all begins again."""
LEAST = 60
"""Characters that are worth a name."""
_WHOLE = re.compile(r"<svg[^>]*?viewBox=\"(?P<box>[^\"]+)\"[^>]*>(?P<inside>.*)</svg>", re.DOTALL)
_LEAF = re.compile(r"<g(?: [^>]*)?>(?:(?!</?g\b).)*</g>", re.DOTALL)
_NO_USE = re.compile(r"<metadata>.*?</metadata>|<defs>\s*<style[^>]*>.*?</style>\s*</defs>|<!--.*?-->|\n", re.DOTALL)


class MovingDrawing:
    """Layers of a film of a view, `width` inches wide: one for each stretch of it in which nothing but blocks moves."""

    def __init__(self, film: Film, view: str, width: float, look: Look) -> None:
        self._film, self._look, self._view, self._draws = film, look, view, drawing(view)
        self._figure: Figure = self._draws.page(film, width, look)
        self._own = set(self._artists())
        self.box = ""

    def state(self, t: float) -> Hashable:
        """What the layer of an instant depends on, its blocks aside."""
        return tuple(part.state(self._film, t) for part in self._draws.PARTS)

    def settled(self, t: float) -> str:
        """All of an instant but its blocks."""
        for artist in [artist for artist in self._artists() if artist not in self._own]:
            artist.remove()
        settle(self._view, self._figure, self._film, t, self._look)
        return self._inside(self._look.paper)

    def moving(self, t: float) -> str:
        """The blocks of an instant; call `settled` first."""
        still = [artist for artist in self._artists() if artist.get_visible()]
        before = {*self._artists()}
        self._draws.moving(self._figure, self._film, t, self._look)
        for artist in still:
            artist.set_visible(False)
        drawn = self._inside("none")
        for artist in still:
            artist.set_visible(True)
        for artist in [artist for artist in self._artists() if artist not in before]:
            artist.remove()
        return drawn

    def _inside(self, paper: str) -> str:
        out = io.StringIO()
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ringside"}):
            self._figure.savefig(out, format="svg", dpi=100, facecolor=paper, metadata={"Date": None})
        match = _WHOLE.search(out.getvalue())
        assert match, "an SVG has a box and something in it"
        self.box = match["box"]
        return re.sub(r'<g id="[^"]*"', "<g", _NO_USE.sub("", match["inside"]))

    def _artists(self) -> Iterator[Artist]:
        yield from self._figure.artists
        for axes in self._figure.axes:
            yield from axes.get_children()


class Sheaf:
    """Layers of a drawing, in which whatever is drawn again is drawn once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.size = 0

    def layer(self, drawn: str, begin: float, until: float) -> str:
        """What is shown from one second on until another, over and over."""
        inside = _LEAF.sub(self._once, drawn)
        show = f'<set attributeName="display" to="inline" begin="all.begin+{begin:.3f}s" dur="{until - begin:.3f}s"/>'
        text = f'<g display="none">{show}{inside}</g>'
        self.size += len(text)
        if self.size > LARGEST:
            raise InputError("export.too_large", megabytes=LARGEST / 1000000.0)
        return text

    def _once(self, match: re.Match[str]) -> str:
        leaf = match[0]
        if len(leaf) < LEAST or leaf in self._names:
            return f'<use href="#{self._names[leaf]}"/>' if leaf in self._names else leaf
        name = self._names[leaf] = f"k{len(self._names)}"
        return f'<g id="{name}">{leaf}</g>'


def svg(drawing: MovingDrawing, times: Sequence[float], fps: int, progress: Callable[[int], None]) -> str:
    """All frames as one drawing that plays by itself; `progress` is called with the number of each.

    Raises InputError where it gets too large.
    """
    frame, count, sheaf = 1 / fps, len(times), Sheaf()
    length, parts, k = (count - 1) * frame + LAST, [], 0
    for _, group in groupby(times, drawing.state):
        instants = list(group)
        ends = k + len(instants)
        until = length if ends == count else ends * frame
        parts.append(sheaf.layer(drawing.settled(instants[0]), k * frame, until))
        for t in instants:
            k += 1
            parts.append(sheaf.layer(drawing.moving(t), (k - 1) * frame, length if k == count else k * frame))
            progress(k)
    clock = f'<animate id="all" attributeName="opacity" values="1" begin="0s;all.end" dur="{length:.3f}s"/>'
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return "".join([f'<svg {names} viewBox="{drawing.box}"><g>{clock}</g>', *parts, "</svg>"])
