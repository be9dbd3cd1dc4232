"""Texts of a page as one artist, of which each is drawn once and stamped wherever it stands again."""

import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.transforms import IdentityTransform
from numpy.typing import NDArray

PARTS = 2
"""Of a pixel, each way: stamps are made for as many places between two pixels."""
MOST_STAMPS = 4096
PARTED = re.compile(r"(\d| )")
"""Where a line is parted into what is set at once: its words, and digits, which make most of them new."""

PAIR = "→"
"""What stands between the two of a pair in a name."""

Stamp = tuple[NDArray[np.uint8], int, int]
"""Pixels `[row, column, rgba]` of a text, the lowest row first, and how far its corner is from where it stands."""

Style = Mapping[str, Any]
"""A text's size, colour and sides in matplotlib's words."""

_stamps: dict[Hashable, Stamp] = {}


class Lettering(Artist):
    """Texts at places of an axes' data, or of a figure, in the order in which they are added.

    A film has the same few names in every frame, and the renderer takes a millisecond to set one. Where pixels are
    made, a name or a line's part is kept as it was set first, for every half of a pixel; among shapes it is a text.
    """

    def __init__(self, zorder: float) -> None:
        super().__init__()
        self.set_zorder(zorder)
        self._texts: list[tuple[float, float, str, Style]] = []

    def add(self, x: float, y: float, text: str, style: Style) -> None:
        """A text at a place, in matplotlib's words for its size, colour and sides; `style` stays as it is."""
        self._texts.append((x, y, text, style))

    def texts(self) -> list[Text]:
        """Each as a text of its own, in the pixels of the page."""
        return [
            self._set(x, y, text, style)
            for (x, y), (_, _, text, style) in zip(self._places().tolist(), self._texts, strict=True)
        ]

    def draw(self, renderer: RendererBase) -> None:
        """Draw all of them."""
        if not (self._texts and self.get_visible()):
            return
        if not isinstance(renderer, RendererAgg):
            renderer.open_group("words")
            for artist in self.texts():
                artist.draw(renderer)
            renderer.close_group("words")
            return
        pen = renderer.new_gc()
        looks = {id(style): (renderer.dpi, *map(str, style.items())) for _, _, _, style in self._texts}
        for (x, y), (_, _, text, style) in zip(self._places().tolist(), self._texts, strict=True):
            whole = _is_whole(text, style)
            for ahead, word in [(0.0, text)] if whole else _parts(text, style, renderer.dpi):
                across, up = math.floor((x + ahead) * PARTS + 0.5), math.floor(y * PARTS + 0.5)
                key = across % PARTS, up % PARTS, word, whole, looks[id(style)]
                pixels, left, low = _stamps.get(key) or self._stamp(key, style, renderer)
                renderer.draw_image(pen, across // PARTS + left, up // PARTS + low, pixels)
        pen.restore()

    def _places(self) -> NDArray[np.float64]:
        places: NDArray[np.float64] = self.get_transform().transform([(x, y) for x, y, _, _ in self._texts])
        return places

    def _set(self, x: float, y: float, text: str, style: Style) -> Text:
        artist = Text(x, y, text, transform=IdentityTransform(), parse_math=False, **style)
        figure = self.get_figure()
        assert figure, "what is drawn is on a page"
        artist.set_figure(figure)
        return artist

    def _stamp(self, key: tuple[int, int, str, bool, Hashable], style: Style, page: RendererAgg) -> Stamp:
        """A stamp that is not there yet."""
        across, up, text, whole, _ = key
        if len(_stamps) >= MOST_STAMPS:
            _stamps.clear()
        aligned = style if whole else dict(style) | {"ha": "left"}
        stamp = _stamps[key] = self._drawn(across / PARTS, up / PARTS, text, aligned, page)
        return stamp

    def _drawn(self, across: float, up: float, text: str, style: Style, page: RendererAgg) -> Stamp:
        """A text that stands a part of a pixel off the middle of a sheet."""
        sheet: Any = _sheet(2 * int(page.width), int(page.width), page.dpi)
        x, y = int(sheet.width) // 2, int(sheet.height) // 2
        drawn = self._set(x + across, y + up, text, style)
        drawn.draw(sheet)
        box = drawn.get_window_extent(sheet)
        left, low = max(0, int(box.x0) - 2), max(0, int(box.y0) - 2)
        bottom = int(sheet.height) - low
        inside = np.s_[bottom - int(box.height) - 5 : bottom, left : left + int(box.width) + 5]
        pixels = np.asarray(sheet.buffer_rgba())
        stamp = pixels[inside][::-1].copy()
        pixels[inside] = 0
        return stamp, left - x, low - y


def across(text: str, style: Style, dpi: float) -> float:
    """Pixels that a line takes across, as the sum of its parts, of which each is measured once."""
    look = (tuple(style.get("family", ())), str(style.get("weight", "normal")), float(style["fontsize"]))
    return sum(_measured(part, *look, dpi) for part in PARTED.split(text) if part)


@lru_cache(maxsize=MOST_STAMPS)
def _measured(text: str, family: tuple[str, ...], weight: str, size: float, dpi: float) -> float:
    sheet: Any = _sheet(1, 1, dpi)
    font = FontProperties(family=list(family) or None, weight=weight, size=size)
    return float(sheet.get_text_width_height_descent(text, font, ismath=False)[0])


def _is_whole(text: str, style: Style) -> bool:
    """Whether a text is set at once: a name in the middle of something stays, a line is new every moment.

    Of names that are pairs there are as many as pairs; what they are made of is little.
    """
    return "va" in style and PAIR not in text


def _parts(text: str, style: Style, dpi: float) -> Iterator[tuple[float, str]]:
    """The parts of a text, of which each is set at once, and how far from its place."""
    x = -{"left": 0.0, "center": 0.5, "right": 1.0}[style.get("ha", "left")]
    x *= across(text, style, dpi) if x else 0.0
    for part in PARTED.split(text):
        if part.strip():
            yield x, part
        x += across(part, style, dpi)


@lru_cache(maxsize=4)
def _sheet(width: int, height: int, dpi: float) -> RendererAgg:
    """A sheet for one text at a time: what a text measures is remembered with it."""
    made: Callable[[int, int, float], RendererAgg] = RendererAgg
    return made(width, height, dpi)
