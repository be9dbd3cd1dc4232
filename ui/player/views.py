"""The views of the player: every file of `assets/views/` is one, under the file's name."""

import math
import re
from pathlib import Path
from typing import NamedTuple

from ui.text import catalogue

FIRST = "machine"
"""The view that every run can be shown in."""
FOLDER = Path(__file__).parents[2] / "assets" / "views"


class View(NamedTuple):
    """Where a view stands among the others, its name, and what it is called where no text says it better."""

    order: float
    name: str
    label: str


def _view(path: Path) -> View:
    """A view as its file describes it: with a plain number and a plain word, or without."""
    _, _, described = path.read_text(encoding="utf-8").partition("export default {")
    order, label = re.search(r"\border: (\d+)", described), re.search(r'\blabel: "([^"\\]+)"', described)
    return View(float(order[1]) if order else math.inf, path.stem, label[1] if label else path.stem)


_VIEWS = {view.name: view for view in sorted(map(_view, FOLDER.glob("*.js")))}
VIEWS = tuple(_VIEWS)


def label_of(view: str, language: str) -> str:
    """What a view is called, as in the player."""
    return catalogue(language).get(f"player.view.{view}", _VIEWS[view].label)
