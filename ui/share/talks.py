"""The talk of a visit: its scenes in their order, kept nowhere but in the visit and in files of the person's."""

from collections.abc import Mapping
from dataclasses import replace

from ops.plan import Plan
from ui.navigation import visit
from ui.state import become, state
from ui.talk import MOST_SCENES, Talk, TalkScene
from ui.talk.state import TalkState
from ui.text import spoken


def current() -> Talk:
    """The talk as it is, in the language of the visit."""
    return replace(state(TalkState).own, language=spoken())


def opened(talk: Talk) -> None:
    """Take up a talk that has arrived."""
    become(state(TalkState).opened(talk))


def is_full() -> bool:
    """Whether the talk has as many scenes as a talk may have."""
    return len(current().scenes) >= MOST_SCENES


def add(plan: Plan, place: Mapping[str, str]) -> None:
    """Put a plan, where its player stands, at the end of the talk."""
    if not is_full() and not plan.python:
        become(state(TalkState).added(TalkScene(plan, place=dict(place))))


def open_page() -> None:
    """Go to the page of the talk."""
    visit({"page": "talk"})
