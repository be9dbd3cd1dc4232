"""The one palette, read from where the browser reads it."""

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_FILE = Path(__file__).parents[2] / "assets" / "paint" / "palette.json"
_PALETTE = json.loads(_FILE.read_text(encoding="utf-8"))
BLOCKS: tuple[str, ...] = tuple(_PALETTE["blocks"])
"""Okabe and Ito's colours, which people who see colours differently can tell apart; numbers say the same."""
LOAD: tuple[str, ...] = tuple(_PALETTE["load"])
"""A link that carries next to nothing, half of what it can, and all: over plum, which stays apart from all blocks."""
IDLE: float = _PALETTE["idle"]
"""Up to this share of what it can carry a link counts as idle."""
MANY: int = _PALETTE["many"]
"""More blocks in flight are dots."""
SIGN: float = _PALETTE["sign"]
"""How far along a line the sign of its fault stands, as a share."""
INKS = ("#111111", "#ffffff")


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, 0 to 1 (WCAG 2.2)."""
    parts: NDArray[np.float64] = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(a: str, b: str) -> float:
    """How far two colours stand apart, 1 to 21 (WCAG 2.2)."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@cache
def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour."""
    return max(INKS, key=lambda ink: contrast(ink, colour))
