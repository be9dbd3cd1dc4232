"""What GPUs do for a schedule's messages in MSCCL++: they write into each other's memory, and read from it.

A copy is written by its sender (`put`), a sum is read and added up by its receiver (`rre`). Between hosts nobody can
read, so that a sum comes as a copy into scratch memory that its receiver adds (`re`); so does whatever comes to a place
that is still read in the same step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from ops.formats.actions import Action, ActionProgram
from ops.formats.mscclpp_json.limits import MOST_AT_ONCE
from sim.errors import InputError
from sim.schedule import REDUCE


@dataclass(frozen=True, slots=True)
class Stretch:
    """Chunks of a rank's buffer that follow each other."""

    rank: int
    buffer: str
    index: int
    count: int


@dataclass(slots=True)
class PlanTask:
    """One operation of a thread block of `rank`; `after` are the tasks that must have ended before.

    A sum has several sources and one target; of a copy each source goes to the target of the same place. `turn` is the
    step of the schedule, and whether it is done before or after what others bring in that step.
    """

    name: str
    rank: int
    sources: list[Stretch]
    targets: list[Stretch]
    turn: tuple[int, int]
    port: bool = False
    after: list[int] = field(default_factory=list)
    remote: int = field(init=False)
    """The rank whose memory it uses, or -1."""

    def __post_init__(self) -> None:
        self.remote = next((end.rank for end in (*self.sources, *self.targets) if end.rank != self.rank), -1)

    def takes(self, more: "PlanTask") -> bool:
        """Can a copy of another stretch of the same message be part of this operation."""
        return (
            self.name == more.name == "put"
            and len(self.sources) < MOST_AT_ONCE
            and self.sources[0].buffer == more.sources[0].buffer
        )


@dataclass(frozen=True, slots=True)
class TaskProgram:
    """Tasks, each after those it waits for, and how many chunks of scratch memory a rank needs."""

    tasks: list[PlanTask]
    scratch: int


def tasks(program: ActionProgram, hosts: Sequence[int]) -> TaskProgram:
    """The tasks of a schedule's actions; `hosts` is where each rank is. Raises InputError for waits in a circle."""
    actions = program.actions
    made: list[PlanTask] = []
    reads: list[int] = []
    ends: list[int] = []
    used = [program.buffers.size["s"]] * program.schedule.n
    for a, action in enumerate(actions):
        same = a > 0 and actions[a - 1].message == action.message
        first, *landing = _tasks(action, actions, hosts, used)
        if same and made[reads[-1]].takes(first):
            made[reads[-1]].sources += first.sources
            made[reads[-1]].targets += first.targets
            reads.append(reads[-1])
        else:
            reads.append(len(made))
            made.append(first)
        made += landing
        ends.append(len(made) - 1 if landing else reads[-1])
    for a, action in enumerate(actions):
        made[reads[a]].after += [ends[b] for b in action.waits]
        if reads[a] != ends[a]:
            made[ends[a]].after.append(reads[a])
        for b in action.held:
            if _reads_what(actions[b], action):
                made[ends[a]].after.append(reads[b])
            if actions[b].dst == action.dst and set(actions[b].to) & set(action.to):
                made[ends[a]].after.append(ends[b])
    return TaskProgram(_sorted(program.schedule.name, made), max(used))


def _tasks(action: Action, actions: Sequence[Action], hosts: Sequence[int], used: list[int]) -> Iterator[PlanTask]:
    """What an action takes: one task, or a copy into scratch memory and one from there. `used` is what is taken."""
    source, offset, target, into, count = action.run
    start, end = Stretch(action.src, source, offset, count), Stretch(action.dst, target, into, count)
    reduces = action.op == REDUCE
    early, late = (action.step, 0), (action.step, 1)
    add = "re" if reduces else "copy"
    if action.local:
        yield PlanTask(add, action.dst, [end, start] if reduces else [start], [end], late)
        return
    port = hosts[action.src] != hosts[action.dst]
    if (port and reduces) or any(_reads_what(actions[b], action) for b in action.held):
        scratch = Stretch(action.dst, "s", used[action.dst], count)
        used[action.dst] += count
        yield PlanTask("put", action.src, [start], [scratch], early, port)
        yield PlanTask(add, action.dst, [end, scratch] if reduces else [scratch], [end], late)
    elif reduces:
        yield PlanTask("rre", action.dst, [end, start], [end], early)
    else:
        yield PlanTask("put", action.src, [start], [end], early, port)


def _reads_what(reader: Action, writer: Action) -> bool:
    return reader.src == writer.dst and not set(reader.slots).isdisjoint(writer.to)


def _sorted(name: str, made: Sequence[PlanTask]) -> list[PlanTask]:
    """Every task behind those it waits for, else by turns."""
    order: list[int] = []
    sorter = TopologicalSorter({i: task.after for i, task in enumerate(made)})
    try:
        sorter.prepare()
    except CycleError as error:
        raise InputError("mscclpp.circle", name=name, count=len(error.args[1]) - 1) from None
    ready: list[int] = []
    while sorter.is_active():
        ready = sorted({*ready, *sorter.get_ready()}, key=lambda i: (made[i].turn, i))
        turn = made[ready[0]].turn
        now = [i for i in ready if made[i].turn == turn]
        ready = ready[len(now) :]
        order += now
        sorter.done(*now)
    place = {i: at for at, i in enumerate(order)}
    for task in made:
        task.after = sorted({place[b] for b in task.after if made[b] is not task})
    return [made[i] for i in order]
