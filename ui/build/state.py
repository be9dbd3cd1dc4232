"""The state of the page on which a schedule is drawn by hand, and its transitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ops.ladder import TASKS, LadderTask, ladder
from ops.plan import Plan
from ops.sketch import Sketch
from ui.state import PageState

OWN = "own"
"""What is no task: a drawing of one's own."""
FIRST_OWN = Sketch("allreduce", 4, 4)
MACHINES = (
    "switch:ranks={n},bandwidth=1GBps,latency=1us",
    "ring:ranks={n},bandwidth=1GBps,latency=1us",
    "torus:dims={n},wrap=no,bandwidth=1GBps,latency=1us",
    "mesh:ranks={n},bandwidth=1GBps,latency=1us",
    "nodes:nodes=2,gpus={half},nvlink=4GBps,nic=1GBps",
    "dgx1v",
    "dgx_a100",
)
"""Machines to begin with; any other may be typed."""


@dataclass(frozen=True)
class HandDrawing:
    """What is on the board: for which task, if any, and on which machine."""

    task: str
    sketch: Sketch
    machine: Plan = field(default_factory=lambda: Plan(machine=MACHINES[0].format(n=4), size="4MB"))

    @property
    def document(self) -> str:
        """What tells it from another drawing, whatever is drawn on it."""
        sketch = self.sketch
        return ".".join(map(str, (self.task, sketch.collective, sketch.ranks, sketch.pieces, sketch.root)))

    @property
    def spare(self) -> int:
        """Places of every rank beside those of the collective."""
        return TASKS[self.task].spare if self.task in TASKS else int(self.sketch.kind.pairwise)


def of_task(task: LadderTask) -> HandDrawing:
    """The empty board of a task."""
    return HandDrawing(task.name, task.empty, task.machine)


@dataclass(frozen=True)
class BuildState(PageState):
    """What is drawn, the `boards` of other tasks as they were left, and the tasks that are `solved`.

    `problem` was wrong with a link or with what a browser sent.
    """

    drawing: HandDrawing = field(default_factory=lambda: of_task(ladder()[0]))
    boards: Mapping[str, HandDrawing] = field(default_factory=dict)
    solved: frozenset[str] = frozenset()
    problem: str = ""

    def arrived(self, drawing: HandDrawing | None, problem: str = "") -> "BuildState":
        """Show what an address names; where there is a problem with it, the first task."""
        drawing = drawing or of_task(ladder()[0])
        return replace(self, drawing=drawing, boards={}, problem=problem, is_read=True)

    def turned(self, name: str) -> "BuildState":
        """Show another task, or one's own drawing, as it was left."""
        boards = {**self.boards, self.drawing.task: self.drawing}
        fresh = of_task(TASKS[name]) if name in TASKS else HandDrawing(OWN, FIRST_OWN)
        return replace(self, drawing=boards.get(name, fresh), boards=boards, problem="")

    def solving(self, task: str) -> "BuildState":
        """Note that a task is solved."""
        return replace(self, solved=self.solved | {task})
