"""Scripts of the page, most of which draw nothing: mounted where they stand, they listen, or do one thing there."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

SCRIPTS = Path(__file__).parents[1] / "assets" / "page"


@cache
def page_script(name: str) -> Callable[..., Any]:
    """What mounts the script of this name, with the arguments of Streamlit's components.

    The key of one that draws nothing begins with `script_`: by that the page's style takes it out of the flow, and
    nothing moves when it comes.
    """
    script = (SCRIPTS / f"{name}.js").read_text(encoding="utf-8")
    mounted: Callable[..., Any] = st.components.v2.component(f"ringside_{name}", html="<span>\n</span>", js=script)
    return mounted
