"""What a step says, for who listens: a line that is never seen, read out whenever it is another."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

HTML = '<p role="status" aria-live="polite">\n</p>'
HIDDEN = "p { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); }"
SCRIPT = """
export default function ({ data, parentElement }) {
  const line = parentElement.querySelector("p");
  if (line.textContent !== data.text) line.textContent = data.text;
}
"""


@cache
def _component() -> Callable[..., Any]:
    mounted: Callable[..., Any] = st.components.v2.component("ringside_aloud", html=HTML, css=HIDDEN, js=SCRIPT)
    return mounted


def say_aloud(*sentences: str) -> None:
    """Have sentences read out, without the signs that make them bold or code."""
    _component()(key="lesson_aloud", data={"text": re.sub(r"[*`]", "", " ".join(filter(None, sentences)))})
