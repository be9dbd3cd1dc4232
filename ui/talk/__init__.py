"""A talk: scenes in an order, what is said to each, and the instants at which playing stops.

`document` reads and writes the file it is kept in, `pages` makes what the browser is given of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ops.plan import Plan
from sim.base.files.textfile import check_lines, check_names

MOST_SCENES, MOST_STOPS, MOST_LINES = 100, 50, 20
"""Of a talk; of a scene's breakpoints; of the lines that appear on its stage."""
LONGEST_TITLE, LONGEST_LINE, LONGEST_NOTES = 120, 300, 20_000
"""Characters of a title, of a line on the stage, and of notes."""


@dataclass(frozen=True)
class StageLine:
    """Words that appear on the stage from an instant on, s from the run's beginning, until the next ones do."""

    text: str
    at: float = 0.0

    def __post_init__(self) -> None:
        check_lines(self.text, "line of words")


@dataclass(frozen=True)
class TalkScene:
    """A scene of a talk: what runs, where in it the page stands in the words of a link, and what is said to it.

    `stops` are the instants at which playing stops, s; `origin` says where it was written down.
    """

    plan: Plan
    title: str = ""
    place: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[StageLine, ...] = ()
    stops: tuple[float, ...] = ()
    notes: str = ""
    origin: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_names([self.title, *self.place.values()], "scene")
        check_lines(self.notes, "notes")


@dataclass(frozen=True)
class Talk:
    """Scenes in their order, under a title, in a language."""

    title: str = ""
    scenes: tuple[TalkScene, ...] = ()
    language: str = "en"

    def __post_init__(self) -> None:
        check_names([self.title], "talk")
