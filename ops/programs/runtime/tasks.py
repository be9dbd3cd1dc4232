"""Ranks as cooperative tasks: each runs the script until it must wait, and SimPy's calendar says for how long.

A rank is a greenlet, so that a plain blocking script can stop in the middle of any call. Ranks that may go on
at one moment do so in rank order, as one entry of the calendar: the fabric never runs ahead of them.
"""

import heapq
import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType, ModuleType, TracebackType
from typing import Any, NamedTuple, NoReturn

from greenlet import GreenletExit, getcurrent, greenlet

from ops.communicators.records import ScriptLine, Span
from ops.programs.runtime.deadlock import Stuck, describe
from sim.base.files.user_files import user_builtins
from sim.errors import InputError
from sim.units import fmt_time

OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATIENCE = 10_000
"""How often ranks may ask in vain, with nothing else left to happen, before that counts as a deadlock."""
READINGS = 1000
"""Readings of the clock in a row after which every further one takes `READING` s: a loop that waits for a time."""
READING = 1e-6
CALL = "call"
"""The lane of a rank that waits inside a call."""


class Missing(NamedTuple):
    """What a rank waits for, in words, and the ranks that could bring it about."""

    what: str
    ranks: Sequence[int]


class Pending(ABC):
    """Something that will be done; ranks can wait for it."""

    __slots__ = ("call", "done", "problem", "waiting")

    def __init__(self) -> None:
        self.done = False
        self.waiting: list[Task] = []
        self.problem: Exception | None = None
        """Raised in the rank that asks for the result."""
        self.call = -1
        """The number of the call on the timeline."""

    def finish(self) -> None:
        """It is done: those who wait may go on."""
        self.done = True
        for task in self.waiting:
            task.wake()
        self.waiting = []

    @abstractmethod
    def missing(self) -> Missing:
        """What is missing; asked for in a deadlock."""


class Slept(Pending):
    """A stretch of simulated time."""

    __slots__ = ()

    def missing(self) -> Missing:
        """Nothing that could fail to come."""
        return Missing("time to pass", ())


