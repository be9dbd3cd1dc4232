"""Frames as a GIF of one palette: colours are counted in a few frames, and looked up in what changes of all."""

import io
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

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
        together = np.concatenate(samples)
        image = Image.fromarray(together).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        table = np.array(image.getpalette(), np.float32).reshape(-1, 3)
        paper, entry = together[0, 0, :3], np.asarray(image)[0, 0]
        table[entry] = paper  # which is the mean of what is nearly so, too: what most of a film is made of is exact
        self._table, self._colours = table, table.astype(np.uint8).reshape(-1).tolist()
        self._nearest = np.full(1 << sum(BITS), UNKNOWN, np.int16)

    def entries(self, colours: NDArray[np.uint32]) -> NDArray[np.int16]:
        """The entry nearest to each colour, sought when a colour is met first: a film has few of all there are."""
        keys = _key(colours)
        unmet = self._nearest[keys] == UNKNOWN
        if unmet.any():
            new = np.unique(keys[unmet])
            scale = [255 / ((1 << bits) - 1) for bits in BITS]
            parts = new >> (BITS[1] + BITS[2]), (new >> BITS[2]) & ((1 << BITS[1]) - 1), new & ((1 << BITS[2]) - 1)
            met = np.stack([(part * share).round() for part, share in zip(parts, scale, strict=True)], axis=1)
            self._nearest[new] = ((met[:, None] - self._table) ** 2).sum(axis=2).argmin(axis=1)
        nearest: NDArray[np.int16] = self._nearest[keys]
        return nearest

    def images(self, frames: Iterable[Pixels]) -> Iterator[Image.Image]:
        """Frames in these colours, of equal size."""
        last: NDArray[np.uint32] | None = None
        for pixels in frames:
            now = np.ascontiguousarray(pixels).view("<u4")[:, :, 0]
            if last is None:
                entries = self.entries(now).astype(np.uint8)
            else:
                differs = last != now
                entries[differs] = self.entries(now[differs])
            last = now
            frame = Image.fromarray(entries.copy())
            frame.putpalette(self._colours)
            yield frame


def _key(colours: NDArray[np.uint32]) -> NDArray[np.integer]:
    """Which of the colours that are told apart: red lies lowest in what is read as one number of four bytes."""
    red, green, blue = (((colours >> (8 * k + 8 - bits)) & ((1 << bits) - 1)) for k, bits in enumerate(BITS))
    keys: NDArray[np.integer] = (red << (BITS[1] + BITS[2])) | (green << BITS[2]) | blue
    return keys


def gif(frames: Iterable[Pixels], samples: Sequence[Pixels], *, hold_ms: int, last_ms: int) -> bytes:
    """A film that goes on for ever; every frame stays for `hold_ms`, the last for `last_ms`."""
    images = list(Palette(samples).images(frames))
    held = [hold_ms] * (len(images) - 1) + [last_ms]
    out = io.BytesIO()
    images[0].save(out, "GIF", save_all=True, append_images=images[1:], duration=held, loop=0, optimize=False)
    return out.getvalue()
