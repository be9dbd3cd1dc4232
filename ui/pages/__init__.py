"""The dashboard's pages, one module each; `@page` puts a function that draws one on the only list.

A page's title is the text `page.NAME.title`, or its name as long as there is none; the address says `?page=NAME`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sim.registry import Registry
from ui.state import PageState

Draw = Callable[[], None]


@dataclass(frozen=True)
class Page:
    """A page; `order` is its place among the others. One that is not `listed` is found by its address alone.

    `state` is what it takes from the address at first. Beside one that `opens_settings` they are open at first.
    """

    name: str
    draw: Draw
    order: int
    listed: bool = True
    state: type[PageState] = PageState
    opens_settings: bool = False


PAGES: Registry[Page] = Registry(__name__, "page")


def page(
    *,
    order: int = 1000,
    listed: bool = True,
    state: type[PageState] = PageState,
    opens_settings: bool = False,
) -> Callable[[Draw], Draw]:
    """Register a function that draws a page under its own name; returned unchanged."""

    def register(draw: Draw) -> Draw:
        PAGES.add(draw.__name__, Page(draw.__name__, draw, order, listed, state, opens_settings))
        return draw

    return register
