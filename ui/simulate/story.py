"""The story in a visit: told when it is asked for, and what it leads to."""

from dataclasses import replace
from typing import Any

import streamlit as st

from ops.plan import Plan
from ui.simulate.past import restore
from ui.simulate.state import SimulateState
from ui.state import change, state
from ui.text import spoken
from ui.workers import tasks
from ui.workers.asking import ask

WORD = "story"
"""The word of an address that opens the story, at the chapter of this name where there is one."""


def shown(plan: Plan) -> dict[str, Any] | None:
    """What the player is given of the story: nothing, or while it is told all of it, with its number."""
    number = state(SimulateState).story.number
    if st.context.is_embedded or plan != Plan() or not number:
        return None
    return {"number": number, "told": ask(tasks.story, spoken()), "chapter": st.query_params.get(WORD, "")}


def hear(word: object) -> None:
    """Take what the player says of the story; one that was put away is no longer what the address names."""
    change(SimulateState, story=state(SimulateState).story.heard(word))
    if not state(SimulateState).story.number and WORD in st.query_params:
        del st.query_params[WORD]


def has_led_on() -> bool:
    """Return whether the story has just led to the wish for a machine of one's own, which is then asked for."""
    now = state(SimulateState)
    if not now.story.has_led_on:
        return False
    restore(Plan())
    now = state(SimulateState)
    story = replace(now.story, has_led_on=False)
    change(SimulateState, story=story, is_first=True, asks_machine=True)
    return True
