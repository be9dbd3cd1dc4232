"""The answer of runs as the player shows it: spans of text, each with what a click on it shows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ops.answers import Outcome, answer, answer_alone, answer_several, outcome_of
from ops.answers.answer import Answered
from ops.answers.change import changes
from ops.plan import Plan
from ops.plan.notation import beside
from sim.errors import Message
from ui.player.titles import run_titles
from ui.text import speaking, worded

PARTS = ("headline", "reason", "remedy")
BEGIN, BETWEEN, END = "\x02", "\x1f", "\x03"
"""What stands around a place of a text, and between what shows it and its words, until the text is cut there."""
MARKED = re.compile(f"{BEGIN}(.*?){BETWEEN}(.*?){END}")
Spans = list[list[str]]
"""Pieces of a sentence: each its text and what shows it, which is empty for most."""


def answer_of(outcomes: Sequence[Outcome], titles: Sequence[str], language: str, *, remedies: bool) -> dict[str, Any]:
    """Return the answer of a run, of two of which the second is the baseline, or of several, in a language.

    `asks` says that something may win the lost time back which `remedies` would have looked for.
    """
    if len(outcomes) > 2:
        answered = answer_several(outcomes, titles)
    elif len(outcomes) == 2:
        answered = answer(outcomes[1], outcomes[0], remedies=remedies)
    else:
        answered = answer_alone(outcomes[0])
    is_loss = len(outcomes) == 2 and answered.after > answered.before
    return written(answered, language) | {
        "asks": is_loss and not remedies,
        "changes": _changes(outcomes, language) if len(outcomes) == 2 else [],
    }


def answer_beside(
    outcome: Outcome, plan: Plan, others: Sequence[Plan], language: str, *, remedies: bool = True
) -> dict[str, Any]:
    """Return the answer of a plan that has run beside others, which are run for it. Raises InputError."""
    runs = replace(plan, against=beside([other.kept_beside() for other in others])) if others else plan
    with speaking(language):
        titles = run_titles(runs)
    return answer_of([outcome, *map(outcome_of, others)], titles, language, remedies=remedies)


def written(answered: Answered, language: str) -> dict[str, Any]:
    """Return the spans of an answer's parts in a language."""
    with speaking(language):
        spans = [spans_of(message, targets) for message, targets in answered.evidence]
    return dict(zip(PARTS, [*spans, []], strict=False))


def _changes(outcomes: Sequence[Outcome], language: str) -> list[list[str]]:
    """What tells two runs apart, so that a page can say what else a reader changes: word, spec and phrase of each."""
    after, before = (outcome.plan for outcome in outcomes)
    with speaking(language):
        return [[*change[:2], worded(change.phrase)] for change in changes(before, after)] if before and after else []


def read(spans: Spans) -> str:
    """Return the sentence that spans are pieces of."""
    return "".join(text for text, _ in spans)


def spans_of(message: Message, targets: Mapping[str, str]) -> Spans:
    """Return the spans of a sentence in the language of this visit; `targets` show the words in its places."""
    values = {name: _marked(value, targets.get(name, "")) for name, value in message.values.items()}
    return _cut(worded(Message(message.text, **values)))


def _marked(value: object, target: str) -> object:
    if not target:
        return value
    words = worded(value) if isinstance(value, Message) else str(value)
    return f"{BEGIN}{target}{BETWEEN}{words}{END}"


def _cut(text: str) -> Spans:
    """Cut a text at its marks.

    >>> _cut(f"from {BEGIN}t:1{BETWEEN}1 s{END} on")
    [['from ', ''], ['1 s', 't:1'], [' on', '']]
    """
    plain, *marked = MARKED.split(text)
    spans = [[plain, ""]]
    for target, words, rest in zip(marked[::3], marked[1::3], marked[2::3], strict=True):
        spans += [[words, target], [rest, ""]]
    return [span for span in spans if span[0]]
