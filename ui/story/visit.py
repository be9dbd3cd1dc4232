"""The story in a visit: offered on the stage as long as nothing else was chosen, told when asked for, remembered."""

from typing import Any

import streamlit as st

from ops.plan import Plan
from ui.player.local_storage import remembered
from ui.story import CHAPTERS, VIEW
from ui.text import catalogue, spoken
from ui.widgets.past import restore
from ui.workers import tasks
from ui.workers.asking import ask

NAME, SEEN = "story", "seen"
WORDS = ("open", "skip", "end")
"""What the player says of it: it was asked for, put away, or heard to its end."""


def shown(plan: Plan) -> dict[str, Any] | None:
    """What the player is given of the story: nothing, that there is one, or all of it."""
    state = st.session_state
    if st.context.is_embedded or plan != Plan():
        return None
    offer = {name: text for name, text in catalogue(spoken()).items() if name.startswith("story.offer")}
    data = {"text": offer, "seen": SEEN in state.get(NAME, ())}
    if not state.get("story_opened", 0):
        return data
    return data | {"number": state.story_opened, "told": ask(tasks.story, spoken())}


def hear(word: object) -> None:
    """Take what the player says of it: words of a stranger's browser, so that others are no news."""
    state = st.session_state
    if word not in WORDS:
        return
    state.story_count = state.get("story_count", 0) + 1
    state.story_opened = state.story_count if word == "open" else 0
    if word != "open":
        state[NAME] = {SEEN}
    if word == "end":
        state.story_ended = True


def ended() -> bool:
    """Whether it has been heard to its end just now; then its last run is the stage's."""
    if not st.session_state.pop("story_ended", False):
        return False
    restore(CHAPTERS[-1].plan, VIEW)
    return True


def remember() -> None:
    """Keep in the browser that it is known, and learn from there."""
    st.session_state[NAME] = remembered(NAME, set(st.session_state.get(NAME, ())), {SEEN})
