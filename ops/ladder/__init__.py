"""Tasks for those who draw schedules, one file each, from the easiest up; each has a schedule that nobody can beat.

A task is a function that yields the columns of its best schedule, registered by `@task`; its docstring is the goal.
That no schedule is faster follows from the simulator's own bound, which the best meets, or from an argument of the
task's: `least(task)` works out its seconds from the machine, `because` says it in words.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ops.collectives import COLLECTIVES
from ops.plan import Plan
from ops.run import Work, execute
from ops.sketch import Sketch, columns_of
from ops.sketch.referee import bound
from sim.errors import InputError, Message
from sim.registry import Registry
from sim.schedule import Schedule
from sim.schedule.verify import Verdict
from sim.topology import Topology

TOLERANCE = 1e-9
"""So much more than the best, as a share, is still the best: sums of floats differ in their last digits."""
Columns = Callable[[], Iterator[str]]


@dataclass(frozen=True)
class LadderTask:
    """What is to be drawn, empty, on which machine, and with which best.

    `size` counts as nccl-tests does. `least` gives the seconds that nothing can beat where the simulator's own bound
    lies below them. `spare` are slots of every rank beside those of the collective.
    """

    name: str
    order: int
    goal: str
    because: str
    empty: Sketch
    best: Sketch
    machine: Plan
    spare: int
    least: "Callable[[LadderTask], float] | None"

    @cached_property
    def topology(self) -> Topology:
        """Its machine."""
        return self.machine.topology()

    @property
    def size(self) -> int:
        """Bytes, as nccl-tests counts them."""
        return self.machine.bytes

    @property
    def piece(self) -> float:
        """Bytes of one slot."""
        return self.size / (self.best.kind.units(self.best.ranks) * self.best.pieces)

    @cached_property
    def par(self) -> float:
        """Seconds of the best schedule."""
        return execute(self.topology, Work(self.best.schedule(), self.best.kind), self.size).time

    @property
    def bound(self) -> float:
        """Seconds that no schedule can beat."""
        return self.least(self) if self.least else bound(self.empty, self.topology, self.size)

    def rate(self, src: str, dst: str) -> float:
        """Bandwidth of the link between two devices, B/s."""
        return next(link.bandwidth for link in self.topology.links if (link.src, link.dst) == (src, dst))

    def judge(self, schedule: Schedule) -> "TaskResult":
        """What a schedule is worth as an answer. Raises InputError for one of another promise."""
        promise, due = schedule.promise, self.empty.promise
        name = promise.name if promise else Message("exercises.no_promise")
        units = self.empty.kind.units(self.empty.ranks)
        pieces = round(1 / schedule.unit_share / units) if schedule.unit_share > 0 else 0
        ours = (due.name, self.empty.ranks, self.empty.pieces, self.empty.root)
        if (name, schedule.n, pieces, schedule.root) != ours or schedule.fixed_bytes is not None:
            why = "exercises.other" if schedule.fixed_bytes is None else "exercises.other_sizes"
            other = described(name, schedule.n, pieces, schedule.root)
            raise InputError(why, name=self.name, due=described(*ours), other=other)
        outcome = execute(self.topology, Work(schedule, self.empty.kind), self.size)
        return self.result(outcome.verdict, outcome.time)

    def result(self, verdict: Verdict, seconds: float) -> "TaskResult":
        """What was proved and timed, as an answer."""
        return TaskResult(self, verdict, seconds)


@dataclass(frozen=True)
class TaskResult:
    """An answer to a task: whether it is right, and how long it takes."""

    task: LadderTask
    verdict: Verdict
    seconds: float

    @property
    def right(self) -> bool:
        """Every contribution is where it is owed, once."""
        return self.verdict.verdict == "ok"

    @property
    def above(self) -> float:
        """How much more time it takes than the best, as a share of that."""
        return self.seconds / self.task.par - 1

    @property
    def solved(self) -> bool:
        """It is right, and as fast as can be."""
        return self.right and self.above <= TOLERANCE


def described(collective: str | Message, ranks: int, pieces: int, root: int) -> Message:
    """A promise in words.

    >>> described("broadcast", 4, 2, 0)
    'broadcast among 4 ranks in 2 pieces from root 0'
    """
    cut = Message("exercises.pieces", pieces=pieces) if pieces > 1 else ""
    rooted = collective in COLLECTIVES and COLLECTIVES[str(collective)].rooted
    at = Message("exercises.root", root=root) if rooted else ""
    return Message("exercises.promise", collective=collective, ranks=ranks, pieces=cut, root=at)


TASKS: Registry[LadderTask] = Registry("ops.ladder", "task")


def task(
    *,
    order: int,
    collective: str,
    machine: str,
    size: str,
    because: str,
    ranks: int = 4,
    pieces: int = 1,
    spare: int = 0,
    edits: str = "",
    least: Callable[[LadderTask], float] | None = None,
) -> Callable[[Columns], Columns]:
    """Register a function that yields the columns of a best schedule; returned unchanged.

    `LadderTask` tells the rest.
    """

    def register(columns: Columns) -> Columns:
        name, goal = columns.__name__, " ".join((columns.__doc__ or "").split())
        empty = Sketch(collective, ranks, pieces)
        best = empty.with_columns(columns_of(";".join(columns())))
        place = Plan(algorithm="", machine=machine, edits=edits, size=size)
        TASKS.add(name, LadderTask(name, order, goal, because, empty, best, place, spare, least))
        return columns

    return register


def ladder() -> list[LadderTask]:
    """All tasks, the easiest first."""
    return sorted(TASKS.values(), key=lambda entry: entry.order)