class Task:
    """One rank: its greenlet, its modules and what it waits for."""

    def __init__(self, world: "Tasks", rank: int, program: "Program", file: str) -> None:
        self.world, self.rank, self.program = world, rank, program
        self.greenlet = greenlet(self._run)
        self.main = ModuleType("__main__")
        self.main.__dict__.update(__file__=file, __builtins__=user_builtins(), __cached__=None)
        self.modules: dict[str, ModuleType] = {"__main__": self.main}
        self.argv: list[str] = []
        self.random: Any = None
        self.unfinished_line = ""
        self.ready = False
        self.waits: Sequence[Pending] = ()
        self.inside = ""
        self.place = ScriptLine(file, 0)
        self.ended: float | None = None
        self.status = 0
        self.tested: set[int] = set()
        self.readings = 0

    def wake(self) -> None:
        """Let it run in this moment's turn."""
        if not self.ready:
            self.ready = True
            self.world.queue(self)

    def _run(self) -> None:
        try:
            self.program(self)
        except SystemExit as left:
            self.status = _exit_status(left)
        except (GreenletExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001  whatever a script raises is its own fault, told in a sentence
            self.world.fail(f"rank {self.rank} failed at {self._blame(error)}: {_message_of(error)}")
        finally:
            self.ended = self.world.now

    def _blame(self, error: BaseException) -> ScriptLine:
        """The innermost line of the script, or of a module beside it, that the error passed through."""
        steps = list(_steps(error.__traceback__))
        script = [place for place in steps if self.world.is_script(place.file)]
        return (script or steps[-1:] or [self.place])[-1]


def _steps(traceback: TracebackType | None) -> Iterator[ScriptLine]:
    while traceback is not None:
        yield ScriptLine(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next


def _message_of(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _exit_status(left: SystemExit) -> int:
    if left.code is None or isinstance(left.code, int):
        return left.code or 0
    sys.stderr.write(f"{left.code}\n")
    return 1


def _stuck(task: Task) -> Stuck:
    missing = [p.missing() for p in task.waits if not p.done] or [Missing("an answer that never comes", ())]
    what = " and ".join(dict.fromkeys(m.what for m in missing))
    ranks = sorted({rank for m in missing for rank in m.ranks} - {task.rank})
    return Stuck(task.rank, task.inside, task.place.file, task.place.line, what, ranks, str(task.place))


Program = Callable[[Task], None]
"""What a rank does from its beginning to its end."""


class Tasks:
    """The ranks of one run and the calendar they share."""

    def __init__(self, env: Any, folder: str) -> None:
        self.env = env
        """The SimPy world of the cluster."""
        self.folder = folder
        """Where the script lies: modules from there are the script's own."""
        self.tasks: list[Task] = []
        self.current: Task | None = None
        self.failure: str | None = None
        self.error: InputError | None = None
        """The machine, not the script, cannot do what was asked for."""
        self.spans: list[Span] = []
        self.deadlock: list[Stuck] = []
        self.enter: Callable[[Task], None] = lambda task: None
        self.leave: Callable[[Task], None] = lambda task: None
        self._ready: list[tuple[int, int]] = []
        self._turn = False
        self._asking: list[Task] = []
        self._hub: greenlet | None = None
        self._ending = False

    @property
    def now(self) -> float:
        """Simulated seconds."""
        return float(self.env.now)

    @property
    def inside(self) -> bool:
        """Whether a rank asks, not the cluster and not a thread."""
        return self.current is not None and getcurrent() is self.current.greenlet

    @property
    def me(self) -> Task:
        """The rank that runs now. Raises RuntimeError outside of a rank."""
        task = self.current
        if task is None or not self.inside:
            raise RuntimeError(
                "a thread of the program called the simulated cluster, where a rank's main thread alone communicates"
                " (MPI_THREAD_FUNNELED): make the call there, or use the non-blocking ones"
            )
        return task

    def is_script(self, file: str) -> bool:
        """Whether this file lies with the script."""
        return file.startswith(self.folder) and not file.startswith(OWN)

    def where(self) -> ScriptLine:
        """The line of the script that is being executed."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if not file.startswith(OWN) and self.is_script(file):
                return ScriptLine(file, frame.f_lineno)
            frame = frame.f_back
        return self.me.place

    def run(self, ranks: int, program: Program, file: str) -> None:
        """Run every rank's program to its end, or until one fails or none can go on; `file` is its script."""
        self._hub = getcurrent()
        self.tasks = [Task(self, rank, program, file) for rank in range(ranks)]
        for task in self.tasks:
            task.wake()
        try:
            self._turn_the_world()
        finally:
            self._end_all()

    def queue(self, task: Task) -> None:
        """Give a task its place in this moment's turn."""
        heapq.heappush(self._ready, (task.rank, task.rank))
        if not self._turn:
            self._turn = True
            turn = self.env.event()
            turn.callbacks = [self._take_turns]
            turn.succeed()

    def at(self, seconds: float, then: Callable[[], None]) -> None:
        """Do something when the clock shows so many seconds."""
        event = self.env.timeout(max(0.0, seconds - self.now))
        event.callbacks = [lambda _: then()]

    def fail(self, message: str) -> None:
        """Note why the run ends here; the first reason stands."""
        if self.failure is None and self.error is None:
            self.failure = message

    def halt(self, message: str) -> NoReturn:
        """End the run from inside a rank."""
        self.fail(message)
        raise GreenletExit

    def refuse(self, error: InputError) -> NoReturn:
        """End the run from inside a rank because the machine cannot do it."""
        if self.failure is None and self.error is None:
            self.error = error
        raise GreenletExit

    def wait(self, pending: Sequence[Pending], name: str, *, every: bool = True, lane: str = CALL) -> None:
        """Stop this rank until all, or any, of these are done; the stay is noted on a lane under the call's name."""
        task = self.me
        begin, place = self.now, self.where()
        task.inside, task.place, task.readings = name, place, 0
        task.tested.clear()
        enough = all if every else any
        while not enough(p.done for p in pending):
            undone = [p for p in pending if not p.done]
            task.waits = undone
            for p in undone if not every else undone[:1]:
                p.waiting.append(task)
            self._stop()
        task.waits = ()
        calls = tuple(p.call for p in pending if p.call >= 0)
        self.spans.append(Span(task.rank, lane, begin, self.now, name, place, calls))

    def sleep(self, seconds: float, name: str = "sleep", lane: str = CALL) -> None:
        """Let simulated time pass on this rank."""
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"sleep length must be a finite number of seconds of zero or more, not {seconds}")
        slept = Slept()
        self.at(self.now + seconds, slept.finish)
        self.wait((slept,), name, lane=lane)

    def clock(self) -> float:
        """The simulated time as the script reads it; reading it over and over again takes time itself."""
        task = self.me
        task.readings += 1
        if task.readings > READINGS:
            readings = task.readings
            self.sleep(READING, "clock")
            task.readings = readings
        return self.now

    def ask_again(self, thing: object) -> None:
        """A test of `thing` has failed. Whoever asks again without doing anything else waits for what comes next."""
        task = self.me
        if id(thing) not in task.tested:
            task.tested.add(id(thing))
            task.wake()
            self._stop()
            return
        task.tested.clear()
        task.inside, task.place = "Test", self.where()
        self._asking.append(task)
        self._stop()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """The cluster's own work: for its length, clocks are real ones."""
        task, self.current = self.current, None
        try:
            yield
        finally:
            self.current = task

    def _stop(self) -> None:
        """Give the turn back; returns when this rank is woken."""
        if self._ending or self._hub is None:
            raise GreenletExit
        self._hub.switch()
        if self._ending:
            raise GreenletExit

    def _turn_the_world(self) -> None:
        fruitless = 0
        while not self._over():
            upcoming = self.env.peek()
            if upcoming > self.now and self._asking:
                fruitless = fruitless + 1 if math.isinf(upcoming) else 0
                if fruitless > PATIENCE:
                    break
                if math.isinf(upcoming):
                    self._wake_asking()
                    continue
                self.env.step()
                self._wake_asking()
            elif math.isinf(upcoming):
                break
            else:
                self.env.step()
        stuck = [task for task in self.tasks if task.ended is None]
        if stuck and not self._over():
            self.deadlock = [_stuck(task) for task in stuck]
            ended = [task.rank for task in self.tasks if task.ended is not None]
            self.fail(f"deadlock after {fmt_time(self.now)}: {describe(self.deadlock, ended)}")

    def _over(self) -> bool:
        return self.failure is not None or self.error is not None

    def _wake_asking(self) -> None:
        asking, self._asking = self._asking, []
        for task in asking:
            task.wake()

    def _take_turns(self, _: Any) -> None:
        while (self._ready or self._listen()) and not self._over():
            task = self.tasks[heapq.heappop(self._ready)[0]]
            task.ready = False
            if task.ended is None:
                self._resume(task, task.greenlet.switch)
        self._turn = False

    def _listen(self) -> bool:
        """Whether a rank outside of this process has something to do at this moment."""
        return False

    def _resume(self, task: Task, switch: Callable[[], Any]) -> None:
        self.enter(task)
        self.current = task
        try:
            switch()
        finally:
            self.current = None
            self.leave(task)

    def _end_all(self) -> None:
        """Unwind the ranks that have not ended; what they still say is of no interest."""
        self._ending = True
        for task in self.tasks:
            if not task.greenlet.dead:
                self._resume(task, partial(task.greenlet.throw, GreenletExit))
