"""Views as figures, one file for each view of the player that files can show: its `draw` gives the figure."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWINGS = frozenset(path.stem for path in Path(__file__).parent.glob("*.py")) - {"__init__"}
"""The views that can be drawn; how is loaded when one is, as it takes a while."""


@cache
def drawing(view: str) -> "Callable[..., Figure]":
    """The function `draw(film, t, *, width, look)` of a view; `width` in inches."""
    draw: Callable[..., Figure] = import_module(f"{__name__}.{view}").draw
    return draw
