"""Frames as a GIF of one palette: colours are counted in a few frames, and looked up in what changes of all."""

import io
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sim.base.arrays import each_once

COLOURS = 128
"""Of a film of few things in few colours; its soft edges take most of them."""
BITS = (5, 6, 5)
"""Of red, green and blue that tell colours apart, as many as in a table that is soon looked up."""

Pixels = NDArray[np.uint8]
"""`[row, column, rgba]`, of which all are opaque."""

UNKNOWN = -1


class Palette:
    """The colours that stand for all that some frames have, the nearest one for each."""

    def __init__(self, samples: Sequence[Pixels]) -> None:
        first, *others = samples
        together = np.concatenate([first.reshape(-1, 4), *(other[_differs(first, other)] for other in others)])
        image = Image.fromarray(together[None]).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        table = np.array(image.getpalette(), np.float32).reshape(-1, 3)
        paper, entry = together[0, :3], np.asarray(image)[0, 0]
        table[entry] = paper  # which is the mean of what is nearly so, too: what most of a film is made of is exact
        self._table = table
        self._nearest = np.full(1 << sum(BITS), UNKNOWN, np.int16)
        self._nearest[_key(_whole(together[None, :1])[0])] = entry

    def entries(self, colours: NDArray[np.uint32]) -> NDArray[np.int16]:
        """The entry nearest to each colour, sought when a colour is met first: a film has few of all there are."""
        keys = _key(colours)
        unmet = self._nearest[keys] == UNKNOWN
        if unmet.any():
            new = each_once(keys[unmet])
            scale = [255 / ((1 << bits) - 1) for bits in BITS]
            parts = new >> (BITS[1] + BITS[2]), (new >> BITS[2]) & ((1 << BITS[1]) - 1), new & ((1 << BITS[2]) - 1)
            met = np.stack([(part * share).round() for part, share in zip(parts, scale, strict=True)], axis=1)
            self._nearest[new] = ((met[:, None] - self._table) ** 2).sum(axis=2).argmin(axis=1)
        nearest: NDArray[np.int16] = self._nearest[keys]
        return nearest

    def images(self, frames: Iterable[Pixels]) -> Iterator[NDArray[np.uint8]]:
        """The entries `[row, column]` of frames of equal size; each is to be used before the next one is asked for."""
        last: Pixels | None = None
        for pixels in frames:
            now = _whole(pixels)
            if last is None:
                entries = self.entries(now).astype(np.uint8)
            else:
                differs = _differs(last, pixels)
                entries[differs] = self.entries(now[differs])
            last = pixels
            yield entries

    def colours(self) -> NDArray[np.uint8]:
        """All 256 `[entry, blue green red alpha]`, what is not needed as nothing."""
        colours = np.zeros((256, 4), np.uint8)
        colours[: len(self._table), :3], colours[: len(self._table), 3] = self._table[:, ::-1], 255
        return colours


def _whole(pixels: Pixels) -> NDArray[np.uint32]:
    """Pixels as one number each."""
    whole: NDArray[np.uint32] = np.ascontiguousarray(pixels).view("<u4")[:, :, 0]
    return whole


def _differs(one: Pixels, other: Pixels) -> NDArray[np.bool_]:
    differs: NDArray[np.bool_] = _whole(one) != _whole(other)
    return differs


def _key(colours: NDArray[np.uint32]) -> NDArray[np.integer]:
    """Which of the colours that are told apart: red lies lowest in what is read as one number of four bytes."""
    red, green, blue = (((colours >> (8 * k + 8 - bits)) & ((1 << bits) - 1)) for k, bits in enumerate(BITS))
    keys: NDArray[np.integer] = (red << (BITS[1] + BITS[2])) | (green << BITS[2]) | blue
    return keys


def gif(frames: Iterable[Pixels], samples: Sequence[Pixels], *, fps: int, last: float) -> bytes:
    """A film that goes on for ever; its last frame stays for so many seconds.

    Where a frame is as the one before it nothing is written.
    """
    palette, out = Palette(samples), io.BytesIO()
    colours = palette.colours().reshape(-1)
    with av.open(out, "w", format="gif", options={"loop": "0", "final_delay": str(round(100 * last))}) as file:
        stream = file.add_stream("gif", rate=Fraction(fps))
        stream.pix_fmt = "pal8"
        for k, entries in enumerate(palette.images(frames)):
            if not k:
                stream.height, stream.width = entries.shape
            frame = av.VideoFrame(stream.width, stream.height, "pal8")
            rows = np.frombuffer(frame.planes[0], np.uint8).reshape(stream.height, -1)  # type: ignore[call-overload]
            rows[:, : stream.width] = entries
            frame.planes[1].update(colours.tobytes())
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
    return out.getvalue()
