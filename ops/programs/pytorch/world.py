"""The ranks of a PyTorch program on their machine: each is a process, whose requests become calls of the simulation.

A process runs on until its next request. The ranks that may go on at one moment of simulated time do so in rank order,
so that nothing depends on how fast the processes are. Before the simulator waits for a process, every answer that is
due has been sent: a process never waits for one that waits for the simulator.
"""

import heapq
from collections import Counter, deque
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from greenlet import GreenletExit

from ops.backends import BACKENDS, burdened
from ops.communicators.records import ScriptLine, Span
from ops.communicators.selection import Selection
from ops.programs.pytorch.rank.link import SLEEP, STREAM
from ops.programs.pytorch.rank.wire import Message as Request
from ops.programs.pytorch.rank.wire import Wire
from ops.programs.runtime.deadlock import name_ranks
from ops.programs.runtime.messages import ANY_SOURCE, Mailbox, PostedMessage, Receive
from ops.programs.runtime.rendezvous import Contribution, ProcessGroup, ProgramMeeting
from ops.programs.runtime.steps import thinned
from ops.programs.runtime.tasks import Pending, Slept, Task
from ops.programs.runtime.transport import Transport
from ops.training.step import COMPUTE, MemoryChange
from sim.topology import Topology

DEFAULT = "default group"
MOST_CHANGES = 1_000_000
"""Changes of memory that are kept as they are."""
SERVED = {"nccl": "nccl", "gloo": "gloo", "mpi": "mpi", "ucc": "mpi"}
"""Whose costs and rules stand for a backend of PyTorch: MPI's and UCC's are taken for Open MPI's."""


def served(backend: str) -> str:
    """Return the entry of BACKENDS for what a script asks for: NCCL's where it is among them, as ranks are GPUs.

    >>> served("cpu:gloo,cuda:nccl"), served("gloo"), served("hccl")
    ('nccl', 'gloo', 'nccl')
    """
    names = [part.rpartition(":")[2] for part in backend.split(",")]
    return "nccl" if "nccl" in names else SERVED.get(names[0], "nccl")


class Sized(NamedTuple):
    """A tensor of which only the size is here."""

    nbytes: int


class TorchGroup(ProcessGroup):
    """A group whose collectives follow each other, as on one CUDA stream; each pays its backend's launch."""

    def __init__(self, world: "TorchWorld", ranks: tuple[int, ...], name: str, backend: str) -> None:
        super().__init__(world, ranks, name)
        self.torch_world, self.costs = world, BACKENDS[served(backend)]
        self.busy = False
        self.waiting: deque[StreamedMeeting] = deque()

    def post(self, contribution: Contribution) -> None:
        """Bring this rank's contribution to its next collective of the group."""
        self.come(self.world.me.rank, contribution, lambda: StreamedMeeting(self, contribution))


class StreamedMeeting(ProgramMeeting):
    """A collective that begins when all ranks have come and the one before has ended."""

    def __init__(self, stream: TorchGroup, first: Contribution) -> None:
        super().__init__(stream, first)
        self.stream = stream

    def begin(self) -> None:
        """All have come; the stream may still be busy."""
        self.check()
        self.stream.waiting.append(self)
        self._next()

    def _next(self) -> None:
        stream = self.stream
        if stream.busy or not stream.waiting:
            return
        stream.busy = True
        meeting = stream.waiting.popleft()
        started = max(self.world.now, *(part.ready for part in meeting.everything()))
        alone = stream.size < 2

        def run() -> None:
            with suppress(GreenletExit):  # what does not fit ends the run
                meeting.move()
            meeting.record.start = started

        stream.torch_world.move(stream.ranks, +1)

        self.world.at(started if alone else started + stream.costs.launch, run)

    def _end(self, parts: list[Contribution]) -> None:
        super()._end(parts)
        self.stream.torch_world.move(self.stream.ranks, -1)
        self.stream.busy = False
        self._next()


