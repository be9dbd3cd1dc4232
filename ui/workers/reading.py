"""What workers read of texts from outside: whatever they hold, and however long that takes, no page waits for another.

All of it can be sent; a text that nobody can use is refused with an InputError.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ops.formats import SCHEDULE_FORMATS
from ops.measured.formats import MEASUREMENTS
from ops.plan import Plan
from ops.plan import training as training_plan
from ops.plan.model import is_trace
from ops.plan.plan_file import from_yaml, is_plan, place_in
from ops.programs.result import ProgramResult, is_result, read_result
from ops.whatif.file import is_sheet
from ops.whatif.file import read as read_sheet
from sim.base.formats import Formats
from sim.errors import InputError
from sim.formats import FORMATS
from sim.placement import in_one_line, is_rank_file
from sim.topology import Topology
from sim.topology.pair_rates import beside, matrices
from ui.talk import document

Text = tuple[str, str]
"""What it says, and what it is called."""


class WrittenPlan(NamedTuple):
    """A plan that was written down, and where in its run a page stands."""

    plan: Plan
    place: Mapping[str, str]


class Arrived(NamedTuple):
    """What arrived: its kind if it has one, all of its text, what that is called, and what was read of it, or None."""

    kind: str
    text: str
    name: str
    thing: Any


class Kind(NamedTuple):
    """A kind of text that may arrive: how it is told, and what is read of it."""

    matches: Callable[[str], bool]
    read: Callable[[str, str], Any]


def machine(words: Plan) -> Topology:
    """The machine of a plan, without its way of finding routes, which cannot be sent. Raises InputError."""
    return words.topology().but(router=None)


def differences(words: Plan) -> list[str]:
    """What edits made otherwise than a machine was, a line each. Raises InputError."""
    return words.differences()


def machine_format(text: str, name: str) -> str:
    """The format of a machine's text. Raises InputError for none."""
    return FORMATS.recognise(text, name).name


def schedule_format(text: str, name: str) -> str:
    """The format of a schedule's text. Raises InputError for none."""
    return SCHEDULE_FORMATS.recognise(text, name).name


def plan(text: str, name: str) -> WrittenPlan:
    """A plan that was written down. Raises InputError."""
    return WrittenPlan(from_yaml(text, name), place_in(text, name))


def placement(text: str, name: str) -> str:
    """Which GPUs play the ranks, in one line. Raises InputError."""
    return in_one_line(text, name) if is_rank_file(text) or "\n" in text else text


def together(texts: Sequence[Text]) -> Text:
    """Several texts as one: a capture, and what was measured between its GPUs. Raises InputError for other ones."""
    (whole, first), *measured = sorted(texts, key=lambda text: bool(matrices(text[0]))) if len(texts) > 1 else texts
    for text, name in measured:
        whole = beside(whole, text, name)
    return whole, first


def arrived(texts: Sequence[Text]) -> Arrived:
    """What texts are that came together. Raises InputError for ones of no kind, in the words of machines' readers."""
    text, name = together(texts)
    for kind, (matches, read) in KINDS.items():
        if matches(text):
            return Arrived(kind, text, name, read(text, name))
    FORMATS.recognise(text, name)  # tells what it is instead
    return Arrived("", text, name, None)


def _is_one(formats: Formats[Any]) -> Callable[[str], bool]:
    """Whether a text is for one of the readers of a list."""

    def is_one(text: str) -> bool:
        try:
            formats.recognise(text, "")
        except InputError:
            return False
        return True

    return is_one


def program(text: str, name: str) -> ProgramResult:
    """A program's result, on a machine without its way of finding routes. Raises InputError."""
    result = read_result(text, name)
    return result._replace(step=replace(result.step, topology=result.step.topology.but(router=None)))


def _later(_text: str, _name: str) -> None:
    """Nothing: what it describes depends on what the page shows."""


def _measured(text: str, name: str) -> None:
    """Nothing, where it can be read: the page compares its rows with a machine that is chosen there."""
    MEASUREMENTS.read(text, name)


KINDS = {
    "talk": Kind(document.is_talk, document.from_text),
    "plan": Kind(is_plan, plan),
    "program": Kind(is_result, program),
    "what_if": Kind(is_sheet, read_sheet),
    "training": Kind(training_plan.is_training, training_plan.from_yaml),
    "trace": Kind(is_trace, _later),
    "machine": Kind(_is_one(FORMATS), _later),
    "schedule": Kind(_is_one(SCHEDULE_FORMATS), _later),
    "measured": Kind(_is_one(MEASUREMENTS), _measured),
}
"""What may arrive, in the order in which it is told; the readers of the lists say what they take."""
