"""The state of the page for lessons, and its transitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ui.learning.predictions import predicted, predictions
from ui.state import PageState


@dataclass(frozen=True)
class LearnState(PageState):
    """What was learned, in words; the last answer to every question of this visit, and whose answers were `shown`.

    `problem` was wrong with a link or a file of progress, None where there is nothing to say, empty where all was well.
    `finished` is the lesson that ended last, `left` the lesson and the step from which an earlier one was asked again.
    """

    words: frozenset[str] = frozenset()
    answers: Mapping[str, str | float] = field(default_factory=dict)
    shown: frozenset[str] = frozenset()
    problem: str | None = None
    finished: str = ""
    left: tuple[str, int] | None = None

    def brought(self, words: set[str]) -> "LearnState":
        """Take what a link or a file brings."""
        return replace(self, words=self.words | words, problem="")

    def ending(self, lesson: str) -> "LearnState":
        """End a lesson."""
        return replace(self, words=self.words | {lesson}, finished=lesson)

    def answered(self, key: str, question: tuple[str, int, int], answer: str | float) -> "LearnState":
        """Take an answer; only the first one to a question is a prediction."""
        after = replace(self, answers={**self.answers, key: answer})
        if question in predictions(self.words):
            return after
        return replace(after, words=self.words | {predicted(self.words, *question, answer)})
