"""Answer lines: the player shows that of runs above their picture, other pages begin with theirs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sim.errors import Message
from ui.controls.compare import Run
from ui.player.answer import answer_of, spans_of
from ui.player.page_script import page_script
from ui.player.titles import heading_of
from ui.text import plain, spoken, tell

Shows = Callable[[Message], Mapping[str, str]]
"""What shows the words in the places of a sentence."""


def nothing(message: Message) -> Mapping[str, str]:
    """Show no words of a sentence."""
    return {}


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


def lead(place: DeltaGenerator, messages: Sequence[Message], name: str = "", shows: Shows = nothing) -> None:
    """Draw an answer in a place of a page, under a name of its own: the first sentence large, the others below it.

    Words that something `shows` are links to it: see `listen`.
    """
    first, *others = ("".join(map(_linked, spans_of(message, shows(message)))) for message in messages)
    with place.container(key=f"answer_{name}"):
        st.markdown(f"## {first}")
        st.markdown(" ".join(others) or "&nbsp;")


def _linked(span: Sequence[str]) -> str:
    """Return a piece of a sentence as Markdown.

    >>> _linked(["1 ms", "rank:1"]), _linked(["on", ""])
    ('[1 ms](#shows=rank%3A1)', 'on')
    """
    text, target = span
    words = plain(text)
    if target:
        return f"[{words}](#shows={quote(target, safe='')})"
    return f"{' ' * text.startswith(' ')}{words}{' ' * text.endswith(' ')}" if words else text


def listen(name: str, places: Mapping[str, str]) -> str:
    """Bring what shows the words of an answer of a name into sight, where they are clicked.

    `places` are selectors of the page, by target. Returns a target that has none, if such a one was just clicked.
    """
    data = {"name": name, "places": dict(places)}
    result = page_script("shows", "answer")(key=f"script_shows_{name}", data=data, on_asked_change=lambda: None)
    click = getattr(result, "asked", None)
    target = click.get("target") if isinstance(click, Mapping) else None
    return target if isinstance(target, str) else ""
