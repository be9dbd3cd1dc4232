"""A scene passed on: into a talk, or as a frame in another page."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from ops.request import Request
from ops.request.link import LONGEST
from ui import address
from ui.share import talks
from ui.text import spoken, tell
from ui.widgets.parameter import fresh

WORDS = ("copy", "copied", "code", "help")
"""What the button that copies the code of a frame says."""
SCRIPT = Path(__file__).parents[2] / "assets" / "page" / "embed.js"


@cache
def _component() -> Callable[..., Any]:
    script = SCRIPT.read_text(encoding="utf-8")
    mounted: Callable[..., Any] = st.components.v2.component("ringside_embed", html="<span>\n</span>", js=script)
    return mounted


def draw(scene: Request, place: Callable[[], Mapping[str, str]]) -> None:
    """What can be done with a scene elsewhere; `place()` says where in it one stands when a button is pressed."""
    with st.popover(tell("page.share"), icon=":material/share:", key=fresh("share")):
        talks.offer(scene, place)
        words = {name: tell(f"page.embed.{name}") for name in WORDS}
        if address.length_of(scene) > LONGEST:
            st.caption(tell("page.embed.long"))
        else:
            _component()(key="embed", data={"text": words, "language": spoken()})
