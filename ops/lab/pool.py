"""Processes that carry out cells: this computer's cores, or the workers of a Dask cluster."""

import asyncio
import contextlib
import ctypes
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import NamedTuple

from ops.lab.cells import Cell, Row, failed, rows
from ops.lab.sent import RemoteCall, send
from sim.base.compiled import is_on_disk
from sim.base.machine_code.notices import COLD, say_once
from sim.base.watch import Watch, always, watching
from sim.errors import InputError, Message
from sim.fabric import kernel

BATCH = 64
"""Cells handed out at once; a process gives back those it has no time for."""
AHEAD = 2
"""Batches handed out per process, so that none waits for the next; loky cannot be ended quietly with more."""
PR_SET_PDEATHSIG = 1
"""Of Linux' prctl: which signal a process gets when its parent has ended."""
LOOK = 0.5
"""Seconds between two looks at who the parent is."""
TIDIED = "ignore:resource_tracker"
"""Those warnings as an interpreter's option."""
KILLED = "the process that ran it was killed, most likely for want of memory: use fewer ranks or processes"


ANSWER = 10
"""Seconds in which a scheduler answers."""
NO_SCHEDULER = (OSError, ValueError, TypeError, RuntimeError, ImportError, MemoryError)
"""What Dask raises over an address that leads to none, or to something else: rubbish is taken for huge frames."""
ENCRYPTED = ("tls", "wss")


class Pool(NamedTuple):
    """Takes batches of cells; `submit` works even after a process died, of which `broken` errors of its work tell.

    One that is an InputError says why.
    """

    submit: Callable[[Sequence[Cell]], "Future[list[Row]]"]
    processes: int
    broken: tuple[type[BaseException], ...]


@contextmanager
def cores(jobs: int = 0) -> Iterator[Pool]:
    """Processes on this computer, one per core that is free to use where `jobs` is 0.

    Whoever watches says how many there may be at most, and what they may take together.
    """
    from multiprocessing import resource_tracker

    from joblib import cpu_count
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    if not is_on_disk(kernel.advance):
        say_once(COLD)  # its processes have no standard error
    now = watching() or Watch()
    processes = int(min(jobs or cpu_count(), now.jobs))

    def started() -> Executor:
        beginning = (os.getpid(), now.seconds, now.memory / processes)
        pool: Executor = ProcessPoolExecutor(processes, initializer=_begin, initargs=beginning)
        return pool

    with _silent_trackers():
        resource_tracker.ensure_running()  # started later it would let interrupts through again
        with _deaf_to_interrupts():
            executors = [started()]

    def submit(batch: Sequence[Cell]) -> Future[list[Row]]:
        with _deaf_to_interrupts():
            try:
                return executors[-1].submit(rows, batch)
            except BrokenProcessPool:
                executors.append(started())
                return executors[-1].submit(rows, batch)

    try:
        yield Pool(submit, processes, (BrokenProcessPool,))
    finally:
        for executor in executors:
            # loky can end its processes, which other executors cannot
            executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """What is started meanwhile gets no Ctrl-C, which a terminal sends to all: whoever started it ends it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _silent_trackers() -> Iterator[None]:
    """Processes that tidy up after others, started meanwhile, do not warn of what an interrupted one left behind."""
    sys.warnoptions.append(TIDIED)
    try:
        yield
    finally:
        sys.warnoptions.remove(TIDIED)


def _begin(parent: int, seconds: float, memory: float) -> None:
    """What a process does first: it is limited, ends with its parent, and holds no pipe or terminal of it."""
    _end_with(parent)
    always(seconds, memory)
    with contextlib.suppress(OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.close(nothing)


def _end_with(parent: int) -> None:
    """Have this process killed when the process of this number, which started it, has ended, however that ends."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """Look whether the parent is still there: for systems that do not tell, and where it ended before we asked."""
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)


@contextmanager
def cluster(address: str) -> Iterator[Pool]:
    """The workers of a Dask scheduler. Raises InputError where none answers or has workers."""
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise InputError("dask.not_installed") from None
    try:
        _meet(address)
        client = Client(address, timeout=ANSWER, set_as_default=False)
    except InputError:
        raise
    except NO_SCHEDULER as error:
        why = " ".join(str(error).split())[:120] or Message("dask.no_answer")
        raise InputError("dask.no_scheduler", address=address, why=why) from None
    with client:
        processes = len(client.nthreads())
        if not processes:
            raise InputError("dask.no_workers", address=address)
        send(client, rows.__module__)
        with client.get_executor(pure=False) as executor:
            yield Pool(
                lambda batch: executor.submit(pickle.loads, RemoteCall(rows, batch).task()), processes, (KilledWorker,)
            )


def _meet(address: str) -> None:
    """Connect to a scheduler once: a Client that cannot connect prints what it fails at, and waits long before it ends.

    Raises InputError where Dask has no certificates for an encrypted address, any of `NO_SCHEDULER` where none answers.
    """
    from distributed.comm import connect
    from distributed.security import Security

    is_encrypted = address.partition("://")[0] in ENCRYPTED
    try:
        settings = Security().get_connection_args("client")
    except NO_SCHEDULER as error:
        raise InputError("dask.tls", error=error) from None
    if is_encrypted and settings.get("ssl_context") is None:
        raise InputError("dask.no_certificates", address=address)

    async def meet() -> None:
        meeting = connect(address, timeout=ANSWER, **settings)
        (await asyncio.wait_for(meeting, ANSWER)).abort()

    with ThreadPoolExecutor(1) as aside:  # a notebook's thread has a loop that runs already
        aside.submit(asyncio.run, meet()).result()


def carried_out(cells: Sequence[Cell], pool: Pool) -> Iterator[list[Row]]:
    """Rows as they come, every cell's once; cells whose process died get a second try, alone, after the others."""
    waiting = deque(_batches(cells, pool.processes))
    running: dict[Future[list[Row]], Sequence[Cell]] = {}
    suspects: list[Cell] = []
    while waiting or running:
        while waiting and len(running) < pool.processes * AHEAD:
            batch = waiting.popleft()
            running[pool.submit(batch)] = batch
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            batch = running.pop(future)
            try:
                rows = _result(future)
            except pool.broken:
                suspects += batch
                continue
            yield rows
            if len(rows) < len(batch):
                waiting.appendleft(batch[len(rows) :])
    for cell in suspects:
        try:
            yield _result(pool.submit([cell]))
        except pool.broken as error:
            yield [failed(cell, str(error) if isinstance(error, InputError) else KILLED)]


def _batches(cells: Sequence[Cell], processes: int) -> Iterator[Sequence[Cell]]:
    """In order, so that neighbours share their schedule; small enough that every process gets some."""
    size = max(1, min(BATCH, len(cells) // (processes * AHEAD)))
    return (cells[i : i + size] for i in range(0, len(cells), size))


def _result(future: Future[list[Row]]) -> list[Row]:
    try:
        return future.result()
    except CancelledError:
        raise InputError("dask.gone") from None
    except ModuleNotFoundError as error:
        raise InputError("dask.lacks", module=error.name) from None
