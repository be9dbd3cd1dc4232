"""Workers and what they do next: a seat is a thread with one process, and a job goes to the first seat that is free.

A job that takes long never holds the last seat while others wait: the youngest of them is ended and done again later.
"""

import os
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

from sim.base.share import MOST_JOBS, MOST_MEMORY, MOST_SECONDS, cores_share, memory_share
from sim.base.watch import Estimate
from sim.errors import InputError
from sim.parameters import Parameter
from sim.units import parse_size
from ui.workers.fair_queue import FairQueue
from ui.workers.process import Call, Progress, Result, context, kept_waiting, serve
from ui.workers.remembered import LateError, Remembered

TICK = 0.05
"""Seconds between two looks at whether a job is still wanted."""
SECONDS = 60.0
"""Seconds that a job may take where nothing else is said."""
STARTING = 60.0
"""Seconds that a process may take until it listens."""
SHORT = 1.5
"""Seconds after which a job counts as long; those in which others had the processor do not count."""
HELD_UP = 2 * SHORT
"""Seconds after which it does however busy the machine is: whoever waits may have waited as long as that."""
PROMPT = SHORT / 3
"""A job that says it will take more counts as long at once: proof and picture come on top of what it says."""
IN_LINE = 256
"""Jobs that a visitor may have waiting."""


class WorkerDiedError(InputError):
    """The process of a job was killed, by nobody here."""


@dataclass(frozen=True)
class PoolLimits:
    """How many processes there are, the bytes each may have, and the seconds each job may take."""

    seats: int
    memory: int
    seconds: float

    @classmethod
    def fitting(cls) -> "PoolLimits":
        """What the environment says, and where it says nothing what fits this machine's share.

        There is a process for each core, two at least; together with the page they have four fifths of the memory.
        Raises InputError for what is no number.
        """

        def setting(name: str, parse: Callable[[str, str], float]) -> float:
            return parse(os.environ[name], name) if os.environ.get(name) else 0

        seats = int(setting(MOST_JOBS, Parameter(MOST_JOBS, "int", None, low=1, high=1024).parse))
        seats = seats or max(2, int(cores_share()))
        memory = setting(MOST_MEMORY, parse_size) or memory_share() * 0.8
        seconds = setting(MOST_SECONDS, Parameter(MOST_SECONDS, "float", None).parse) or SECONDS
        return cls(seats, int(memory / (seats + 1)), seconds)


class PageJob(Future[Result]):
    """A call on its way: whose it is, the share that is done, its own bytes, and how many wait for it."""

    def __init__(self, visitor: str, call: Call) -> None:
        super().__init__()
        self.visitor, self.call = visitor, call
        self.share = self.begun = self.held_up = 0.0
        self.estimate: Estimate | None = None
        self.waiters = self.bytes = 0
        self.long = self.abandoned = self.is_taken = self.has_begun = False

    @property
    def is_running(self) -> bool:
        """Whether a worker has it."""
        return self.begun > 0 and not self.done()

    def lasts(self) -> bool:
        """Whether it is known to take long: it was found to, says so itself, or has by now."""
        if self.long or (self.estimate is not None and self.estimate.seconds > PROMPT):
            return True
        taken = time.monotonic() - self.begun if self.begun else 0.0
        return taken - self.held_up > SHORT or taken > HELD_UP

    def cancel(self) -> bool:
        """End it, wherever it is; its seat sees to that."""
        self.abandoned = True
        return not self.done()


