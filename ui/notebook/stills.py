"""What a saved notebook shows without a kernel: a still of each run and the link that brings it back."""

import base64
import io
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from ui.text import ENGLISH, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

DOTS = 75
"""Pixels per inch: 960 across."""
MARK = "ringside-still"
"""The class of a still."""
STYLE = (
    "<style>"
    # the widget is the next output: where it is alive its still is put away, and where it is not, its empty place is
    f".jp-OutputArea-child:has(.{MARK}):has(+ .jp-OutputArea-child .rs-notebook){{display:none}}"
    f".jp-OutputArea-child:has(.{MARK})+.jp-OutputArea-child:not(:has(.rs-notebook)){{display:none}}"
    "</style>"
)


def image(figure: "Figure", words: str) -> str:
    """A figure as an image of HTML that needs nothing else."""
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=DOTS, facecolor=figure.get_facecolor())
    source = base64.b64encode(data.getvalue()).decode("ascii")
    return f'<img alt="{escape(words, quote=True)}" src="data:image/png;base64,{source}" style="max-width:100%">'


def still(pictures: "Sequence[str]", link: "Mapping[str, str]", address: str, language: str) -> str:
    """Pictures side by side with the link to what they show."""
    words = dict(link) | ({"lang": language} if language != ENGLISH else {})
    where = f"{address.rstrip('/')}/?{urlencode(words)}"
    line = f'<a href="{escape(where, quote=True)}">{escape(say("notebook.open", language))}</a>' if link else ""
    share = 100 / max(1, min(2, len(pictures)))
    cells = "".join(
        f'<div style="display:inline-block;width:{share:g}%;vertical-align:top">{it}</div>' for it in pictures
    )
    return f'{STYLE}<div class="{MARK}">{cells}<p>{line}</p></div>'
