"""What files and links share: the words of a plan that are not as usual, and what a word may be."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields

from ops.plan.model import USUAL, Plan
from sim.base.numbers import whole
from sim.errors import InputError
from sim.schedule.numeric import DTYPES, OPS
from sim.topology.networks import NETWORKS

TEXTS = ("capture", "schedule")
"""Words that are texts of many lines."""
APART = ("python", "seed", "capture_name", "schedule_name")
"""Words that stay where the plan was made."""
MACHINE = ("machine", "capture", "rates", "placement", "edits", "calibration")
"""Words that tell the machine."""
WORDS = tuple(field.name for field in fields(Plan) if field.name not in APART)
LARGEST = 10**7
"""A number of a plan is smaller."""
NAMES: Mapping[str, Collection[str]] = {"network": NETWORKS, "dtype": DTYPES, "op": OPS}
"""Words that are a name of a list, where they are not empty."""


def unusual(plan: Plan) -> Iterator[tuple[str, str]]:
    """The words that are not as usual, as text."""
    for word in WORDS:
        value = getattr(plan, word)
        if value != getattr(USUAL, word):
            yield word, ("yes" if value else "no") if isinstance(value, bool) else str(value)


def value_of(word: str, text: str) -> str | int | bool | None:
    """A word's value; None for a text that cannot be one."""
    kind = type(getattr(USUAL, word))
    if kind is int:
        number = whole(text)
        return number if number is not None and 0 <= number < LARGEST else None
    if kind is bool:
        return {"yes": True, "no": False}.get(text)
    return None if text and text not in NAMES.get(word, (text,)) else text


def wrong(word: str, text: str) -> InputError:
    """Why a text is no value of a word; whoever read it says where it stands."""
    if word in NAMES:
        return InputError("word.choice", word=word, text=text, choices=NAMES[word])
    if isinstance(getattr(USUAL, word), bool):
        return InputError("word.yes_no", word=word, text=text)
    return InputError("word.whole", word=word, text=text)
