"""Answers: a run, or what a change did to it, as one sentence whose numbers come from the runs."""

from ops.answers.alone import answer_alone
from ops.answers.answer import Answered, answer, answer_several
from ops.answers.outcome import Outcome, carried_out, of_ended, of_run, of_stall, of_trace, outcome_of
from ops.answers.remedy import Fastest, fastest

__all__ = [
    "Answered",
    "Fastest",
    "Outcome",
    "answer",
    "answer_alone",
    "answer_several",
    "carried_out",
    "fastest",
    "of_ended",
    "of_run",
    "of_stall",
    "of_trace",
    "outcome_of",
]
