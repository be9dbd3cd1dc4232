"""The state of a visit: this module alone touches Streamlit's session.

Every page owns one frozen dataclass of state, kept under the name of its class. A transition returns the next state and
reads nothing else, so it is tested without a browser; `become` keeps it. Values of widgets stand under their own keys.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import RerunData, RerunException, get_script_run_ctx

State = TypeVar("State")
Drawn = TypeVar("Drawn")
Arguments = ParamSpec("Arguments")
MOST = 10
"""Times that a callback starts over: one that asks for another run itself ends there."""


@dataclass(frozen=True)
class PageState:
    """The state of a page; until it `is_read` the page begins with what the address says."""

    is_read: bool = False


_CHANGES: ContextVar[dict[str, Any] | None] = ContextVar("_CHANGES", default=None)
"""What a callback has changed so far, by key; it reaches the session when the callback has ended."""


def state(owner: type[State]) -> State:
    """Return this visit's state of a class, or a new one."""
    kept: State | None = value(owner.__name__)
    return owner() if kept is None else kept


def become(changed: object) -> None:
    """Keep a state in place of the previous one of its class."""
    put(type(changed).__name__, changed)


def change(owner: type, **changes: Any) -> None:
    """Change some fields of a state."""
    become(replace(state(owner), **changes))


def value(key: str) -> Any:
    """Return what the widget of this key holds, None if there is no such widget."""
    changes = _CHANGES.get() or {}
    return changes[key] if key in changes else st.session_state.get(key)


def put(key: str, held: object) -> None:
    """Set what the widget of this key holds, before it is drawn."""
    changes = _CHANGES.get()
    (st.session_state if changes is None else changes)[key] = held


def callback(function: Callable[Arguments, object]) -> Callable[Arguments, None]:
    """Run a widget's callback to its end, even when the browser asks for another run of the page meanwhile.

    Streamlit interrupts a callback at its first access to the session when a newer request is pending, and does not
    call it again: the click is lost. So the callback starts over, keeps all of its changes or none, and the newer
    request follows it.
    """

    @wraps(function)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        newer: list[RerunData] = []

        def uninterrupted(step: Callable[[], Any]) -> Any:
            while len(newer) < MOST:
                try:
                    return step()
                except RerunException as interruption:
                    newer.append(interruption.rerun_data)
            return None

        def work() -> dict[str, Any] | None:
            before = _CHANGES.set({})
            try:
                function(*args, **kwargs)
                return _CHANGES.get()
            finally:
                _CHANGES.reset(before)

        for key, held in (uninterrupted(work) or {}).items():
            uninterrupted(partial(st.session_state.__setitem__, key, held))
        context = get_script_run_ctx(suppress_warning=True)
        if newer and context is not None and context.script_requests is not None:
            context.script_requests.request_rerun_batch(newer)

    return run


def fragment(function: Callable[Arguments, Drawn], every: float | None = None) -> Callable[Arguments, Drawn]:
    """Have a part of a page drawn alone, every so many seconds if at all, unless something outside of it has changed.

    A browser sends all that changes at one moment together, and names one fragment alone: what a player says of itself
    while a button elsewhere is pressed would have the fragment of the player drawn, and nobody would see the click.
    """

    @wraps(function)
    def draw(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Drawn:
        if _has_changed_outside():
            st.rerun()
        return function(*args, **kwargs)

    return st.fragment(draw, run_every=every)


def _has_changed_outside() -> bool:
    """Whether fragments are drawn, and a widget of none of them has another value than before."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not context.fragment_ids_this_run:
        return False
    session = context.session_state._state  # Streamlit tells this nowhere else
    sent = session._new_widget_state
    changed = [sent.widget_metadata.get(name) for name in sent if session._widget_changed(name)]
    return any(widget and widget.fragment_id not in context.fragment_ids_this_run for widget in changed)