class TorchWorld(Transport):
    """The ranks of one run; `wires[rank]` leads to its process."""

    def __init__(
        self,
        topology: Topology,
        wires: list[Wire],
        folder: str,
        backend: str,
        *,
        selection: Selection,
        eager: float,
        history: bool,
    ) -> None:
        costs = BACKENDS[served(backend)]
        super().__init__(
            burdened(topology, costs), len(wires), folder, selection=selection, eager=eager, history=history
        )
        self.wires = wires
        self.untimed: Counter[str] = Counter()
        self.guessed: Counter[str] = Counter()
        self.changes: list[MemoryChange] = []
        self.interference = 0.0
        """The share of its speed that a GPU lacks for compute while it takes part in a collective."""
        self._moving = [0] * len(wires)
        self._changes: dict[int, Slept] = {}
        self.lost: list[int] = []
        """Ranks whose processes ended without a word."""
        self.groups: dict[str, TorchGroup] = {}
        self.meetings: dict[tuple[int, ...], TorchGroup] = {}
        self._works: dict[tuple[int, int], Pending] = {}
        self._listening: list[int] = []
        self._requests: dict[int, Request | None] = {}

    def where(self) -> ScriptLine:
        """The line of the script that the process was at."""
        return self.me.place

    def serve(self, task: Task) -> None:
        """Do what a rank's process asks for, until it ends."""
        while True:
            request = self._next_request(task)
            if request is None:
                self.lost.append(task.rank)
                return
            task.place = ScriptLine(*request["at"])
            for name, start, end in request["beside"]:
                self.spans.append(Span(task.rank, COMPUTE, start, end, name, task.place))
            for name, seconds, changes in request["after"]:
                begin = self.now
                if name in (SLEEP, STREAM):
                    self.sleep(seconds, name)
                elif seconds:
                    self._work(task, seconds, name)
                stretch = (self.now - begin) / seconds if seconds else 1.0
                self.changes += [
                    MemoryChange(task.rank, begin + after * stretch, kind, float(size)) for after, kind, size in changes
                ]
            if len(self.changes) > MOST_CHANGES:
                self.changes = thinned(self.changes)
            if request["do"] == "bye":
                self.untimed.update(request["untimed"])
                self.guessed.update(request["guessed"])
                return
            getattr(self, f"_{request['do']}")(task, request)

    def _work(self, task: Task, seconds: float, name: str) -> None:
        """Work that takes so many seconds at full speed, longer where collectives are under way."""
        if not self.interference:
            self.sleep(seconds, name, COMPUTE)
            return
        while True:
            speed = 1 - self.interference if self._moving[task.rank] else 1.0
            begin, end, change = self.now, Slept(), Slept()
            self._changes[task.rank] = change
            self.at(begin + seconds / speed, end.finish)
            self.wait((end, change), name, every=False, lane=COMPUTE)
            if end.done:
                return
            seconds -= (self.now - begin) * speed

    def move(self, ranks: tuple[int, ...], change: int) -> None:
        """A collective of these ranks begins (+1) or has ended (-1)."""
        for rank in ranks if self.interference else ():
            before = self._moving[rank] > 0
            self._moving[rank] += change
            if before != (self._moving[rank] > 0) and rank in self._changes:
                self._changes.pop(rank).finish()

    def _next_request(self, task: Task) -> Request | None:
        heapq.heappush(self._listening, task.rank)
        while task.rank not in self._requests:  # what it no longer waits for may wake it, too
            self._stop()
        return self._requests.pop(task.rank)

    def _listen(self) -> bool:
        """Read the next request of the first rank that has none."""
        if not self._listening:
            return False
        rank = heapq.heappop(self._listening)
        self._requests[rank] = self.wires[rank].read()
        self.tasks[rank].wake()
        return True

    def _answer(self, task: Task, **what: Any) -> None:
        try:
            self.wires[task.rank].write({"now": self.now, **what})
        except OSError:
            raise GreenletExit from None

    # What processes ask for

    def _meet(self, task: Task, request: Request) -> None:
        """Ranks come together to make a group."""
        ranks = tuple(request["ranks"])
        if ranks not in self.meetings:
            everyone = len(ranks) == self.size
            name = DEFAULT if everyone else f"group of {name_ranks(ranks)}"
            self.meetings[ranks] = TorchGroup(self, ranks, name, request["backend"])
        part = Contribution(request["name"], "barrier", [], same=request["same"], library=self._library(request))
        self.meetings[ranks].post(part)
        self.wait((part,), request["name"])
        self._answer(task)

    def _library(self, request: Request) -> str:
        return BACKENDS[served(request["backend"])].library

    def _group(self, task: Task, request: Request) -> None:  # noqa: ARG002
        ranks = tuple(request["ranks"])
        if request["group"] not in self.groups:
            name = DEFAULT if len(ranks) == self.size else f"group of {name_ranks(ranks)}"
            self.groups[request["group"]] = TorchGroup(self, ranks, name, request["backend"])

    def _collective(self, task: Task, request: Request) -> None:
        group = self.groups[request["group"]]
        part = Contribution(
            request["name"], request["collective"], [Sized(size) for size in request["sends"]],
            same={key: tuple(v) if isinstance(v, list) else v for key, v in request.get("same", {}).items()},
            length=request.get("length"), root=request.get("root", 0), uneven=request.get("uneven", False),
            room=request.get("room"), fold=lambda a, _: a, counted=request.get("counted", 0),
            library=group.costs.library,
        )  # fmt: skip
        part.ready = request["ready"]
        group.post(part)
        self._works[task.rank, request["work"]] = part

    def _send(self, task: Task, request: Request) -> None:
        group = self.groups[request["group"]]
        here = group.place_of[task.rank]
        message = PostedMessage(here, request["dst"], request["tag"], (request["dtype"], task.place), request["bytes"])
        self._works[task.rank, request["work"]] = self._box(group, request["dst"]).post(message, "send")

    def _recv(self, task: Task, request: Request) -> None:
        group = self.groups[request["group"]]
        here, place, room, dtype = group.place_of[task.rank], task.place, request["bytes"], request["dtype"]

        def take(message: PostedMessage) -> None:
            sent, line = message.data
            if (message.size, sent) == (room, dtype):
                return
            what, expected = (f"{message.size} bytes", f"{room} bytes") if message.size != room else (sent, dtype)
            sender = group.ranks[message.source]
            self.fail(
                f"message mismatch on {group.name}: rank {sender} sends {what} at {line}, but rank {task.rank}"
                f" receives {expected} at {place}"
            )

        receive = Receive(ANY_SOURCE if request["src"] < 0 else request["src"], request["tag"], take)
        self._works[task.rank, request["work"]] = self._box(group, here).receive(receive)

    @staticmethod
    def _box(group: TorchGroup, place: int) -> Mailbox:
        box: Mailbox = group.boxes.setdefault(place, Mailbox(group, place))
        return box

    def _wait(self, task: Task, request: Request) -> None:
        pending = self._works.pop((task.rank, request["work"]))
        self.wait((pending,), _name(pending))
        ended = self.calls[pending.call].end if pending.call >= 0 else None
        self._answer(task, ended=self.now if ended is None else ended, **_source(pending))

    def _test(self, task: Task, request: Request) -> None:
        pending = self._works[task.rank, request["work"]]
        if not pending.done:
            self.ask_again(pending)
        self._answer(task, done=pending.done)

    def _clock(self, task: Task, request: Request) -> None:  # noqa: ARG002
        self.clock()
        self._answer(task)

    def _proceed(self, task: Task, request: Request) -> None:
        """Nothing but what has happened since."""

    def _failed(self, task: Task, request: Request) -> NoReturn:
        place = ScriptLine(*request["where"])
        self.halt(f"rank {task.rank} failed at {place}: {request['message']}")


def _name(pending: Pending) -> str:
    if isinstance(pending, Contribution):
        return pending.name
    return "recv" if isinstance(pending, Receive) else "send"


def _source(pending: Pending) -> dict[str, int]:
    if isinstance(pending, Receive) and pending.message is not None:
        return {"source": pending.message.source}
    return {}
