"""The state of the page on which a machine is drawn, and its transitions."""

import json
from dataclasses import dataclass, replace
from functools import cache

from ui.state import PageState
from ui.text import say

KINDS = ("NVL", "PCI", "SYS", "NET")
"""Kinds of links; a drawing begins with a class of each, whose rates are still missing."""


@cache
def empty(language: str) -> str:
    """The JSON of a drawing of nothing, with names in a language."""
    names = {kind: say(f"draw.line.{kind}", language) for kind in KINDS}
    classes = [
        {"id": k, "name": names[kind], "kind": kind, "bandwidth": "", "latency": "", "lanes": 1}
        for k, kind in enumerate(KINDS, 1)
    ]
    parts: dict[str, object] = {"hosts": [], "devices": [], "links": [], "classes": classes}
    return json.dumps({"name": say("draw.name.first", language), **parts}, ensure_ascii=False)


@dataclass(frozen=True)
class DrawState(PageState):
    """The drawing as JSON, none for an empty page, and its `revision` as the browser counts.

    `token` changes when the drawing comes from elsewhere. `problem` was wrong with a link or with what a browser sent.
    """

    text: str = ""
    token: int = 0
    revision: int = 0
    problem: str = ""

    def arrived(self, text: str, problem: str = "") -> "DrawState":
        """Show the drawing that an address names."""
        return replace(self, text=text, token=self.token + 1, revision=0, problem=problem, is_read=True)

    def drawn(self, text: str, revision: int) -> "DrawState":
        """Keep what a person has drawn."""
        return replace(self, text=text, revision=revision, problem="")