class Seat(threading.Thread):
    """One worker's process, started when there is something to do and again when it was killed."""

    def __init__(self, pool: "WorkerPool") -> None:
        super().__init__(name="ringside-seat", daemon=True)
        self._pool = pool
        self.job: PageJob | None = None
        self.process: Any = None
        self.pid: int | None = None
        """Of the process while there is one; others may ask for it at any moment."""
        self._connection: Any = None

    def run(self) -> None:
        """Take jobs until the pool is closed."""
        self.start_process()
        while (job := self._pool.next_for(self)) is not None:
            try:
                result = self._carried_out(job)
            except InputError as error:
                self._pool.settle(self, job, error)
            except Exception as error:  # noqa: BLE001  a fault of this program: its visitor sees it, the seat goes on
                self._end()
                self._pool.settle(self, job, error)
            else:
                self._pool.settle(self, job, result)
        self._end()

    def start_process(self) -> None:
        """Have a process at hand."""
        if self.process is not None and self.process.is_alive():
            return
        self._end()
        processes = context()
        self._connection, theirs = processes.Pipe()
        self.process = processes.Process(
            target=serve,
            args=(theirs, self._pool.limits.memory, self._pool.limits.seconds),
            name="ringside-worker",
            daemon=True,
        )
        self.process.start()
        self.pid = self.process.pid
        theirs.close()

    def _carried_out(self, job: PageJob) -> Result | None:
        """The job's result; None where it was given up. Raises InputError where it died or took too long."""
        try:
            self._send(job)
        except (OSError, EOFError):  # it was killed while it had nothing to do
            self._end()
            self._send(job)
        job.begun, seconds = time.monotonic(), self._pool.limits.seconds
        begun, before = job.begun, kept_waiting(self.process.pid)
        while True:
            result = self._heard(job)
            if job.begun != begun:
                begun, before = job.begun, kept_waiting(self.process.pid)
            job.held_up = max(0.0, kept_waiting(self.process.pid) - before)
            if result is not None:
                return result
            if job.abandoned or self._pool.must_yield(self):
                self._end()
                return None
            if time.monotonic() - job.begun > seconds + (0 if job.has_begun else STARTING):
                self._end()
                raise LateError("worker.late", seconds=seconds)

    def _send(self, job: PageJob) -> None:
        self.start_process()
        message = ForkingPickler.dumps((job.call, self._pool.is_compiling))
        job.bytes = len(message)
        self._connection.send_bytes(message)

    def _heard(self, job: PageJob) -> Result | None:
        """The result, if it comes within a tick; what else the worker says is noted. Raises WorkerDiedError."""
        ready = wait([self._connection, self.process.sentinel], TICK)
        try:
            message = self._connection.recv() if self._connection in ready else None
        except (OSError, EOFError):
            message, ready = None, [self.process.sentinel]
        if message is None and ready:
            self._end()
            if job.is_taken:
                raise WorkerDiedError("worker.died")
            job.is_taken = True  # it was about to end when it was sent the call: another one gets it, once
            self._send(job)
        if isinstance(message, Result):
            return message
        if isinstance(message, Progress):
            if not job.has_begun:
                job.begun, job.has_begun = time.monotonic(), True
            job.share, job.is_taken = message.share, True
        elif isinstance(message, Estimate):
            job.estimate = message
        return None

    def _end(self) -> None:
        if self.process is not None:
            self.pid = None
            self.process.kill()
            self.process.join(5)
            with suppress(ValueError):  # a busy machine may take longer to end it, and nobody has to wait for that
                self.process.close()
            self._connection.close()
            self.process = None


