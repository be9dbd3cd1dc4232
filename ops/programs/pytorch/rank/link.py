"""The process's line to the simulator: what it calls, at which line of the script, and the clock that comes back."""

import os
import socket
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

from .wire import Message, Wire

HUB, FOLDER, MACHINE, EAGER = "RINGSIDE_HUB", "RINGSIDE_FOLDER", "RINGSIDE_MACHINE", "RINGSIDE_EAGER"
"""Environment variables: the simulator's socket, the script's folder, the machine, bytes of a message that does not
wait for its receiver."""
NCCL = "RINGSIDE_NCCL"
"""The release of NCCL whose tables choose."""
GPU = "RINGSIDE_GPU"
"""The JSON file that says how fast the simulated GPU computes; empty where computing takes no time."""
OWN = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 60.0
"""Seconds in which the simulator must begin to listen."""


SLEEP, STREAM = "sleep", "wait for a stream"
"""What is no work of the GPU: time in which the script sleeps, and in which its default stream waits for another."""
MOST_CHANGES = 4096
"""Changes of memory that are told at once."""


class TimeAhead:
    """Simulated time of one kind, s, and the changes of memory in it: seconds from its start, kind and bytes."""

    def __init__(self) -> None:
        self.name, self.seconds = "", 0.0
        self.changes: list[tuple[float, str, int]] = []


class SimulatorLink:
    """What this process tells the simulator and asks it. One thread at a time."""

    def __init__(self) -> None:
        self.now = 0.0
        """The simulated time of the last answer, seconds."""
        self.ahead: list[TimeAhead] = []
        """What this process has done since, in order."""
        self.beside: list[tuple[str, float, float]] = []
        """Work of side streams since then: name, start and end."""
        self.stream: Any = None
        """The side stream that the script works in; None for the default stream."""
        self.reached = 0.0
        """The simulated time at which the script last waited for its GPU: it launches work from then on."""
        self.untimed: Counter[str] = Counter()
        """Calls that take no simulated time, by name."""
        self.guessed: Counter[str] = Counter()
        """Operations whose shapes no profile has, by name."""
        self.quiet = False
        """Whether what PyTorch does now is the process group's own work."""
        self._wire: Wire | None = None
        self._lock = threading.RLock()
        self._works = 0

    @property
    def open(self) -> bool:
        """Whether this process is a rank already."""
        return self._wire is not None

    @property
    def time(self) -> float:
        """Simulated seconds as this process knows them without asking."""
        return self.now + sum(stretch.seconds for stretch in self.ahead)

    def connect(self, address: str, rank: int, size: int, backend: str) -> None:
        """Become a rank, or with size 0 a process that has something to tell. Raises OSError if nobody listens."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                connection.connect(address)
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                threading.Event().wait(0.05)
        self._wire = Wire(connection)
        if size:
            os.register_at_fork(after_in_child=self._forget)
            self.tell("hello", rank=rank, size=size, backend=backend)

    def number(self) -> int:
        """Return a number for the next work of this process."""
        self._works += 1
        return self._works

    def advance(self, seconds: float, name: str) -> None:
        """Let simulated time pass in this process, or on the side stream it works in."""
        if seconds <= 0:
            return
        if self.stream is not None and name != SLEEP:
            self.stream.compute(seconds, name)
            return
        if not self.ahead or self.ahead[-1].name not in ("", name):
            self.ahead.append(TimeAhead())
        self.ahead[-1].name = name
        self.ahead[-1].seconds += seconds
        if name == SLEEP:
            self.reached = self.time

    def reach(self, time: float) -> None:
        """Wait, in the default stream, until a simulated time."""
        if time > self.time:
            self.advance(time - self.time, STREAM)

    def hold(self, kind: str, size: int) -> None:
        """Note that the process holds `size` bytes more of a kind from now on."""
        if not self.ahead:
            self.ahead.append(TimeAhead())
        changes = self.ahead[-1].changes
        changes.append((self.ahead[-1].seconds, kind, size))
        if len(changes) >= MOST_CHANGES:
            self.tell("proceed")

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Work that is none of the script's: it takes no simulated time."""
        before, self.quiet = self.quiet, True
        try:
            yield
        finally:
            self.quiet = before

    def tell(self, do: str, **what: Any) -> None:
        """Send a request that has no answer."""
        if self._wire is None:
            return
        with self._lock:
            self.now, after, beside = self.time, self.ahead, self.beside
            self.ahead, self.beside = [], []
            stretches = [(stretch.name, stretch.seconds, stretch.changes) for stretch in after]
            try:
                self._wire.write({"do": do, "at": place(), "after": stretches, "beside": beside, **what})
            except OSError:
                _leave()

    def ask(self, do: str, **what: Any) -> Message:
        """Send a request and return its answer, which has the clock."""
        if self._wire is None:
            return {"now": self.time}
        with self._lock:
            self.tell(do, **what)
            answer = self._wire.read()
            if answer is None:
                _leave()
            self.now = answer["now"]
            return answer

    def clock(self) -> float:
        """Return the simulated time, which moves when it is read over and over again."""
        self.reached = float(self.ask("clock")["now"])
        return self.reached

    def leave(self) -> None:
        """End as a rank. The process stays until all ranks have ended: gloo may still be sending from it."""
        if self._wire is not None:
            self.tell("bye", untimed=self.untimed, guessed=self.guessed)
            self._wire.read()
            self._forget()

    def _forget(self) -> None:
        """A process that this one forks is no rank."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None


def _leave() -> NoReturn:
    """End this process: the simulator has gone, and has said why."""
    os._exit(1)


def place() -> tuple[str, int]:
    """Return the innermost line of the script, or of a module beside it, that is being executed."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if of_script(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def of_script(file: str) -> bool:
    """Whether a file lies with the script and is no installed package's."""
    folder = os.environ.get(FOLDER, "")
    if not folder or not file.startswith(folder) or file.startswith(OWN):
        return False
    return "site-packages" not in file and "dist-packages" not in file


LINK = SimulatorLink()


def report(error: BaseException) -> bool:
    """Tell the simulator what ends this process; returns whether there is one."""
    steps = traceback.extract_tb(error.__traceback__)
    script = [step for step in steps if of_script(step.filename)]
    where = [(step.filename, step.lineno or 0) for step in (script or steps)[-1:]] or [("", 0)]
    text = " ".join(str(error).split())
    if not LINK.open and HUB in os.environ:
        with suppress(OSError):
            LINK.connect(os.environ[HUB], -1, 0, "")
    if not LINK.open:
        return False
    message = f"{type(error).__name__}: {text}" if text else type(error).__name__
    LINK.tell("failed", message=message, where=where[0], rank=os.environ.get("RANK", "0"))
    return True
