"""A worker: a process that carries out one call after the other, within its memory, and ends with its parent."""

import os
import pickle
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from sim.base import watch
from sim.errors import InputError, StalledError

FULL = "this run does not fit into memory: use fewer ranks, or an algorithm with fewer transfers"
TELL = 0.2
"""Seconds between two words of how far a call is."""


class Call(NamedTuple):
    """What a worker is to do: a function of a module, and what it gets."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


class Progress(NamedTuple):
    """How far a call is, as a share between 0 and 1."""

    share: float


class Result(NamedTuple):
    """What a call came to, pickled; or in `refusal` why it could not be, with the status of that error."""

    value: bytes = b""
    refusal: str = ""
    status: int = 0

    def read(self) -> Any:
        """The value, a copy of its own for everybody. Raises InputError or StalledError for what was refused."""
        if not self.status:
            return pickle.loads(self.value)
        raise InputError(self.refusal) if self.status == InputError.status else StalledError(self.refusal)


def serve(connection: Connection, memory: int) -> None:
    """Answer calls until the other end is closed; `memory` are the bytes of data that this process may have."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and ends what it has started
    _limit(memory)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            connection.send(answer(connection.recv(), lambda share: connection.send(Progress(share))))


def answer(call: Call, tell: Callable[[float], None] = lambda share: None) -> Result:
    """Carry out a call; a person's error is an answer, too. `tell` gets the share that is done, now and then."""
    try:
        with watch.watched(watch.Watch(every=TELL, tell=tell)):
            value = call.function(*call.args)
        return Result(pickle.dumps(value, protocol=5))
    except (InputError, StalledError) as error:
        return Result(refusal=str(error), status=error.status)
    except MemoryError:
        return Result(refusal=FULL, status=InputError.status)


def _limit(memory: int) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (memory, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("500")  # where memory runs out after all, this process goes before the page does


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