class WorkerPool:
    """All seats, the jobs that wait for one, and answers that were asked for before.

    `kernels` begins a process that compiles them; workers load them from disk at their first large run after it.
    """

    def __init__(self, limits: PoolLimits, kernels: "Callable[[], subprocess.Popen[bytes]] | None" = None) -> None:
        self.limits = limits
        self._compiling = kernels() if kernels else None
        self._free = threading.Condition()
        self._queue: FairQueue[PageJob] = FairQueue()
        self._shared: dict[Call, PageJob] = {}
        self._remembered = Remembered()
        self._closed = False
        self.done = self.died = 0
        self._seats = [Seat(self) for _ in range(limits.seats)]

    def start(self) -> "WorkerPool":
        """Begin to serve."""
        for seat in self._seats:
            seat.start()
        return self

    @property
    def is_compiling(self) -> bool:
        """Whether kernels are being made, by a process that workers need not do it again for."""
        return self._compiling is not None and self._compiling.poll() is None

    def ask(self, visitor: str, call: Call, *, shared: bool = True) -> PageJob:
        """A job for a call; what another one has asked, or asks now, is not done again where it is `shared`.

        Raises InputError where the visitor has too many jobs in line.
        """
        with self._free:
            job = self._shared.get(call) if shared else None
            kept = self._remembered.get(call) if shared else None
            if kept is not None:
                job = PageJob(visitor, call)
                _settle(job, kept)
            elif job is None or job.abandoned:
                if self._queue.of(visitor) >= IN_LINE:
                    raise InputError("worker.full_line")
                job = PageJob(visitor, call)
                self._queue.put(job)
                if shared:
                    self._shared[call] = job
                self._free.notify()
            job.waiters += 1
            return job

    def leave(self, job: PageJob) -> None:
        """Wait no longer for a job; when nobody does, it is ended."""
        with self._free:
            job.waiters -= 1
            if job.waiters <= 0 and not job.done():
                job.cancel()
                self._forget(job)
                for dropped in self._queue.drop(lambda other: other is job):
                    dropped.set_exception(CancelledError())

    def next_for(self, seat: Seat) -> PageJob | None:
        """The next job, once there is one; None when the pool is closed."""
        with self._free:
            while not self._closed:
                for gone in self._queue.drop(lambda job: job.abandoned):
                    gone.set_exception(CancelledError())
                long = sum(other.job is not None and other.job.lasts() for other in self._seats)
                job = self._queue.take(long=long < max(1, len(self._seats) - 1))
                if job is not None:
                    seat.job, job.begun = job, time.monotonic()
                    return job
                self._free.wait()
            return None

    def must_yield(self, seat: Seat) -> bool:
        """Whether this seat's job has to give way: all have long ones, it is the youngest, and a new one waits."""
        with self._free:
            jobs = [other.job for other in self._seats]
            if len(jobs) < 2 or not self._queue.has_short():
                return False
            lasting = [job for job in jobs if job is not None and job.lasts()]
            return len(lasting) == len(jobs) and seat.job is max(lasting, key=lambda job: job.begun)

    def settle(self, seat: Seat, job: PageJob, outcome: Result | Exception | None) -> None:
        """A seat is done with a job: keep the answer, tell who waits; or have it wait again where it gave way."""
        with self._free:
            seat.job = None
            self._free.notify_all()
            self._queue.charge(job.visitor, time.monotonic() - job.begun)
            if outcome is None and not job.abandoned:
                job.long, job.is_taken, job.has_begun, job.begun, job.share = True, False, False, 0.0, 0.0
                job.held_up = 0.0
                self._queue.put(job, first=True)
                return
            self._forget(job)
            self.done += 1
            self.died += isinstance(outcome, WorkerDiedError)
            if isinstance(outcome, Result | LateError):
                self._remembered.keep(job.call, outcome, job.bytes)
        _settle(job, outcome or CancelledError())

    def load(self) -> dict[str, int]:
        """How busy it is, in numbers."""
        with self._free:
            return {
                "workers": len(self._seats),
                "running": sum(seat.job is not None for seat in self._seats),
                "waiting": len(self._queue),
                "done": self.done,
                "died": self.died,
                "remembered_bytes": self._remembered.bytes,
            }

    def processes(self) -> list[int]:
        """The workers that are alive."""
        return [pid for pid in [seat.pid for seat in self._seats] if pid is not None]

    def close(self) -> None:
        """End all processes; what waits is never done."""
        with self._free:
            self._closed = True
            if self._compiling is not None:
                self._compiling.kill()
            self._free.notify_all()
            for seat in self._seats:
                if seat.job is not None:
                    seat.job.cancel()
        for seat in self._seats:
            seat.join(2)

    def _forget(self, job: PageJob) -> None:
        if self._shared.get(job.call) is job:
            del self._shared[job.call]


def _settle(job: PageJob, outcome: Result | Exception) -> None:
    """Tell whoever waits for a job what it came to."""
    if isinstance(outcome, Result):
        job.set_result(outcome)
    else:
        job.set_exception(outcome)
