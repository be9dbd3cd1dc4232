"""The dashboard's pages, one module each; `@page` puts a function that draws one on the only list.

A page's title is the text `page.NAME.title`, or its name as long as there is none; the address says `?page=NAME`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sim.registry import Registry
from ui.state import PageState

Draw = Callable[[], None]


@dataclass(frozen=True)
class Page:
    """A page; `order` is its place among the others. One that is not `listed` is found by its address alone.

    `state` is what it takes from the address at first.
    """

    name: str
    draw: Draw
    order: int
    listed: bool = True
    state: type[PageState] = PageState


PAGES: Registry[Page] = Registry(__name__, "page")


def page(*, order: int = 1000, listed: bool = True, state: type[PageState] = PageState) -> Callable[[Draw], Draw]:
    """Register a function that draws a page under its own name; returned unchanged."""

    def register(draw: Draw) -> Draw:
        PAGES.add(draw.__name__, Page(draw.__name__, draw, order, listed, state))
        return draw

    return register


def go(name: str) -> None:
    """Leave for another page, now."""
    import streamlit as st

    leave(name)
    st.rerun()


def leave(name: str) -> None:
    """Make the address name another page, in the same language; the stage with the scene that stands there."""
    from ui import address
    from ui.simulate.state import SimulateState
    from ui.state import state

    simulated = state(SimulateState)
    scene = simulated.scene if name == first() and simulated.has_scene else None
    _turn_to({"page": name} if name != first() else address.words_of(scene) if scene else {})
    address.stands_for(scene)


def visit(words: Mapping[str, str]) -> None:
    """Make the address name another page with words of its own, in the same language; what it was is forgotten."""
    _turn_to(words)
    forget(words["page"])


def forget(name: str) -> None:
    """Have a page begin with what the address says."""
    from ui.state import become, change, state
    from ui.visit import VisitState

    change(PAGES[name].state, is_read=False)
    become(replace(state(VisitState).renewed(), address=None))


def _turn_to(words: Mapping[str, str]) -> None:
    import streamlit as st

    language = {"lang": st.query_params["lang"]} if "lang" in st.query_params else {}
    st.query_params.from_dict({**words, **language})


def first() -> str:
    """The page that an address without one opens."""
    return min(PAGES.values(), key=lambda page: page.order).name
