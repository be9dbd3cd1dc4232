"""Frames as a GIF of one palette: colours are counted in a few frames, and looked up in all."""

import io
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

COLOURS = 128
"""Of a film of few things in few colours; its soft edges take most of them."""
BITS = (5, 6, 5)
"""Of red, green and blue that tell colours apart, as many as in a table that is soon looked up."""

Pixels = NDArray[np.uint8]
"""`[row, column, rgb]`."""


class Palette:
    """The colours that stand for all that some frames have, the nearest one for each."""

    def __init__(self, samples: Sequence[Pixels]) -> None:
        together = np.concatenate(samples)
        image = Image.fromarray(together).quantize(COLOURS, dither=Image.Dither.NONE)
        table = np.array(image.getpalette(), np.float32).reshape(-1, 3)
        paper, entry = together[0, 0], np.asarray(image)[0, 0]
        table[entry] = paper  # which is the mean of what is nearly so, too: what most of a film is made of is exact
        self._colours = table.astype(np.uint8).reshape(-1).tolist()
        every = np.indices([1 << bits for bits in BITS]).reshape(3, -1).T
        colours = (every * (255 / (2 ** np.array(BITS) - 1))).round().astype(np.float32)
        apart = (table**2).sum(axis=1) - 2 * colours @ table.T  # squared, but for what is the same for all of a row
        self._nearest = apart.argmin(axis=1).astype(np.uint8)

    def image(self, pixels: Pixels) -> Image.Image:
        """A frame in these colours."""
        red, green, blue = (pixels[:, :, k] >> (8 - bits) for k, bits in enumerate(BITS))
        key = (red.astype(np.uint16) << (BITS[1] + BITS[2])) | (green.astype(np.uint16) << BITS[2]) | blue
        frame = Image.fromarray(self._nearest[key])
        frame.putpalette(self._colours)
        return frame


def gif(frames: Iterable[Pixels], samples: Sequence[Pixels], *, hold_ms: int, last_ms: int) -> bytes:
    """A film that goes on for ever; every frame stays for `hold_ms`, the last for `last_ms`."""
    palette = Palette(samples)
    images = [palette.image(pixels) for pixels in frames]
    held = [hold_ms] * (len(images) - 1) + [last_ms]
    out = io.BytesIO()
    images[0].save(out, "GIF", save_all=True, append_images=images[1:], duration=held, loop=0, optimize=False)
    return out.getvalue()
