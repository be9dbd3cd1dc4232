"""All examples, by what leads to them: a question, a machine, a lesson. What adds one adds it here."""

from collections.abc import Iterator
from dataclasses import dataclass

from ops.plan import Plan
from sim.machines import MACHINES
from ui.lessons import LESSONS
from ui.plan.examples import EXAMPLES, Example
from ui.player.views import FIRST
from ui.text import catalogue, say

QUESTION, EXAMPLE, MACHINE, LESSON = GROUPS = "question", "example", "machine", "lesson"
"""What leads to an example."""
USUAL = "16MiB"
"""What is summed up on a machine that is shown for itself."""


@dataclass(frozen=True)
class Exhibit:
    """An example of the gallery: its name, which is a file's, the group it is in, and the view it opens in.

    `text` is the id of its title, to which a lesson's `step` is added.
    """

    name: str
    group: str
    text: str
    plan: Plan
    view: str = FIRST
    step: int = 0

    def title(self, language: str) -> str:
        """What it is called."""
        if self.group == MACHINE:
            english = MACHINES.summary(self.plan.machine)
            return f"{self.plan.machine}: {catalogue(language).get(self.text, english)}"
        words = say(self.text, language)
        return say("examples.step", language, title=words, step=self.step) if self.step else words


def exhibits() -> list[Exhibit]:
    """Every one, each plan once: where a question leads to a lesson's, it is the question's."""
    seen: dict[Plan, Exhibit] = {}
    for exhibit in (*_examples(), *_machines(), *_lessons()):
        seen.setdefault(exhibit.plan, exhibit)
    return list(seen.values())


def _examples() -> Iterator[Exhibit]:
    for name, example in EXAMPLES.items():
        plan, view = _plan(example)
        if plan is not None:
            yield Exhibit(name, QUESTION if example.asks else EXAMPLE, f"example.{name}", plan, view or FIRST)


def _plan(example: Example) -> tuple[Plan | None, str]:
    """The plan that an example opens, and its view; nothing where it is a page without one."""
    if not example.words:
        return example.plan, example.view
    if example.words.get("page") != "learn":
        return None, ""
    step = LESSONS[example.words["lesson"]].steps[int(example.words["step"]) - 1]
    return (step.plan, step.view) if isinstance(step.plan, Plan) else (None, "")


def _machines() -> Iterator[Exhibit]:
    for name in MACHINES:
        yield Exhibit(f"machine-{name}", MACHINE, f"summary.{name}", Plan(machine=name, size=USUAL))


def _lessons() -> Iterator[Exhibit]:
    for lesson in sorted(LESSONS.values(), key=lambda lesson: lesson.order):
        for number, step in enumerate(lesson.steps, 1):
            if not isinstance(step.plan, Plan):
                continue
            text = f"lesson.{lesson.name}.title"
            yield Exhibit(f"lesson-{lesson.name}-{number}", LESSON, text, step.plan, step.view, number)
