"""What the browser keeps for a person between visits: a list of words, nowhere else."""

from collections.abc import Callable, Container
from functools import cache
from typing import Any

import streamlit as st

SCRIPT = """
export default function ({ data, setStateValue }) {
  let kept = [];
  try { kept = JSON.parse(localStorage.getItem(data.name)) ?? []; } catch { kept = []; }
  const words = [...(Array.isArray(kept) ? kept : []), ...data.words];
  const all = [...new Set(words.filter((word) => typeof word === "string"))].sort();
  try { localStorage.setItem(data.name, JSON.stringify(all)); } catch { /* private windows keep nothing */ }
  if (all.join() !== [...data.words].sort().join()) setStateValue("words", all);
}
"""


@cache
def _component() -> Callable[..., Any]:
    mounted: Callable[..., Any] = st.components.v2.component("ringside_memory", html="<span>\n</span>", js=SCRIPT)
    return mounted


def remembered(name: str, words: set[str], allowed: Container[str]) -> set[str]:
    """The words kept under a name, with those of `words` added; only such that are `allowed`.

    On the first run of a visit the browser has not answered yet; it does so with a rerun.
    """
    data = {"name": f"ringside.{name}", "words": sorted(words)}
    answer = _component()(key=f"memory_{name}", data=data, default={"words": []}, on_words_change=lambda: None)
    stored = answer.words if isinstance(answer.words, list) else []
    return {word for word in (*stored, *words) if isinstance(word, str) and word in allowed}
