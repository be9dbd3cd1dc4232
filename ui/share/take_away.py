"""The run as a file of any kind, made when it is asked for."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from ops.plan import Plan
from ui.controls import folds
from ui.drawings import DRAWINGS
from ui.export.exports import EXPORTS, Shot
from ui.plan import picture
from ui.player.views import FIRST, VIEWS, label_of
from ui.share import film, saving
from ui.text import spoken, tell
from ui.workers import tasks
from ui.workers.asking import ask

LONGEST = 80
"""Characters of a stretch of time."""
STILLS = ("png", "svg", "pdf")
"""Files that show one instant."""


def draw(plan: Plan, length: float, still: Any, shown: str) -> None:
    """Choices of a kind of file, and a button that makes it; `still` is the player, in the view `shown`."""
    panel, is_made = folds.fold("export", tell("page.export"), ":material/download:")
    if not is_made:
        return
    with panel:
        kinds = list(EXPORTS)
        kind = st.selectbox(tell("page.export.kind"), kinds, format_func=_kind, key="kind")
        view = shown
        if EXPORTS[kind].drawn:
            view = st.segmented_control(
                *(tell("page.export.view"), [name for name in VIEWS if name in DRAWINGS]),
                default=shown if shown in DRAWINGS else FIRST,
                format_func=lambda name: label_of(name, spoken()),
                required=True,
                key="export_view",
            )
            if shown not in DRAWINGS:
                st.caption(tell("page.export.undrawn", view=label_of(shown, spoken())))
        shot = Shot(view=view, at=getattr(still, "t", None) if kind in STILLS else None, language=spoken())
        if EXPORTS[kind].filmed:
            shot = film.choose(shot, length, _brush(still))
        name, make = f"{picture.file_name(plan)}.{kind}", partial(ask, tasks.export, plan, kind, shot)
        saving.button(tell("page.export.make"), name, EXPORTS[kind].media, make, key="take_away")


def _brush(still: Any) -> str:
    """What is marked in the player, in the word of a link."""
    place = getattr(still, "place", None)
    return str(place.get("brush", ""))[:LONGEST] if isinstance(place, Mapping) else ""


def _kind(ending: str) -> str:
    return f".{ending} – {tell(f'export.{ending}')}"
