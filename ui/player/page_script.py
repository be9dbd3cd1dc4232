"""Scripts of the page, most of which draw nothing: mounted where they stand, they listen, or do one thing there."""

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from ui.player.scripts import ASSETS, script


@cache
def page_script(name: str, folder: str = "page") -> Callable[..., Any]:
    """What mounts a folder's script of this name, in its style sheet if it has one; arguments are those of components.

    The key of one that draws nothing begins with `script_`: by that the page's style takes it out of the flow, and
    nothing moves when it comes.
    """
    look = ASSETS / folder / f"{name}.css"
    css = look.read_text(encoding="utf-8") if look.exists() else None
    js = f"export default {script(f'{folder}/{name}.js')};"
    mounted: Callable[..., Any] = st.components.v2.component(f"ringside_{name}", html="<span>\n</span>", css=css, js=js)
    return mounted
