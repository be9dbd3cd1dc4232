"""All scenes there are to show, by what leads to them: a question, a machine, a lesson. What adds one adds it here."""

from collections.abc import Iterator
from dataclasses import dataclass

from ops.request import Request
from sim.machines import MACHINES
from ui.lessons import LESSONS
from ui.player.views import FIRST
from ui.scene.examples import SCENARIOS, Example
from ui.text import catalogue, say

QUESTION, SCENE, MACHINE, LESSON = GROUPS = "question", "scene", "machine", "lesson"
"""What leads to a scene."""
USUAL = "16MiB"
"""What is summed up on a machine that is shown for itself."""


@dataclass(frozen=True)
class Exhibit:
    """A scene of the gallery: its name, which is a file's, the group it is in, and the view it opens in.

    `text` is the id of its title, to which a lesson's `step` is added.
    """

    name: str
    group: str
    text: str
    scene: Request
    view: str = FIRST
    step: int = 0

    def title(self, language: str) -> str:
        """What it is called."""
        if self.group == MACHINE:
            english = MACHINES.summary(self.scene.machine)
            return f"{self.scene.machine}: {catalogue(language).get(self.text, english)}"
        words = say(self.text, language)
        return say("scenes.step", language, title=words, step=self.step) if self.step else words


def exhibits() -> list[Exhibit]:
    """Every one, each scene once: where a question leads to a lesson's, it is the question's."""
    seen: dict[Request, Exhibit] = {}
    for exhibit in (*_examples(), *_machines(), *_lessons()):
        seen.setdefault(exhibit.scene, exhibit)
    return list(seen.values())


def _examples() -> Iterator[Exhibit]:
    for name, example in SCENARIOS.items():
        scene, view = _scene(example)
        if scene is not None:
            yield Exhibit(name, QUESTION if example.asks else SCENE, f"scenario.{name}", scene, view or FIRST)


def _scene(example: Example) -> tuple[Request | None, str]:
    """The scene that an example opens, and its view; nothing where it is a page without one."""
    if not example.words:
        return example.scene, example.view
    if example.words.get("page") != "learn":
        return None, ""
    step = LESSONS[example.words["lesson"]].steps[int(example.words["step"]) - 1]
    return (step.scene, step.view) if isinstance(step.scene, Request) else (None, "")


def _machines() -> Iterator[Exhibit]:
    for name in MACHINES:
        yield Exhibit(f"machine-{name}", MACHINE, f"summary.{name}", Request(machine=name, size=USUAL))


def _lessons() -> Iterator[Exhibit]:
    for lesson in sorted(LESSONS.values(), key=lambda lesson: lesson.order):
        for number, step in enumerate(lesson.steps, 1):
            if not isinstance(step.scene, Request):
                continue
            text = f"lesson.{lesson.name}.title"
            yield Exhibit(f"lesson-{lesson.name}-{number}", LESSON, text, step.scene, step.view, number)
