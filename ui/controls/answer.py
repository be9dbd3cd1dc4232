"""Answer lines: the player shows that of runs above their picture, other pages begin with theirs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sim.errors import Message
from ui.controls.compare import Run
from ui.player.answer import answer_of
from ui.player.titles import heading_of
from ui.text import plain, spoken, tell, worded


def of(runs: Sequence[Run]) -> dict[str, Any]:
    """Return what the player says of a plan's run and those beside it; what wins a loss back is asked for later."""
    if len(runs) == 2 and replace(runs[0][0], against="") == replace(runs[1][0], against=""):
        return {"headline": tell("page.compare.pinned"), "reason": tell("page.compare.pinned.next")}
    outcomes = [picture.outcome for _, picture, _ in runs]
    answer = answer_of(outcomes, [title for _, _, title in runs], spoken(), remedies=False)
    plan, picture, _ = runs[0]
    if st.context.is_embedded and not plan.schedule:
        answer["title"] = heading_of(plan.algorithm, picture.machine, picture.size, spoken())
    return answer


def lead(place: DeltaGenerator, messages: Sequence[Message], name: str = "") -> None:
    """Draw an answer in a place of a page, under a name of its own: the first sentence large, the others below it."""
    first, *others = (plain(worded(message)) for message in messages)
    with place.container(key=f"answer_{name}"):
        st.markdown(f"## {first}")
        st.markdown(" ".join(others) or "&nbsp;")
