"""What the cell of a notebook shows of a result: a table, and a picture where the layer that draws is loaded.

Nothing here draws. `ui.notebook` registers its pictures with `draw_with`; the package `ringside` loads it.
"""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

PICTURES: dict[str, Callable[..., Any]] = {}
"""Functions that draw, by what they draw: `run`, `step` (both HTML) and `plot` (matplotlib axes)."""


def draw_with(**pictures: Callable[..., Any]) -> None:
    """Register functions that draw."""
    PICTURES.update(pictures)


def drawn(what: str, *arguments: Any) -> Any:
    """Return a picture. Raises ImportError where the layer that draws is not loaded."""
    if what not in PICTURES:
        raise ImportError("pictures are drawn by ui.notebook, which is not loaded: import it, or import ringside")
    return PICTURES[what](*arguments)


def table(title: str, rows: Mapping[str, str], picture: str = "") -> str:
    """Return a small table as HTML, with a picture below it; values that are empty are left out."""
    lines = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows.items()
        if value
    )
    head = f'<caption style="text-align:left;font-weight:bold">{escape(title)}</caption>'
    return f"<table>{head}<tbody>{lines}</tbody></table>{picture}"
