"""Where a visit begins in the runs of its plan: what the words of an address say, and the view where they say none."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ops.plan import Plan
from ops.plan.link import PLACE
from sim.base.numbers import real
from sim.errors import InputError
from ui.player.views import FIRST, VIEWS

LONGEST_WORD = 400
"""Characters of a word that says where in the runs the player stands."""
FEW = 16
"""Up to so many ranks an algorithm's shape is understood at a glance."""


class Beginning(NamedTuple):
    """Seconds from the runs' beginning, a view's name or none, and the rest of the place in the words of a link."""

    t: float = 0.0
    view: str = ""
    place: Mapping[str, str] = {}


FROM_THE_START = Beginning()


def is_first_visit(words: Mapping[str, str]) -> bool:
    """Whether an address names nothing but a language: whoever comes by it is shown what this is.

    >>> is_first_visit({"lang": "zh"}), is_first_visit({"story": "1"}), is_first_visit({"t": "0.001"})
    (True, True, False)
    """
    return not words.keys() - {"lang", "page", "story"}


def beginning_of(words: Mapping[str, str]) -> tuple[Beginning, InputError | None]:
    """Return the state of an address, and an error for an invalid instant, which becomes the start of the runs."""
    t, wrong = instant_in(words), None
    if t is None:
        t, wrong = 0.0, InputError("link.time", time=words["t"])
    view = words["view"] if words.get("view") in VIEWS else ""
    place = {name: words[name][:LONGEST_WORD] for name in PLACE if name in words}
    if wrong:
        del place["t"]
    return Beginning(t, view, place), wrong


def left_at(place: Mapping[str, str]) -> Beginning:
    """Return where a player was left, from the words of a link, which anybody may have written."""
    return Beginning(instant_in(place) or 0.0, place.get("view", ""), place)


def instant_in(place: Mapping[str, str]) -> float | None:
    """Seconds from the runs' beginning that a place says, whose words anybody may have written; None for none."""
    t = real(place.get("t", "0"))
    return t if t is not None and t >= 0 else None


def explaining(plan: Plan, shaped: Iterable[int]) -> str:
    """The view to begin with: the algorithm's shape for few ranks, the machine where it is what matters.

    `shaped` are how many places the shapes of its runs have, 0 for one without a shape.
    """
    few = all(0 < count <= FEW for count in shaped)
    return "shape" if few and not (plan.capture or plan.fault or plan.schedule) else FIRST
