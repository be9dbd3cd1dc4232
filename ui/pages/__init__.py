"""The dashboard's pages, one module each; `@page` puts a function that draws one on the only list.

A page's title is the text `page.NAME.title`, and its path in the address is its name.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sim.registry import Registry

Draw = Callable[[], None]


@dataclass(frozen=True)
class Page:
    """A page; `order` is its place among the others."""

    name: str
    draw: Draw
    order: int


PAGES: Registry[Page] = Registry(__name__, "page")


def page(*, order: int) -> Callable[[Draw], Draw]:
    """Register a function that draws a page under its own name; returned unchanged."""

    def register(draw: Draw) -> Draw:
        PAGES.add(draw.__name__, Page(draw.__name__, draw, order))
        return draw

    return register
