"""The story in a visit: offered on the stage as long as nothing else was chosen, told when asked for, remembered."""

from dataclasses import replace
from typing import Any

import streamlit as st

from ops.plan import Plan
from ui.plan.beginning import Beginning
from ui.player.local_storage import remembered
from ui.simulate.past import restore
from ui.simulate.state import SimulateState
from ui.state import change, state
from ui.story import CHAPTERS, VIEW
from ui.text import catalogue, spoken
from ui.workers import tasks
from ui.workers.asking import ask

NAME, SEEN = "story", "seen"


def shown(plan: Plan) -> dict[str, Any] | None:
    """What the player is given of the story: nothing, that there is one, or all of it."""
    now = state(SimulateState).story
    if st.context.is_embedded or plan != Plan():
        return None
    offer = {name: text for name, text in catalogue(spoken()).items() if name.startswith("story.offer")}
    data = {"text": offer, "seen": now.is_known}
    if not now.number:
        return data
    return data | {"number": now.number, "told": ask(tasks.story, spoken())}


def hear(word: object) -> None:
    """Take what the player says of the story."""
    change(SimulateState, story=state(SimulateState).story.heard(word))


def ended() -> bool:
    """Return whether the story has just ended; its last run is then shown."""
    now = state(SimulateState)
    if not now.story.has_ended:
        return False
    change(SimulateState, story=replace(now.story, has_ended=False))
    restore(CHAPTERS[-1].plan, Beginning(view=VIEW))
    return True


def remember() -> None:
    """Keep in the browser that the story is known, and learn it from there."""
    now = state(SimulateState).story
    is_known = bool(remembered(NAME, {SEEN} if now.is_known else set(), {SEEN}))
    if is_known != now.is_known:
        change(SimulateState, story=replace(now, is_known=is_known))
