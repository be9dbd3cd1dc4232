"""The one palette, read from where the browser reads it."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FILE = Path(__file__).parents[2] / "assets" / "paint" / "palette.json"
_PALETTE = json.loads(_FILE.read_text(encoding="utf-8"))
IDLE: float = _PALETTE["idle"]
"""Up to this share of what it can carry a link counts as idle."""
FULL: float = _PALETTE["full"]
"""From this share on a link counts as full."""
ALIKE = 0.95
"""From this share of the busiest link's load on another link is as busy."""
MANY: int = _PALETTE["many"]
"""More blocks in flight are dots."""
SIGN: float = _PALETTE["sign"]
"""How far along a line the sign of its fault stands, as a share."""
INKS: tuple[str, ...] = tuple(_PALETTE["inks"])
"""Inks of numbers on blocks."""


@dataclass(frozen=True)
class Look:
    """Colours of one theme, `#rrggbb`: ink for words, paper, surfaces of devices, panels around them.

    `load` are greys from a link that carries next to nothing to a full one; `red` is for a full link that the rest
    waits for. `blocks` have eight hues without red, which differ for every kind of eyes; numbers say the same.
    """

    ink: str
    quiet: str
    paper: str
    surface: str
    panel: str
    load: tuple[str, ...]
    red: str
    blocks: tuple[str, ...]

    def block(self, number: int) -> str:
        """The colour of a block."""
        return self.blocks[number % len(self.blocks)]

    def line(self, share: float, *, red: bool = False) -> str:
        """The colour of a link that carries a share of what it can."""
        return self.red if red else self.load[min(len(self.load) - 1, int(share * len(self.load)))]


def _look(name: str) -> Look:
    own: dict[str, Any] = _PALETTE[name]
    plain = {key: own[key] for key in ("ink", "quiet", "paper", "surface", "panel", "red")}
    return Look(**plain, load=tuple(own["load"]), blocks=tuple(own["blocks"]))


LIGHT, DARK = _look("light"), _look("dark")
BLOCKS = LIGHT.blocks


def bottlenecks(busy: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which links are as busy over the run as the busiest.

    None where that is half of those in use or more: then no link is what the others wait for.
    """
    busiest = (busy > 0) & (busy >= ALIKE * busy.max(initial=0.0))
    return busiest if 2 * busiest.sum() < (busy > 0).sum() else np.zeros_like(busiest)


def waited_for(shares: NDArray[np.float64], among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which links others wait for at an instant: bottlenecks that are full, where others in use are not."""
    red = among & (shares >= FULL)
    return red if ((shares > IDLE) & ~red).any() else np.zeros_like(red)


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
