"""The dashboard's pages, one module each; `@page` puts a function that draws one on the only list.

A page's title is the text `page.NAME.title`, or its name as long as there is none; the address says `?page=NAME`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sim.registry import Registry

Draw = Callable[[], None]


@dataclass(frozen=True)
class Page:
    """A page; `order` is its place among the others. One that is not `listed` is found by its address alone."""

    name: str
    draw: Draw
    order: int
    listed: bool = True


PAGES: Registry[Page] = Registry(__name__, "page")


def page(*, order: int = 1000, listed: bool = True) -> Callable[[Draw], Draw]:
    """Register a function that draws a page under its own name; returned unchanged."""

    def register(draw: Draw) -> Draw:
        PAGES.add(draw.__name__, Page(draw.__name__, draw, order, listed))
        return draw

    return register


def go(name: str) -> None:
    """Leave for another page, now."""
    import streamlit as st

    leave(name)
    st.rerun()


def leave(name: str) -> None:
    """Make the address name another page, in the same language; the stage with the plan that stands there."""
    import streamlit as st

    from ui import address

    plan = st.session_state.get("plan") if name == first() else None
    _turn_to({"page": name} if name != first() else address.words_of(plan) if plan else {})
    address.stands_for(plan)


def visit(words: Mapping[str, str]) -> None:
    """Make the address name another page with words of its own, in the same language; what it was is forgotten."""
    _turn_to(words)
    forget(words["page"])


def forget(name: str) -> None:
    """Have a page begin with what the address says."""
    import streamlit as st

    from ui import address

    if name == first():
        st.session_state.reread = True
    else:
        st.session_state.pop(name, None)
    st.session_state.turn = st.session_state.get("turn", 0) + 1
    address.stands_for(None)


def _turn_to(words: Mapping[str, str]) -> None:
    import streamlit as st

    language = {"lang": st.query_params["lang"]} if "lang" in st.query_params else {}
    st.query_params.from_dict({**words, **language})


def first() -> str:
    """The page that an address without one opens."""
    return min(PAGES.values(), key=lambda page: page.order).name
