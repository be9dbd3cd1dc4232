"""A list of what-ifs as a page of small pictures, one for each variant, which needs no network and no script."""

from collections.abc import Callable, Sequence
from html import escape

from ops.plan import Plan
from ops.whatif import VariantRow
from ops.whatif.table import summary
from ui.export.paper import paper
from ui.text import say, spaced, speaking, worded

Draw = Callable[[Plan], str]
"""Returns a run in small, as SVG."""


def page(rows: Sequence[VariantRow], draw: Draw, language: str = "en") -> bytes:
    """A file for any browser, in a language."""
    title = say("whatif.title", language)
    with speaking(language):
        first = f"<header><b>Ringside</b> · {escape(title)}</header><h1>{escape(spaced(worded(summary(rows))))}</h1>"
        cards = "".join(_card(row, draw) for row in rows)
    return paper(title, f'{first}<section class="cards">{cards}</section>', language)


def _card(row: VariantRow, draw: Draw) -> str:
    picture = draw(row.plan) if row.plan and not row.problem else ""
    head = f"<b>{escape(row.shown_time)}</b>{escape(row.title(worded))}"
    said = f"<small>{escape(row.sentences(worded))}</small>"
    return f"<figure>{head}{picture}<figcaption>{said}</figcaption></figure>"
