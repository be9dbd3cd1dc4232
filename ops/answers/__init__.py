"""Answers: what a change did to a run, as one sentence whose numbers come from the two runs."""

from ops.answers.answer import Answered, answer
from ops.answers.outcome import Outcome, outcome_of
from ops.answers.remedy import Fastest, fastest

__all__ = ["Answered", "Fastest", "Outcome", "answer", "fastest", "outcome_of"]
