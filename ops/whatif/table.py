"""The table of a list of what-ifs: the time of every variant, its factor and its answer."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ops.answers import Answered, Outcome, answer, answer_alone, outcome_of
from ops.answers.answer import timed
from ops.answers.change import change_of
from ops.answers.names import called, machine_called
from ops.plan import Plan
from ops.plan.notation import beside, differences
from ops.whatif.sheet import Sheet, Variant
from sim.errors import InputError, Message, StalledError
from sim.units import fmt_size, fmt_time

SORTS = ("time", "name")
"""What the variants can be sorted by."""
COLUMNS = ("name", "changes", "time_s", "factor", "answer")
SIZES = {"size", "counts", "ranks"}
"""Words that change how much data moves."""
Say = Callable[[Message], str]
"""Returns a message in a language."""


@dataclass(frozen=True)
class VariantRow:
    """A row of the table; the first is the baseline.

    Parameters
    ----------
    name : str or Message
        The variant's own name, else what its changes are, as a phrase.
    changes : str
        The changes as `--compare-to` and links take them.
    time : float
        Seconds; infinite for a run that never ends, nan for a variant that cannot be run.
    factor : float
        Time divided by that of the baseline; infinite and nan as the time is.
    answer : Answered or None
        What the variant does, or of the baseline how long it takes; None for a variant that cannot be run.
    problem : InputError, StalledError or None
        Why it cannot be run.
    plan : Plan or None
        The plan that was run.
    """

    name: str | Message
    changes: str = ""
    time: float = math.nan
    factor: float = math.nan
    answer: Answered | None = None
    problem: InputError | StalledError | None = None
    plan: Plan | None = None

    def sentences(self, say: Say) -> str:
        """Return the answer in a language, or why the variant cannot be run."""
        if self.problem:
            return say(self.problem.message)
        return _joined(say(message) for message, _ in self.answer.evidence) if self.answer else ""

    def title(self, say: Say) -> str:
        """Return the name in a language."""
        return say(self.name) if isinstance(self.name, Message) else self.name

    @property
    def words(self) -> list[str]:
        """The changes one by one."""
        return [f"{word}={value}" for run in differences(self.changes) for word, value in run.items()]

    @property
    def shown_time(self) -> str:
        """Return the time with its unit; an empty text for a run without an end."""
        return fmt_time(self.time) if math.isfinite(self.time) else ""


def order_of(rows: Sequence[VariantRow], sort: str, say: Say) -> list[int]:
    """Return the places of the variants of a table sorted by `sort`; those that cannot be run come last."""

    def key(row: VariantRow) -> tuple[bool, float, str]:
        cannot = math.isnan(row.time)
        return cannot, 0.0 if cannot or sort == "name" else row.time, row.title(say)

    return sorted(range(len(rows) - 1), key=lambda k: key(rows[k + 1]))


def summary(rows: Sequence[VariantRow]) -> Message:
    """Return which variant saves most; a variant with less data to move is not compared."""
    comparable = [row for row in rows[1:] if not SIZES.intersection(word.partition("=")[0] for word in row.words)]
    best = min((row for row in comparable if not math.isnan(row.time)), key=lambda row: row.time, default=None)
    if best is None or not best.time < rows[0].time:
        return Message("whatif.none", time=rows[0].shown_time)
    said = timed(Message(best.name) if isinstance(best.name, str) else best.name, rows[0].time, best.time)
    return Message("whatif.best", answer=said)


def rows_of(sheet: Sheet) -> Iterator[VariantRow]:
    """Return the rows of a list, the baseline first, each as it is ready.

    Raises InputError for a baseline that cannot be run; a variant that cannot be run has a row that says why.
    """
    yield baseline_row(sheet.baseline)
    yield from (variant_row(sheet.baseline, variant) for variant in sheet.variants)


def baseline_row(plan: Plan) -> VariantRow:
    """Return the row of a baseline. Raises InputError."""
    outcome = _outcome(plan)
    machine = plan.capture_name if plan.capture else machine_called(plan.machine)
    load = Message("whatif.baseline.load", machine=machine, size=fmt_size(plan.bytes)) if plan.size else machine
    name = Message("whatif.baseline", algorithm=called(outcome.name), load=load)
    return VariantRow(
        name, time=outcome.time, factor=outcome.time / outcome.time, answer=answer_alone(outcome), plan=plan
    )


def variant_row(baseline: Plan, variant: Variant, *, remedies: bool = False) -> VariantRow:
    """Return the row of a variant; with `remedies` its answer says what would win a loss back, which takes many runs.

    Raises InputError for a baseline that cannot be run.
    """
    before, text = _outcome(baseline), beside([dict(variant.changes)])
    try:
        plan = variant.plan(baseline)
        after = outcome_of(plan)
    except (InputError, StalledError) as error:
        return failed_row(baseline, variant, error)
    name = variant.name or change_of(baseline, plan)
    answered = answer(before, after, remedies=remedies)
    return VariantRow(name, text, after.time, after.time / before.time, answered, None, plan)


def failed_row(baseline: Plan, variant: Variant, error: InputError | StalledError) -> VariantRow:
    """Return the row of a variant that cannot be run."""
    text = beside([dict(variant.changes)])
    try:
        name = variant.name or change_of(baseline, variant.plan(baseline))
    except InputError:
        name = text
    return VariantRow(name, text, problem=error)


@lru_cache(1)
def _outcome(baseline: Plan) -> Outcome:
    return outcome_of(baseline)


def to_csv(rows: Iterable[VariantRow], say: Say) -> str:
    """Return a table as CSV, times in s: empty for a variant that cannot run, `inf` for a run without an end."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        numbers = ["" if math.isnan(number) else f"{number:.9g}" for number in (row.time, row.factor)]
        table.writerow([row.title(say), row.changes, *numbers, row.sentences(say)])
    return file.getvalue()


def _joined(sentences: Iterable[str]) -> str:
    """Return sentences as one text; no space follows a Chinese one."""
    text = ""
    for sentence in sentences:
        text += sentence if text.endswith("。") or not text else f" {sentence}"
    return text
