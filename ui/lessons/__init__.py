"""What a lesson is: steps that set the stage, some with a question that the simulator answers.

A lesson is a function that yields steps, registered by `@lesson`; its words are the texts `lesson.NAME.title`,
`lesson.NAME.K` for step K from 1 on, and where that step asks, `lesson.NAME.K.ask` and `lesson.NAME.K.because`.
Where no catalogue has them, the words of the steps themselves are shown, and the docstring where a step has none.
What all of them may tell of the runs is filled in (`ui.learning.runs.figures`), so that a question can be asked again
of another run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ops.plan import Plan
from ops.plan.examples import PROGRAMS
from ops.plan.training import WorkloadPlan
from ops.run import Run
from ops.training.step import TrainingStep
from sim.registry import Registry

Runs = Sequence[Run]
"""The plan's own run, then those beside it."""
TrainingRuns = Sequence[TrainingStep]
"""The same where the plan is a training step."""
AnyPlan = Plan | WorkloadPlan


@dataclass(frozen=True)
class Ask:
    """A question: its answer follows from the runs, as one of `options` or as a number that may be off by `within`.

    `facts` are what the explanation tells besides the answer. `question` and `because`, in which `{answer}` and facts
    are filled in, are English.
    """

    answer: Callable[[Any], str | float]
    options: Sequence[str] = ()
    within: float = 0.0
    unit: str = ""
    facts: Callable[[Any], Mapping[str, Any]] = lambda runs: {}
    question: str = ""
    because: str = ""

    def grade(self, answer: str | float, runs: Runs | TrainingRuns) -> bool:
        """Whether what a person said is right."""
        right = self.answer(runs)
        if isinstance(right, str) or isinstance(answer, str):
            return answer == right
        return abs(answer - right) <= self.within * abs(right) + 1e-9


@dataclass(frozen=True)
class LessonStep:
    """A plan, the step of its schedule before which it stands, the one up to which the answer plays, and a view.

    `text`, in English, is what it says. `reads` is a file's text that is shown as it stands, to be read. A training
    step has no steps and views: `beside` are other ones drawn below it, `before` is the share of its time that is drawn
    until there is an answer, `rows` how many ranks are; with `memory` what the ranks hold is drawn too.
    `again` asks the same of other runs, in the same words, when other lessons have been finished since.
    """

    plan: AnyPlan
    ask: Ask | None = None
    at: int = 0
    until: int | None = None
    view: str = "machine"
    text: str = ""
    reads: str = ""
    beside: tuple[WorkloadPlan, ...] = ()
    before: float = 0.4
    rows: int = 4
    memory: bool = False
    again: tuple["LessonStep", ...] = ()

    @property
    def plans(self) -> tuple[AnyPlan, ...]:
        """What is run for it: the plan, then what stands beside it."""
        return (self.plan, *(self.plan.others() if isinstance(self.plan, Plan) else self.beside))


Steps = Callable[[], Iterator[LessonStep]]


@dataclass(frozen=True)
class Lesson:
    """A lesson; `order` is its place among the others, `about` its docstring."""

    name: str
    order: int
    steps: tuple[LessonStep, ...]
    about: str = ""

    def words(self) -> dict[str, str]:
        """What it says itself, in English, by the ids of texts that say it otherwise."""
        words = {}
        for number, step in enumerate(self.steps, 1):
            key = f"lesson.{self.name}.{number}"
            words[key] = step.text or self.about
            if step.ask:
                words |= {f"{key}.ask": step.ask.question, f"{key}.because": step.ask.because}
        return words


LESSONS: Registry[Lesson] = Registry("ui.lessons", "lesson")


def lesson(*, order: int = 1000) -> Callable[[Steps], Steps]:
    """Register a function that yields a lesson's steps under its own name; returned unchanged."""

    def register(steps: Steps) -> Steps:
        name, about = steps.__name__, " ".join((steps.__doc__ or "").split())
        LESSONS.add(name, Lesson(name, order, tuple(steps()), about))
        return steps

    return register


def ranks(n: int) -> list[str]:
    """`rank 0` to `rank n - 1`, to choose from."""
    return [f"rank {r}" for r in range(n)]


def after(outcome: Run, step: int) -> float:
    """The instant at which a step and all before it have ended, s."""
    stop = int(outcome.trace.schedule.step_start[step])
    return float(outcome.trace.end[:stop].max(initial=outcome.trace.began))


def sent(outcome: Run, rank: int) -> float:
    """Bytes that a rank sends in all."""
    trace = outcome.trace
    leaving = (trace.schedule.src == rank) & (trace.schedule.dst != rank)
    return float(trace.bytes[leaving].sum())


def fastest(names: Sequence[str]) -> Callable[[Runs], str]:
    """The name of the run that ends first; names in the order of the runs."""
    return lambda runs: names[int(np.argmin([run.time for run in runs]))]


def ratio(runs: Runs) -> float:
    """How many times as long the first run takes as the second."""
    return runs[0].time / runs[1].time


def times(value: float) -> str:
    """A ratio in words: the option that is nearest."""
    words = {1.0: "same", 2.0: "twice", 4.0: "four", 8.0: "eight", 0.5: "half"}
    return words[min(words, key=lambda factor: abs(np.log(factor / value)))]


def program(name: str) -> str:
    """The text of a program that comes with the project."""
    return (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")


def busiest(outcome: Run) -> str:
    """The link nearest to being full throughout, as `A → B`."""
    worst = outcome.bottleneck
    assert worst is not None, "every lesson's run moves something"
    return f"{worst.src} → {worst.dst}"
