"""What somebody predicted in lessons, as words: kept in their browser, in a link and in a file, and asked again later.

A lesson that is finished is its name; a prediction is `LESSON/STEP/TURN/AFTER/SAID`: the question, whether it was the
first time it was asked (turn 0) or the first, second, … time again, how many other lessons were finished by then, and
what was said. Only what was said first counts.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ops.plan.packing import packed, unpacked
from sim.base.numbers import whole
from sim.errors import InputError
from ui.lessons import LESSONS, Ask, LessonStep

VERSION = "progress-1"
HEAD = f"ringside: {VERSION}"
LARGEST = 1 << 16
"""Characters of a file."""
SPACING = (1, 3)
"""A question is asked again when so many other lessons have been finished since it was asked last."""


@dataclass(frozen=True, order=True)
class Prediction:
    """What was said before the motion, to which question."""

    after: int
    lesson: str
    step: int
    turn: int
    said: str

    @property
    def word(self) -> str:
        """It as it is kept."""
        return f"{self.lesson}/{self.step}/{self.turn}/{self.after}/{self.said}"

    @property
    def instance(self) -> LessonStep:
        """The step that asked, or that which asked again."""
        return step_of(self.lesson, self.step, self.turn)

    @property
    def answer(self) -> str | float:
        """What was said, as it is graded."""
        ask = self.instance.ask
        return self.said if ask and ask.options else float(self.said)


def step_of(lesson: str, number: int, turn: int = 0) -> LessonStep:
    """A step of a lesson, in the instance that is asked in a turn."""
    step = LESSONS[lesson].steps[number - 1]
    return step.again[turn - 1] if turn else step


class ProgressWords:
    """All words that are a lesson's name or a prediction."""

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and (word in LESSONS or read_word(word) is not None)


def read_word(word: str) -> Prediction | None:
    """The prediction that a word is, nothing for any other."""
    parts = word.split("/", 4)
    if len(parts) < 5 or parts[0] not in LESSONS:
        return None
    numbers = [whole(part) for part in parts[1:4]]
    steps = LESSONS[parts[0]].steps
    if None in numbers:
        return None
    step, turn, after = (number or 0 for number in numbers)
    if not 1 <= step <= len(steps) or not 0 <= turn <= len(steps[step - 1].again) or not 0 <= after <= len(LESSONS):
        return None
    ask = steps[step - 1].ask
    return Prediction(after, parts[0], step, turn, parts[4]) if ask and _can_be_said(ask, parts[4]) else None


def _can_be_said(ask: Ask, said: str) -> bool:
    """Whether it is an answer to the question, right or wrong."""
    if ask.options:
        return said in ask.options
    try:
        return len(said) < 40 and math.isfinite(float(said))
    except ValueError:
        return False


def finished(words: Iterable[str]) -> set[str]:
    """The lessons among the words."""
    return {word for word in words if word in LESSONS}


def predictions(words: Iterable[str]) -> dict[tuple[str, int, int], Prediction]:
    """The first prediction of each question in each turn, by lesson, step and turn."""
    first: dict[tuple[str, int, int], Prediction] = {}
    for prediction in sorted(filter(None, map(read_word, words)), reverse=True):
        first[prediction.lesson, prediction.step, prediction.turn] = prediction
    return first


def predicted(words: Iterable[str], lesson: str, step: int, turn: int, said: str | float) -> str:
    """The word for a new prediction."""
    others = finished(words) - {lesson}
    return Prediction(len(others), lesson, step, turn, f"{said:.6g}" if isinstance(said, float) else said).word


def due(words: Iterable[str], now: str = "") -> tuple[str, int, int] | None:
    """The question to be asked again, as lesson, step and turn: the one that waits longest, none of the lesson `now`.

    None where none is due.
    """
    words = set(words)
    done, said = finished(words), predictions(words)
    waiting = []
    for (lesson, step, turn), prediction in said.items():
        asked_again = (lesson, step, turn + 1) in said or turn >= min(len(SPACING), len(step_of(lesson, step).again))
        others = len(done - {lesson})
        if lesson != now and not asked_again and others >= prediction.after + SPACING[turn]:
            waiting.append((prediction.after, lesson, step, turn + 1))
    return min(waiting)[1:] if waiting else None


def to_text(words: Iterable[str]) -> str:
    """The words as a file."""
    kept = {prediction.word for prediction in predictions(words).values()} | finished(words)
    return "\n".join([HEAD, *sorted(kept)]) + "\n"


def from_text(text: str, name: str) -> set[str]:
    """The words of a file. Raises InputError naming the line and the fix."""
    if len(text) > LARGEST:
        raise InputError("lessons.too_large", file=name, most=LARGEST)
    lines = [line.strip() for line in text.removeprefix("\ufeff").splitlines()]
    if not lines or lines[0] != HEAD:
        raise InputError("lessons.no_progress", file=name, head=HEAD)
    for number, line in enumerate(lines[1:], 2):
        if line and line not in ProgressWords():
            raise InputError("lessons.line", file=name, line=number, text=line)
    return {line for line in lines[1:] if line}


def to_word(words: Iterable[str]) -> str:
    """The words as one word of a link."""
    return packed(to_text(words), {})


def from_word(word: str) -> set[str]:
    """The words that a link carries. Raises InputError for one that is damaged."""
    return from_text(unpacked(word[:LARGEST], {}, "progress"), "the link's progress")
